//! Answers to a browser, with the headers that restrict what the pages can do.

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName,
    LOCATION, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Response, StatusCode};

use super::assets::Served;

/// Security headers of every answer: resources only from the gateway itself, no frames around its pages, no
/// guessing of content types. With `no-referrer`, browsers would hide the origin of a form.
pub(crate) const PROTECTION: [(HeaderName, &str); 3] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "same-origin"),
];

/// The policy of a picture, which has its own inline styles.
const OF_A_PICTURE: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/// Serves an SVG picture.
pub(super) fn picture(svg: Bytes) -> Response<Bytes> {
    let mut response = plain(StatusCode::OK, svg);
    set(&mut response, CONTENT_SECURITY_POLICY, OF_A_PICTURE);
    set(&mut response, CONTENT_TYPE, "image/svg+xml");
    set(&mut response, CACHE_CONTROL, "no-cache");
    response
}

/// Serves a page, or an error without details if rendering failed.
pub(super) fn page(status: StatusCode, html: Result<String, askama::Error>) -> Response<Bytes> {
    let (status, html) = match html {
        Ok(html) => (status, html),
        Err(error) => {
            tracing::error!(%error, "rendering a page of the dashboard failed");
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                "The gateway could not render this page.".to_owned(),
            )
        }
    };
    let mut response = plain(status, Bytes::from(html));
    set(&mut response, CONTENT_TYPE, "text/html; charset=utf-8");
    set(&mut response, CACHE_CONTROL, "no-store");
    response
}

/// Serves a file that the browser saves under this name.
pub(super) fn download(file: Bytes, kind: &str, name: &str) -> Response<Bytes> {
    let mut response = plain(StatusCode::OK, file);
    set(&mut response, CONTENT_TYPE, kind);
    let disposition = format!("attachment; filename=\"{name}\"");
    set(&mut response, CONTENT_DISPOSITION, &disposition);
    set(&mut response, CACHE_CONTROL, "no-store");
    response
}

/// Redirects to another page.
pub(super) fn redirect(to: &str) -> Response<Bytes> {
    let mut response = plain(StatusCode::SEE_OTHER, Bytes::new());
    set(&mut response, LOCATION, to);
    set(&mut response, CACHE_CONTROL, "no-store");
    response
}

/// Redirects and sets a cookie.
pub(super) fn redirect_with_cookie(to: &str, cookie: &str) -> Response<Bytes> {
    let mut response = redirect(to);
    set(&mut response, SET_COOKIE, cookie);
    response
}

/// Serves a file whose address contains its hash. `known` is the tag of the browser's copy.
pub(super) fn asset(served: &'static Served, known: Option<&str>) -> Response<Bytes> {
    let tag = format!("\"{}\"", served.name);
    let mut response = if known == Some(tag.as_str()) {
        plain(StatusCode::NOT_MODIFIED, Bytes::new())
    } else {
        plain(
            StatusCode::OK,
            Bytes::from_static(served.content.as_bytes()),
        )
    };
    set(&mut response, CONTENT_TYPE, served.content_type);
    set(
        &mut response,
        CACHE_CONTROL,
        "public, max-age=31536000, immutable",
    );
    set(&mut response, ETAG, &tag);
    response
}

fn plain(status: StatusCode, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    for (name, value) in PROTECTION {
        set(&mut response, name, value);
    }
    response
}

/// Sets a header. An invalid value is ignored; the values here are valid.
fn set(response: &mut Response<Bytes>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
