//! Agents' requests at model servers that handle few at a time, so that summaries give way to them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::{Client, Made, ModelError, Order, Routes};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::queueing::Queueing;

/// The number of times that a summary is begun with a model.
const ATTEMPTS: usize = 2;

/// The agents' requests that each server has.
#[derive(Debug)]
pub(super) struct Slots {
    /// The requests that a server handles at a time, as configured. `None`: it is measured if that is one.
    each: Option<usize>,
    servers: Mutex<HashMap<String, Arc<Server>>>,
}

/// One model server.
#[derive(Debug, Default)]
struct Server {
    /// The agents' requests that it has.
    requests: watch::Sender<usize>,
    queueing: Mutex<Queueing>,
}

impl Server {
    fn measured<T>(&self, take: impl FnOnce(&mut Queueing) -> T) -> T {
        take(&mut self.queueing.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Slots {
    pub(super) fn new(each: Option<usize>) -> Self {
        Self {
            each,
            servers: Mutex::default(),
        }
    }

    /// Returns true if a summary would keep requests waiting at the server of this URL.
    pub(super) fn are_few(&self, url: &str) -> bool {
        self.of(&self.server(url)).is_some()
    }

    fn of(&self, server: &Server) -> Option<usize> {
        let measured = || server.measured(|queueing| queueing.is_certain().then_some(1));
        self.each.or_else(measured)
    }

    /// Counts an agent's request to this URL until the returned value is dropped.
    pub(super) fn occupy(&self, url: &str) -> Occupied {
        let server = self.server(url);
        server.requests.send_modify(|requests| *requests += 1);
        Occupied { server, sent: None }
    }

    /// The place for a summary at the server of this URL.
    pub(super) fn at(&self, url: &str) -> Vacancy {
        let server = self.server(url);
        Vacancy {
            slots: self.of(&server),
            requests: server.requests.subscribe(),
            server,
        }
    }

    fn server(&self, url: &str) -> Arc<Server> {
        let host = url.split_once("://").map_or(url, |(_, rest)| rest);
        let host = host.split('/').next().unwrap_or_default();
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(servers.entry(host.to_owned()).or_default())
    }
}

/// An agent's request at a server.
#[derive(Debug)]
pub(crate) struct Occupied {
    server: Arc<Server>,
    /// The time at which it was sent, and whether a summary was being written then.
    sent: Option<(Instant, bool)>,
}

impl Occupied {
    /// Notes that the request is sent.
    pub(crate) fn sent(&mut self) {
        let is_beside = self.server.measured(|queueing| queueing.is_writing());
        self.sent.get_or_insert((Instant::now(), is_beside));
    }

    /// Notes the first bytes of an answer. A refusal comes at once and says nothing of how long answers take.
    pub(crate) fn answered(&mut self, is_refusal: bool) {
        if let Some((sent, is_beside)) = self.sent.take().filter(|_| !is_refusal) {
            let took = sent.elapsed();
            self.server
                .measured(|queueing| queueing.answered(took, is_beside));
        }
    }
}

impl Drop for Occupied {
    fn drop(&mut self) {
        self.server.requests.send_modify(|requests| *requests -= 1);
    }
}

/// A summary that a server is writing.
struct Writing<'s>(&'s Server);

impl<'s> Writing<'s> {
    fn at(server: &'s Server) -> Self {
        server.measured(Queueing::begins);
        Self(server)
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.measured(Queueing::ends);
    }
}

/// The place that agents leave for a summary at a server.
#[derive(Debug)]
pub(super) struct Vacancy {
    /// `None`: no request waits for a summary there.
    slots: Option<usize>,
    requests: watch::Receiver<usize>,
    server: Arc<Server>,
}

impl Vacancy {
    /// Makes a summary. Where slots are few, it is made while agents leave one, without a model after it gave way
    /// twice, and at once if a request waits for it (`hurry`).
    pub(super) async fn summarise(
        mut self,
        client: &Client,
        (order, mut routes): (&Order, Routes),
        hurry: &CancellationToken,
    ) -> Result<Made, ModelError> {
        let Some(slots) = self.slots else {
            let _writing = Writing::at(&self.server);
            return model::summarise(client, order, &routes).await;
        };
        // Errors end these waits only if the sender is gone, which lives as long as `server`.
        for _ in 0..ATTEMPTS {
            tokio::select! {
                biased;
                () = hurry.cancelled() => break,
                _ = self.requests.wait_for(|requests| *requests < slots) => {}
            }
            tokio::select! {
                biased;
                () = hurry.cancelled() => break,
                _ = self.requests.wait_for(|requests| *requests >= slots) => {
                    tracing::debug!("a summary gives way to a request");
                }
                made = model::summarise(client, order, &routes) => return made,
            }
        }
        routes.first = history::Route::Extractive;
        model::summarise(client, order, &routes).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Slots, Writing};

    /// Sends a request, and takes its answer after some seconds.
    async fn ask(slots: &Slots, seconds: u64, is_refusal: bool) {
        let mut place = slots.occupy("http://one/v1/messages");
        place.sent();
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        place.answered(is_refusal);
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_do_not_make_a_slow_answer_look_like_a_wait() {
        for (is_refusal, expected) in [(true, false), (false, true)] {
            let slots = Slots::new(None);
            ask(&slots, 0, is_refusal).await;
            let server = slots.server("http://one/v1/messages");
            let _writing = Writing::at(&server);
            for _ in 0..2 {
                ask(&slots, 5, false).await;
            }
            assert_eq!(slots.are_few("http://one/v1/messages"), expected);
        }
    }
}
