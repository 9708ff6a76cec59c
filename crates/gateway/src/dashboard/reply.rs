//! Answers to a browser, with the headers that hold it to what the pages are.

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, LOCATION,
    REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Response, StatusCode};

use super::assets::Served;

/// Nothing but what comes from the gateway itself, and no page may frame these.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The picture brings its own styles, and nothing else.
const OF_A_PICTURE: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/// A picture that the gateway made, in SVG.
pub(super) fn picture(svg: Bytes) -> Response<Bytes> {
    let mut response = plain(StatusCode::OK, svg);
    set(&mut response, CONTENT_SECURITY_POLICY, OF_A_PICTURE);
    set(&mut response, CONTENT_TYPE, "image/svg+xml");
    set(&mut response, CACHE_CONTROL, "no-cache");
    response
}

/// A page. One that could not be made is an error of ours, said without details.
pub(super) fn page(status: StatusCode, html: Result<String, askama::Error>) -> Response<Bytes> {
    let (status, html) = match html {
        Ok(html) => (status, html),
        Err(error) => {
            tracing::error!(%error, "a page of the dashboard could not be made");
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                "This page could not be made.".to_owned(),
            )
        }
    };
    let mut response = plain(status, Bytes::from(html));
    set(&mut response, CONTENT_TYPE, "text/html; charset=utf-8");
    set(&mut response, CACHE_CONTROL, "no-store");
    response
}

/// Go there and look.
pub(super) fn see(to: &str) -> Response<Bytes> {
    let mut response = plain(StatusCode::SEE_OTHER, Bytes::new());
    set(&mut response, LOCATION, to);
    set(&mut response, CACHE_CONTROL, "no-store");
    response
}

/// Go there, with a cookie.
pub(super) fn see_with(to: &str, cookie: &str) -> Response<Bytes> {
    let mut response = see(to);
    set(&mut response, SET_COOKIE, cookie);
    response
}

/// A file that never changes under its address. `known` is the tag of the one the browser has.
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
    set(&mut response, CONTENT_SECURITY_POLICY, POLICY);
    set(&mut response, X_CONTENT_TYPE_OPTIONS, "nosniff");
    // With `no-referrer` browsers would hide from us where a form came from.
    set(&mut response, REFERRER_POLICY, "same-origin");
    response
}

/// Sets a header. A value that cannot stand in one is left out; none of ours is such.
fn set(response: &mut Response<Bytes>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
