//! Agents' requests at model servers that handle few at a time, so that summaries give way to them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::{Client, Made, ModelError, Order, Routes};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::queueing::{Company, Queueing};

/// The number of times that a summary is begun with a model.
const ATTEMPTS: usize = 2;

/// The most servers that are remembered. A client may ask for any model.
const MOST: usize = 1_024;

/// The longest part of a model's name that tells it from others, in bytes.
const LONGEST_NAME: usize = 256;

/// The agents' requests that each server has.
#[derive(Debug)]
pub(super) struct Slots {
    /// The requests that a host handles at a time, as configured. `None`: each model is measured if that is one.
    each: Option<usize>,
    /// By host and model: a host may have a process for each. With the setting, by host alone.
    servers: Mutex<HashMap<(String, String), Known>>,
}

/// A server, and when it was last asked about.
#[derive(Debug)]
struct Known {
    server: Arc<Server>,
    used: Instant,
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

    fn is_certain(&self) -> bool {
        self.measured(|queueing| queueing.is_certain(Instant::now()))
    }
}

impl Slots {
    pub(super) fn new(each: Option<usize>) -> Self {
        Self {
            each,
            servers: Mutex::default(),
        }
    }

    /// Returns true if a summary would keep requests waiting at the server of this URL and model.
    pub(super) fn are_few(&self, url: &str, model: &str) -> bool {
        self.of(&self.server(url, model)).is_some()
    }

    fn of(&self, server: &Server) -> Option<usize> {
        self.each.or_else(|| server.is_certain().then_some(1))
    }

    /// Counts an agent's request to this URL before its model is known. `None` where the model matters.
    pub(super) fn occupy_any(&self, url: &str) -> Option<Occupied> {
        self.each.map(|_| self.occupy(url, ""))
    }

    /// Counts an agent's request to this URL and model until the returned value is dropped.
    pub(super) fn occupy(&self, url: &str, model: &str) -> Occupied {
        let server = self.server(url, model);
        server.requests.send_modify(|requests| *requests += 1);
        Occupied {
            server,
            sent: None,
            is_answering: false,
        }
    }

    /// The place for a summary at the server of this URL and model.
    pub(super) fn at(&self, url: &str, model: &str) -> Vacancy {
        let server = self.server(url, model);
        Vacancy {
            slots: self.of(&server),
            requests: server.requests.subscribe(),
            server,
        }
    }

    fn server(&self, url: &str, model: &str) -> Arc<Server> {
        let host = url.split_once("://").map_or(url, |(_, rest)| rest);
        let host = host.split('/').next().unwrap_or_default();
        let model = if self.each.is_some() { "" } else { model };
        let model = model.get(..model.floor_char_boundary(LONGEST_NAME));
        let key = (host.to_owned(), model.unwrap_or_default().to_owned());
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if servers.len() >= MOST && !servers.contains_key(&key) {
            make_room(&mut servers);
        }
        let used = Instant::now();
        if servers.len() >= MOST && !servers.contains_key(&key) {
            // All of them have requests.
            return Arc::default();
        }
        let known = servers.entry(key).or_insert_with(|| Known {
            server: Arc::default(),
            used,
        });
        known.used = used;
        Arc::clone(&known.server)
    }
}

/// Forgets servers that have no request: first those that are not known to handle one at a time, then by age.
fn make_room(servers: &mut HashMap<(String, String), Known>) {
    let idle = servers
        .iter()
        .filter(|(_, known)| Arc::strong_count(&known.server) == 1);
    let mut idle: Vec<_> = idle
        .map(|(key, known)| (known.server.is_certain(), known.used, key.clone()))
        .collect();
    idle.sort_by_key(|&(is_certain, used, _)| (is_certain, used));
    // Several, so that not every new one has to look at all.
    for (.., key) in idle.into_iter().take(MOST / 16) {
        servers.remove(&key);
    }
}

/// An agent's request at a server.
#[derive(Debug)]
pub(crate) struct Occupied {
    server: Arc<Server>,
    /// The time at which it was sent, and its company then.
    sent: Option<(Instant, Company)>,
    /// True if its answer began in the usual time.
    is_answering: bool,
}

impl Occupied {
    /// Notes that the request is sent.
    pub(crate) fn sent(&mut self) {
        let company = self.server.measured(|queueing| queueing.company());
        self.sent.get_or_insert((Instant::now(), company));
    }

    /// Notes the first bytes of an answer. A refusal comes at once and says nothing of how long answers take.
    pub(crate) fn answered(&mut self, is_refusal: bool) {
        if let Some((sent, company)) = self.sent.take().filter(|_| !is_refusal) {
            let now = Instant::now();
            let took = now.duration_since(sent);
            let answered = |queueing: &mut Queueing| queueing.answered(took, company, now);
            self.is_answering |= self.server.measured(answered);
        }
    }
}

impl Drop for Occupied {
    fn drop(&mut self) {
        if self.is_answering {
            self.server.measured(Queueing::answer_ends);
        }
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

    use super::{MOST, Slots, Writing};

    const URL: &str = "http://one/v1/messages";

    /// Sends a request, and takes its answer after some seconds.
    async fn ask(slots: &Slots, model: &str, seconds: u64, is_refusal: bool) {
        let mut place = slots.occupy(URL, model);
        place.sent();
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        place.answered(is_refusal);
    }

    /// Has two requests of a model wait for a summary.
    async fn wait_twice(slots: &Slots, model: &str) {
        ask(slots, model, 0, false).await;
        let server = slots.server(URL, model);
        let _writing = Writing::at(&server);
        for _ in 0..2 {
            ask(slots, model, 5, false).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_do_not_make_a_slow_answer_look_like_a_wait() {
        for (is_refusal, expected) in [(true, false), (false, true)] {
            let slots = Slots::new(None);
            ask(&slots, "m", 0, is_refusal).await;
            let server = slots.server(URL, "m");
            let _writing = Writing::at(&server);
            for _ in 0..2 {
                ask(&slots, "m", 5, false).await;
            }
            assert_eq!(slots.are_few(URL, "m"), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn models_behind_one_host_are_measured_apart() {
        let slots = Slots::new(None);
        wait_twice(&slots, "small").await;
        assert!(slots.are_few(URL, "small"));
        assert!(!slots.are_few(URL, "large"));
        let (_place, vacancy) = (slots.occupy(URL, "large"), slots.at(URL, "small"));
        assert_eq!(*vacancy.requests.borrow(), 0);
        assert!(slots.occupy_any(URL).is_none());
        // With the setting, the host has so many slots for all.
        let slots = Slots::new(Some(1));
        assert!(slots.are_few(URL, "large"));
        let (_place, vacancy) = (slots.occupy_any(URL), slots.at(URL, "small"));
        assert_eq!(*vacancy.requests.borrow(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn answers_side_by_side_and_time_lift_a_verdict() {
        let slots = Slots::new(None);
        for model in ["one", "other"] {
            wait_twice(&slots, model).await;
            let (mut first, mut second) = (slots.occupy(URL, model), slots.occupy(URL, model));
            first.sent();
            first.answered(false);
            second.sent();
            second.answered(false);
            assert!(slots.are_few(URL, model), "once");
            if model == "one" {
                drop(second);
                ask(&slots, model, 0, false).await;
            } else {
                tokio::time::sleep(Duration::from_hours(6)).await;
            }
            assert!(!slots.are_few(URL, model), "{model}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_servers_are_remembered() {
        let slots = Slots::new(None);
        wait_twice(&slots, "known").await;
        let busy = slots.occupy(URL, "busy");
        for number in 0..4 * MOST {
            slots.are_few(URL, &format!("{number} {}", "long".repeat(99)));
        }
        assert!(slots.servers.lock().unwrap().len() <= MOST);
        assert!(slots.are_few(URL, "known"));
        assert_eq!(*slots.at(URL, "busy").requests.borrow(), 1);
        drop(busy);
        assert_eq!(*slots.at(URL, "busy").requests.borrow(), 0);
        // As many requests at once cost no more.
        let all: Vec<_> = (0..2 * MOST)
            .map(|number| slots.occupy(URL, &number.to_string()))
            .collect();
        assert!(slots.servers.lock().unwrap().len() <= MOST);
        drop(all);
    }
}
