//! Tables of error codes, each entry with a constant of its own.

/// Makes a constant for each code, and `CODES`, the table of all of them.
macro_rules! codes {
    ($($name:ident $code:literal $meaning:literal $remedy:literal)*) => {
        $(pub(crate) const $name: context::coded::ErrorCode =
            context::coded::ErrorCode::new($code);)*

        /// The codes of this module.
        pub const CODES: &[context::coded::CodeEntry] = &[
            $(context::coded::CodeEntry { code: $name, meaning: $meaning, remedy: $remedy }),*
        ];
    };
}

pub(crate) use codes;
