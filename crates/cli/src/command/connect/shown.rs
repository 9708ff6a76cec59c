//! Values for the console, without secrets.

use std::path::Path;

use http::Uri;
use serde_json::Value;

/// A value that Ebbtide writes: its URL, and if a key goes with it.
pub fn own(value: &Value) -> String {
    let url = url(value).unwrap_or_default();
    match has_key(value) {
        true => format!("{url}, with a key"),
        false => url.to_owned(),
    }
}

/// Says if a value that Ebbtide writes names a key.
fn has_key(value: &Value) -> bool {
    let hook = || value.get("hooks")?.get(0)?.get("headers");
    let names = ["headers", "bearer_token_env_var"];
    names.iter().any(|name| value.get(name).is_some()) || hook().is_some()
}

/// A value that someone else wrote. Of a URL only the server is shown, since user names, paths and
/// queries may hold keys; of everything else, nothing.
pub fn foreign(value: &Value) -> String {
    let uri: Option<Uri> = url(value).and_then(|url| url.parse().ok());
    let parts = uri
        .as_ref()
        .and_then(|uri| Some((uri, uri.scheme_str()?, uri.host()?)));
    let Some((uri, scheme, host)) = parts else {
        return "(another value)".to_owned();
    };
    let port = uri
        .port()
        .map_or_else(String::new, |port| format!(":{port}"));
    let rest = match uri.path_and_query().map_or("", |rest| rest.as_str()) {
        "" | "/" => "",
        usual @ ("/v1" | "/v1/" | "/mcp") => usual,
        _ => "/…",
    };
    format!("{scheme}://{host}{port}{rest}")
}

/// The URL in a value: the value itself, that of an MCP server, or that of a hook.
fn url(value: &Value) -> Option<&str> {
    let hook = || value.get("hooks")?.get(0)?.get("url");
    let found = value.get("url").or_else(hook).unwrap_or(value);
    found.as_str()
}

/// A path with `~` for the home folder.
pub fn path(path: &Path, home: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(rest) => Path::new("~").join(rest).display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::foreign;

    #[test]
    fn no_part_of_a_url_that_may_hold_a_key() {
        let check = |value: Value, expected: &str| assert_eq!(foreign(&value), expected);
        check(
            json!("https://proxy.example/v1"),
            "https://proxy.example/v1",
        );
        check(json!("https://me:key@h:8080/v1"), "https://h:8080/v1");
        check(json!("https://h/sk-key/v1"), "https://h/…");
        check(json!("https://h/v1?key=1"), "https://h/…");
        check(
            json!({"url": "http://h/mcp", "headers": {"a": "key"}}),
            "http://h/mcp",
        );
        check(
            json!({"command": "run", "env": {"KEY": "key"}}),
            "(another value)",
        );
        check(json!("sk-key"), "(another value)");
        check(json!(null), "(another value)");
    }
}
