//! Seals of summaries that clients keep and send back.
//!
//! A seal is `ebb1.`, a keyed hash and the texts of the summary, both in base64. The key belongs to one
//! tenant of one store, so a seal of another tenant does not verify, and neither does one of which a byte
//! was changed. The texts are not encrypted: they say nothing that the client's own transcript does not.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use context::coded::{self, CodeEntry, Coded, ErrorCode};
use history::Tenant;
use wire::api::Sealed;

/// Begins every seal, whatever its version.
const OURS: &str = "ebb";
/// Begins a seal of this version.
const VERSION: &str = "ebb1.";
/// Stands between the texts where they are read as one.
const BETWEEN: &str = "\n\n";

/// The codes of this module.
pub(crate) const CODES: &[CodeEntry] = &[
    CodeEntry {
        code: ErrorCode::new("E0860"),
        meaning: "a sealed summary was changed, or belongs to another key",
        remedy: "The request went on without it. Use the key under which the conversation was compacted.",
    },
    CodeEntry {
        code: ErrorCode::new("E0861"),
        meaning: "the text beside a sealed summary is not the one that was sealed",
        remedy: "The request went on without it. Send the compaction block back unchanged.",
    },
    CodeEntry {
        code: ErrorCode::new("E0862"),
        meaning: "a summary was sealed by another version of Ebbtide",
        remedy: "The request went on without it. Use the version that sealed it, or a newer one.",
    },
    CodeEntry {
        code: ErrorCode::new("E0863"),
        meaning: "a summary was sealed by a provider that does not get this request",
        remedy: "The request went on without it. Only that provider can read it; go on there, or begin anew.",
    },
];

/// Why a sealed summary is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealRefusal {
    /// The hash does not fit.
    #[error("its seal does not verify")]
    Changed,
    /// The readable text beside it is another one.
    #[error("the text beside its seal was changed")]
    Beside,
    /// Another version.
    #[error("its seal has an unknown version")]
    Version,
    /// A provider's own.
    #[error("another provider sealed it")]
    Foreign,
}

impl Coded for SealRefusal {
    fn code(&self) -> ErrorCode {
        ErrorCode::new(match self {
            Self::Changed => "E0860",
            Self::Beside => "E0861",
            Self::Version => "E0862",
            Self::Foreign => "E0863",
        })
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}

/// Seals and opens the summaries of one tenant.
pub struct Seals([u8; 32]);

impl fmt::Debug for Seals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seals(…)")
    }
}

impl Seals {
    /// Of a tenant of the store with this secret.
    #[must_use]
    pub fn of(secret: &[u8; 32], tenant: Tenant) -> Self {
        let mut hasher = blake3::Hasher::new_keyed(secret);
        // A key for seals alone: the secret keys other hashes too.
        hasher.update(b"seals of compaction summaries, version 1");
        hasher.update(tenant.as_bytes());
        Self(*hasher.finalize().as_bytes())
    }

    /// Seals texts.
    #[must_use]
    pub fn close(&self, texts: &[String]) -> String {
        // JSON, so that the hash covers where one text ends and the next begins.
        let inside = serde_json::json!(texts).to_string();
        let hash = blake3::keyed_hash(&self.0, inside.as_bytes());
        let hash = URL_SAFE_NO_PAD.encode(hash.as_bytes());
        format!("{VERSION}{hash}.{}", URL_SAFE_NO_PAD.encode(inside))
    }

    /// Opens a sealed summary that was made here.
    ///
    /// # Errors
    /// Why it is not believed; a provider's own is [`SealRefusal::Foreign`].
    pub fn open(&self, sealed: &Sealed<'_>) -> Result<Vec<String>, SealRefusal> {
        let Some(rest) = sealed.seal.strip_prefix(VERSION) else {
            return Err(match is_ours(&sealed.seal) {
                true => SealRefusal::Version,
                false => SealRefusal::Foreign,
            });
        };
        let texts = self.verified(rest).ok_or(SealRefusal::Changed)?;
        // People read the text beside the seal. It must say what the model will be told.
        match &sealed.content {
            Some(beside) if **beside != joined(&texts) => Err(SealRefusal::Beside),
            _ => Ok(texts),
        }
    }

    fn verified(&self, rest: &str) -> Option<Vec<String>> {
        let (hash, inside) = rest.split_once('.')?;
        let hash: [u8; 32] = URL_SAFE_NO_PAD.decode(hash).ok()?.try_into().ok()?;
        let inside = URL_SAFE_NO_PAD.decode(inside).ok()?;
        // Hashes compare in constant time.
        let fits = blake3::keyed_hash(&self.0, &inside) == blake3::Hash::from(hash);
        let texts: Vec<String> = serde_json::from_slice(&inside).ok().filter(|_| fits)?;
        texts.iter().any(|text| !text.is_empty()).then_some(texts)
    }
}

/// Returns true for a seal of any version: the word, a number and a point. A provider's own may begin so by chance.
fn is_ours(seal: &str) -> bool {
    let version = seal
        .strip_prefix(OURS)
        .and_then(|rest| rest.split_once('.'));
    version.is_some_and(|(number, _)| number.parse::<u16>().is_ok())
}

/// The texts of a summary as one.
#[must_use]
pub fn joined(texts: &[String]) -> String {
    texts.join(BETWEEN)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use context::coded::Coded;
    use history::Tenant;
    use proptest::prelude::*;
    use wire::api::Sealed;

    use super::{CODES, SealRefusal, Seals, joined};

    fn seals(secret: u8, tenant: u8) -> Seals {
        Seals::of(&[secret; 32], Tenant::from_bytes([tenant; 16]))
    }

    fn sealed<'t>(seal: &'t str, content: Option<&'t str>) -> Sealed<'t> {
        Sealed {
            seal: Cow::Borrowed(seal),
            content: content.map(Cow::Borrowed),
        }
    }

    #[test]
    fn only_its_own_tenant_opens_a_seal() {
        let texts = vec!["one\n\"two\"".to_owned(), "é".to_owned()];
        let seal = seals(1, 1).close(&texts);
        let open = |by: &Seals, content| by.open(&sealed(&seal, content));
        assert_eq!(open(&seals(1, 1), None), Ok(texts.clone()));
        let beside = joined(&texts);
        assert_eq!(open(&seals(1, 1), Some(beside.as_str())), Ok(texts));
        assert_eq!(open(&seals(1, 2), None), Err(SealRefusal::Changed));
        assert_eq!(open(&seals(2, 1), None), Err(SealRefusal::Changed));
        assert_eq!(open(&seals(1, 1), Some("x")), Err(SealRefusal::Beside));
        for (seal, refusal) in [
            ("ebb2.x", SealRefusal::Version),
            ("ebbAAAAB.x", SealRefusal::Foreign),
            ("ebb", SealRefusal::Foreign),
            ("ebb1.", SealRefusal::Changed),
            ("ebb1.a.b", SealRefusal::Changed),
            ("gAAAA", SealRefusal::Foreign),
            ("", SealRefusal::Foreign),
        ] {
            assert_eq!(
                seals(1, 1).open(&sealed(seal, None)),
                Err(refusal),
                "{seal}"
            );
            assert!(refusal.hint().is_some());
        }
        assert!(CODES.is_sorted_by(|one, two| one.code < two.code));
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_found(text in "\\PC{1,40}", at in 0_usize..400, to in "[A-Za-z0-9_.-]") {
            let seals = seals(1, 1);
            let seal = seals.close(&[text]);
            let at = at % seal.len();
            let mut changed = seal.clone();
            changed.replace_range(at..=at, &to);
            let opened = seals.open(&sealed(&changed, None));
            // Base64 without its spare bits is decoded in one way only.
            prop_assert_eq!(opened.is_ok(), changed == seal);
        }
    }
}
