//! The chain of routes: native, readable, extractive.

use history::Route;

use crate::client::Client;
use crate::error::ModelError;
use crate::extractive::extractive;
use crate::made::{Fallen, Made};
use crate::native::carry_out as native_by;
use crate::order::{Order, Routes};
use crate::readable::carry_out as readable_by;
use crate::work::{Work, computed};

/// Makes a summary by the first route that works: `routes.first`, and from there down. The extractive
/// route needs nothing and always works; [`Made::fallen`] holds the errors of the others.
///
/// Dropping the future cancels the work. Summaries of finished chunks are kept.
///
/// # Errors
/// [`ModelError::BrokenOff`] where the process is stopping.
pub async fn summarise(
    client: &Client,
    order: &Order,
    routes: &Routes,
) -> Result<Made, ModelError> {
    let work = Work::new(client, order);
    let mut fallen = Vec::new();
    let mut fell = |route, error: ModelError| {
        tracing::info!(%route, %error, "a route to a summary failed");
        fallen.push(Fallen { route, error });
    };
    let mut made = None;
    if let (Route::Native, Some(sent)) = (routes.first, &routes.native) {
        match native_by(&work, sent).await {
            Ok(done) => made = Some(done),
            Err(error) => fell(Route::Native, error),
        }
    }
    let asks = routes.alongside.is_some() || routes.apart.is_some();
    if made.is_none() && routes.first != Route::Extractive && asks {
        match readable_by(&work, routes).await {
            Ok(done) => made = Some(done),
            Err(error) => fell(Route::Readable, error),
        }
    }
    let mut made = match made {
        Some(made) => made,
        None => {
            let order = order.clone();
            computed(move || extractive(&order)).await?
        }
    };
    made.fallen = fallen;
    made.spent = work.take_spent();
    Ok(made)
}

/// Asks the provider of an already sent request for its own summary of exactly that request's messages,
/// and tries no other route.
///
/// # Errors
/// The request is of a kind that has no such summary, the provider refuses or answers without one, or
/// its summary is degenerate.
pub async fn native(
    client: &Client,
    order: &Order,
    sent: &crate::order::Sent,
) -> Result<Made, ModelError> {
    let work = Work::new(client, order);
    let mut made = native_by(&work, sent).await?;
    made.spent = work.take_spent();
    Ok(made)
}

/// Asks a model for a summary by our template, and tries no other route: alongside the request that was
/// sent where `routes` have one that shows everything and leaves room, else apart.
///
/// # Errors
/// Neither is open, the model cannot be asked, or its text is still not good enough after a second
/// attempt.
pub async fn readable(client: &Client, order: &Order, routes: &Routes) -> Result<Made, ModelError> {
    let work = Work::new(client, order);
    let mut made = readable_by(&work, routes).await?;
    made.spent = work.take_spent();
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::{native, readable, summarise};
    use crate::{Client, Order, Routes, Sent};

    /// A server runs these on threads that it does not choose.
    #[test]
    fn what_is_under_way_may_move_between_threads() {
        struct All(Client, Order, Routes, Sent);
        fn movable<T: Send>(_: &impl Fn(&'static All) -> T) {}
        movable(&|it| summarise(&it.0, &it.1, &it.2));
        movable(&|it| readable(&it.0, &it.1, &it.2));
        movable(&|it| native(&it.0, &it.1, &it.3));
    }
}
