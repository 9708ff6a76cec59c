//! Tenants: whoever owns an API key.

use std::fmt;

use crate::hexadecimal;

/// Identifies a tenant: a keyed hash of the API key, so that nobody can get back to the key. Trees of
/// different tenants never meet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant([u8; 16]);

impl Tenant {
    /// The tenant of requests without a key.
    pub const ANONYMOUS: Self = Self([0; 16]);

    /// The tenant that owns this key. `secret` belongs to the store and never leaves it.
    #[must_use]
    pub fn of(secret: &[u8; 32], api_key: &[u8]) -> Self {
        let mut id = [0; 16];
        blake3::Hasher::new_keyed(secret)
            .update(api_key)
            .finalize_xof()
            .fill(&mut id);
        Self(id)
    }

    /// A tenant from its 16 bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Reads the 32 hexadecimal digits that [`Display`](fmt::Display) writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        hexadecimal::read(text).map(Self)
    }

    /// The 16 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tenant({self})")
    }
}
