//! Converts between file paths and the `file:` URIs of editors.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The URIs of files as the editor spells them. Editors escape more or fewer letters than [`uri`] does, so documents
/// are told apart by their path.
#[derive(Debug, Default)]
pub struct Spellings(HashMap<String, String>);

impl Spellings {
    /// Replaces the editor's URIs in a message by those of [`uri`].
    pub fn read(&mut self, message: &mut Value) {
        each(message, &mut |spelled| {
            let Some(path) = file(spelled) else { return };
            let uri = uri(&path);
            if uri != *spelled {
                self.0.insert(uri.clone(), std::mem::replace(spelled, uri));
            }
        });
    }

    /// Replaces the URIs in an answer by the editor's.
    pub fn write(&self, answer: &mut Value) {
        each(answer, &mut |uri| {
            if let Some(spelled) = self.0.get(uri) {
                uri.clone_from(spelled);
            }
        });
    }
}

/// Goes through the URIs in a message: the fields `uri`, and the names of the fields of `changes`.
fn each(value: &mut Value, change: &mut dyn FnMut(&mut String)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| each(item, change)),
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                match value {
                    Value::String(uri) if name == "uri" => change(uri),
                    Value::Object(changes) if name == "changes" => {
                        let all = std::mem::take(changes).into_iter();
                        *changes = all
                            .map(|(mut uri, edits)| {
                                change(&mut uri);
                                (uri, edits)
                            })
                            .collect();
                    }
                    other => each(other, change),
                }
            }
        }
        _ => {}
    }
}

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
