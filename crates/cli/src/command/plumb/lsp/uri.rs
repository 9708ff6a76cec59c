//! Converts between file paths and the `file:` URIs of editors.

use std::path::{Path, PathBuf};

/// The path in a `file:` URI; `None` for other schemes.
pub fn file(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    // A host name may follow the slashes. It is ignored: the host is this computer.
    let path = rest.get(rest.find('/')?..)?;
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = (*first == b'%')
            .then(|| after.split_at_checked(2))
            .flatten();
        let byte = escaped.and_then(|(digits, after)| {
            let digits = std::str::from_utf8(digits).ok()?;
            Some((u8::from_str_radix(digits, 16).ok()?, after))
        });
        let (byte, after) = byte.unwrap_or((*first, after));
        bytes.push(byte);
        rest = after;
    }
    let text = String::from_utf8(bytes).ok()?;
    // `/c:/folder` is a Windows path with a drive.
    let drive = text.get(2..3) == Some(":");
    let path = if drive {
        text.trim_start_matches('/')
    } else {
        &text
    };
    Some(PathBuf::from(path))
}

/// The `file:` URI of a path.
pub fn uri(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    let mut out = String::from("file://");
    if !text.starts_with('/') {
        out.push('/');
    }
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~:".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{file, uri};
    use std::path::{Path, PathBuf};

    #[test]
    fn paths_round_trip() {
        for path in ["/a/b.plumb", "/a folder/é%.plumb"] {
            assert_eq!(file(&uri(Path::new(path))), Some(PathBuf::from(path)));
        }
        let here = |text: &str| file(text).map(|path| path.display().to_string());
        assert_eq!(here("file://machine/a%20b").as_deref(), Some("/a b"));
        assert_eq!(here("file:///c%3A/a.plumb").as_deref(), Some("c:/a.plumb"));
        assert_eq!(here("file:///100%").as_deref(), Some("/100%"));
        assert_eq!(here("untitled:one"), None);
    }
}
