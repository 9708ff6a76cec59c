//! Cutting a conversation into an old part and a recent part.
