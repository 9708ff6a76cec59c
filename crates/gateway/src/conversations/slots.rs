//! Agents' requests at model servers that handle few at a time, so that summaries give way to them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::{Client, Made, ModelError, Order, Routes};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The number of times that a summary is begun with a model.
const ATTEMPTS: usize = 2;

/// The agents' requests that each server has.
#[derive(Debug)]
pub(super) struct Slots {
    /// The requests that a server handles at a time; `None` if that is no matter.
    each: Option<usize>,
    servers: Mutex<HashMap<String, Arc<watch::Sender<usize>>>>,
}

impl Slots {
    pub(super) fn new(each: Option<usize>) -> Self {
        Self {
            each,
            servers: Mutex::default(),
        }
    }

    /// Returns true if a summary could keep a request waiting at its server.
    pub(super) const fn are_few(&self) -> bool {
        self.each.is_some()
    }

    /// Counts an agent's request to this URL until the returned value is dropped.
    pub(super) fn occupy(&self, url: &str) -> Option<Occupied> {
        self.each?;
        let server = self.server(url);
        server.send_modify(|requests| *requests += 1);
        Some(Occupied(server))
    }

    /// The slots of the server at this URL.
    pub(super) fn at(&self, url: &str) -> Option<Vacancy> {
        Some(Vacancy {
            slots: self.each?,
            requests: self.server(url).subscribe(),
        })
    }

    fn server(&self, url: &str) -> Arc<watch::Sender<usize>> {
        let host = url.split_once("://").map_or(url, |(_, rest)| rest);
        let host = host.split('/').next().unwrap_or_default();
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let server = servers.entry(host.to_owned()).or_default();
        Arc::clone(server)
    }
}

/// An agent's request at a server.
#[derive(Debug)]
pub(crate) struct Occupied(Arc<watch::Sender<usize>>);

impl Drop for Occupied {
    fn drop(&mut self) {
        self.0.send_modify(|requests| *requests -= 1);
    }
}

/// The slots that agents leave at a server.
#[derive(Debug)]
pub(super) struct Vacancy {
    slots: usize,
    requests: watch::Receiver<usize>,
}

impl Vacancy {
    /// Waits until agents leave a slot.
    async fn begins(&mut self) {
        let slots = self.slots;
        // Its sender lives as long as the gateway.
        let _ = self.requests.wait_for(|requests| *requests < slots).await;
    }

    /// Waits until agents need all slots.
    async fn ends(&mut self) {
        let slots = self.slots;
        let _ = self.requests.wait_for(|requests| *requests >= slots).await;
    }

    /// Makes a summary while agents leave a slot. It is made without a model after it gave way twice, and at once
    /// if a request waits for it (`hurry`).
    pub(super) async fn summarise(
        mut self,
        client: &Client,
        (order, mut routes): (&Order, Routes),
        hurry: &CancellationToken,
    ) -> Result<Made, ModelError> {
        for _ in 0..ATTEMPTS {
            tokio::select! {
                biased;
                () = hurry.cancelled() => break,
                () = self.begins() => {}
            }
            tokio::select! {
                biased;
                () = hurry.cancelled() => break,
                () = self.ends() => tracing::debug!("a summary gives way to a request"),
                made = model::summarise(client, order, &routes) => return made,
            }
        }
        routes.first = history::Route::Extractive;
        model::summarise(client, order, &routes).await
    }
}
