//! Puts a request together as a recipe says.

use wire::api::{Dialect, Piece, Request};

use super::{Front, Recipe, RewriteError, beta};

/// The body to send. Every byte that the recipe does not name is as it came; with an empty recipe it is
/// the body itself.
///
/// # Errors
/// Where the result would not be a legal request, or a change does not fit its message. The caller then
/// sends the client's own bytes.
pub fn render(request: &Request<'_>, recipe: &Recipe<'_>) -> Result<Vec<u8>, RewriteError> {
    let count = request.len();
    if recipe.from > count {
        return Err(RewriteError::NothingKept {
            from: recipe.from,
            count,
        });
    }
    let pieces = vec![Piece::Kept(recipe.from..count)];
    Ok(request.edit().messages(pieces).render()?)
}

/// The names that the header `anthropic-beta` has to hold for what a recipe puts into a request.
#[must_use]
pub fn betas(dialect: Dialect, recipe: &Recipe<'_>) -> Vec<&'static str> {
    let native = matches!(recipe.front, Front::Native { .. });
    if dialect == Dialect::Anthropic && native {
        vec![beta::COMPACT]
    } else {
        Vec::new()
    }
}
