//! Tenants: the owners of API keys.

use crate::id::id_type;

id_type! {
    /// Identifies a tenant by a keyed hash of the API key, which does not reveal the key. Trees of different
    /// tenants never meet.
    Tenant
}

impl Tenant {
    /// The tenant of requests without a key.
    pub const ANONYMOUS: Self = Self::from_bytes([0; 16]);

    /// Derives the tenant that owns this key. `secret` belongs to the store and never leaves it.
    #[must_use]
    pub fn of(secret: &[u8; 32], api_key: &[u8]) -> Self {
        let mut id = [0; 16];
        blake3::Hasher::new_keyed(secret)
            .update(api_key)
            .finalize_xof()
            .fill(&mut id);
        Self::from_bytes(id)
    }
}
