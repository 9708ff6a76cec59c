//! Ids of 16 bytes, written and parsed as 32 hexadecimal digits.

/// Declares a public id type of 16 bytes with its conversions.
macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 16]);

        impl $name {
            /// Wraps 16 bytes.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            /// The 16 bytes.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }

            /// Parses the 32 hexadecimal digits that [`Display`](std::fmt::Display) writes.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                crate::id::parse(text).map(Self)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    };
}

pub(crate) use id_type;

/// Parses 32 hexadecimal digits; `None` for anything else.
pub fn parse(text: &str) -> Option<[u8; 16]> {
    if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use crate::conversation::ConversationId;
    use crate::mark::MarkId;
    use crate::tenant::Tenant;

    #[test]
    fn every_id_is_read_as_it_is_written() {
        let bytes = *b"\x00\x01\x7f\x80\xff0123456789A";
        let conversation = ConversationId::from_bytes(bytes);
        let (mark, tenant) = (MarkId::from_bytes(bytes), Tenant::from_bytes(bytes));
        let written = conversation.to_string();
        assert_eq!(written, "00017f80ff3031323334353637383941");
        assert_eq!(ConversationId::parse(&written), Some(conversation));
        assert_eq!(MarkId::parse(&mark.to_string()), Some(mark));
        assert_eq!(
            Tenant::parse(&tenant.to_string().to_uppercase()),
            Some(tenant)
        );
    }

    #[test]
    fn nothing_else_is_read() {
        let check = |text: &str| assert_eq!(Tenant::parse(text), None, "{text}");
        check("");
        check("0123456789abcdef0123456789abcde");
        check("0123456789abcdef0123456789abcdef0");
        check("+123456789abcdef0123456789abcdef");
        check("0123456789abcdef0123456789abcdeg");
        check("\u{e9}123456789abcdef0123456789abcde");
    }
}
