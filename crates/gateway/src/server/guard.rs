//! Calls into the inner half. A panic there must not cost the client its answer.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use crate::metrics::Failure;
use crate::server::State;

/// The point of a request's life at which the inner half is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Arrived,
    Refused,
    Answered,
    Piece,
    Finished,
}

impl Stage {
    const fn failure(self) -> Failure {
        match self {
            Self::Arrived | Self::Refused => Failure::Deciding,
            Self::Answered | Self::Piece => Failure::Watching,
            Self::Finished => Failure::Keeping,
        }
    }

    const fn message(self) -> &'static str {
        match self {
            Self::Arrived => "deciding about a request failed; forwarding it unchanged",
            Self::Refused => "deciding about a refusal failed; forwarding the refusal",
            Self::Answered | Self::Piece => {
                "watching an answer failed; forwarding the rest unwatched"
            }
            Self::Finished => "recording the conversation failed",
        }
    }
}

/// Panics in tests that inject a failure at this stage.
fn failpoint(_state: &State, _stage: Stage) {
    #[cfg(test)]
    assert_ne!(_state.fail_at, Some(_stage), "injected by the test");
}

impl State {
    /// Runs a call into the inner half. Returns `None`, counted and logged, if it panics.
    pub(crate) async fn guarded<T>(
        &self,
        stage: Stage,
        call: impl Future<Output = T>,
    ) -> Option<T> {
        let call = AssertUnwindSafe(async {
            failpoint(self, stage);
            call.await
        });
        let returned = call.catch_unwind().await.ok();
        if returned.is_none() {
            self.metrics.failed(stage.failure());
            tracing::error!("{}", stage.message());
        }
        returned
    }
}
