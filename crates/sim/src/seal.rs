//! Signatures: the provider signs what it writes and checks what comes back.
//!
//! A signature is the hexadecimal text of a fixed prefix, the signed record and a keyed hash over
//! it. Real signatures are opaque; these are readable, which is no help to a client that keeps the rules.

use std::fmt::Write as _;

/// 16 bytes of a blake3 hash.
pub(crate) type Print = [u8; 16];

/// The hash over parts, each with its length, so that parts cannot run together.
pub(crate) fn print(parts: &[&[u8]]) -> Print {
    finish(blake3::Hasher::new(), parts)
}

fn finish(mut hasher: blake3::Hasher, parts: &[&[u8]]) -> Print {
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut out = [0; 16];
    hasher.finalize_xof().fill(&mut out);
    out
}

/// The prefix of every signature of this provider.
const MAGIC: &str = "EbbS1";

/// Signs and verifies.
#[derive(Clone)]
pub(crate) struct Seal {
    key: [u8; 32],
}

impl Seal {
    pub fn new(secret: &str) -> Self {
        Self {
            key: blake3::derive_key("ebbtide sim signatures", secret.as_bytes()),
        }
    }

    /// The signature over a record of prints.
    pub fn sign(&self, record: &[Print]) -> String {
        let mut out = MAGIC.to_owned();
        let mac = self.mac(record);
        for byte in record.iter().chain([&mac]).flatten() {
            let _ = write!(out, "{byte:02x}");
        }
        out
    }

    /// The record of a signature of `N` prints, if it is one of this provider's.
    pub fn open<const N: usize>(&self, signature: &str) -> Option<[Print; N]> {
        let digits = signature.strip_prefix(MAGIC)?.as_bytes();
        let bytes = digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect::<Option<Vec<_>>>()?;
        let prints = bytes
            .chunks(16)
            .map(|chunk| Print::try_from(chunk).ok())
            .collect::<Option<Vec<_>>>()?;
        let (mac, record) = prints.split_last()?;
        let record = <[Print; N]>::try_from(record).ok()?;
        (self.mac(&record) == *mac).then_some(record)
    }

    /// Returns `true` for signatures in this provider's form, valid or not.
    pub fn knows(signature: &str) -> bool {
        signature.starts_with(MAGIC)
    }

    fn mac(&self, record: &[Print]) -> Print {
        let parts: Vec<&[u8]> = record.iter().map(|print| &print[..]).collect();
        finish(blake3::Hasher::new_keyed(&self.key), &parts)
    }
}

#[cfg(test)]
mod tests {
    use super::Seal;

    #[test]
    fn only_its_own_signatures_open() {
        let seal = Seal::new("a");
        let signature = seal.sign(&[[1; 16], [2; 16]]);
        assert_eq!(seal.open::<2>(&signature), Some([[1; 16], [2; 16]]));
        assert_eq!(seal.open::<1>(&signature), None);
        assert_eq!(Seal::new("b").open::<2>(&signature), None);
        let mut forged = signature;
        forged.replace_range(6..7, "9");
        assert_eq!(seal.open::<2>(&forged), None);
        assert_eq!(seal.open::<2>("é"), None);
        assert_eq!(seal.open::<2>("EbbS1é"), None);
    }
}
