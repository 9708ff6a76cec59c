//! A response body that is not a stream.

use super::Dialect;
use super::error::ApiError;
use super::json::scan::Scanner;
use super::json::tree::Tree;
use super::limits::Limits;
use super::reply::{self, Reply};
use super::request::{checked_text, no_object};

/// A response body, borrowed.
#[derive(Debug)]
pub struct Response<'b> {
    dialect: Dialect,
    body: &'b [u8],
    tree: Tree<'b>,
}

impl<'b> Response<'b> {
    /// Reads `body` under the default limits.
    ///
    /// # Errors
    /// See [`Self::parse_with`].
    pub fn parse(dialect: Dialect, body: &'b [u8]) -> Result<Self, ApiError> {
        Self::parse_with(dialect, body, Limits::default())
    }

    /// Reads `body` under `limits`. An error that the provider reports is a [`Reply`] with a
    /// failure, no error of this function.
    ///
    /// # Errors
    /// Anything but one JSON object in UTF-8 within the limits.
    pub fn parse_with(dialect: Dialect, body: &'b [u8], limits: Limits) -> Result<Self, ApiError> {
        let text = checked_text(body, limits)?;
        let depth = limits.depth_in_force();
        let mut scanner = Scanner::new(body, depth);
        if scanner.peek() != Some(b'{') {
            return Err(no_object(scanner, body));
        }
        let tree = Tree::parse(text, depth).map_err(|fault| fault.in_body(body))?;
        Ok(Self {
            dialect,
            body,
            tree,
        })
    }

    /// The unchanged body.
    #[must_use]
    pub const fn body(&self) -> &'b [u8] {
        self.body
    }

    /// The top-level field `key` as raw JSON.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&str> {
        self.tree.root().get(key).map(|value| value.raw())
    }

    /// The answer. The `output` of OpenAI's `/responses/compact` reads as Responses.
    #[must_use]
    pub fn reply(&self) -> Reply {
        reply::read(self.dialect, self.tree.root())
    }
}
