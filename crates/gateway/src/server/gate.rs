//! The limits on what is held at once.

use std::io::Read;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::config::ServerLimits;
use crate::conversations::Reading;
use crate::server::coding::{Coding, Codings};
use crate::server::duration;
use crate::server::refusal::Reason;
use crate::server::upload::Upload;

/// Connections per concurrent request: most connections are idle between requests.
const CONNECTIONS_A_REQUEST: usize = 4;
/// The largest buffer reserved before a body's first byte.
const FIRST_RESERVATION: u64 = 1 << 20;
/// The bytes that are decoded at a time.
const PIECE: usize = 64 << 10;
/// The factor by which text usually shrinks.
const SHRINKS_BY: usize = 8;

/// Admits work within the limits.
pub(super) struct Gate {
    limits: ServerLimits,
    connections: Arc<Semaphore>,
    requests: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    decoding: Reading,
}

/// A body with its share of the byte limit, which is free again when the last reference to the bytes is
/// dropped.
struct Held {
    bytes: BytesMut,
    permit: Option<OwnedSemaphorePermit>,
}

impl Held {
    fn with_capacity(capacity: usize) -> Self {
        Self {
            bytes: BytesMut::with_capacity(capacity),
            permit: None,
        }
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Gate {
    pub(super) fn new(limits: ServerLimits) -> Self {
        let semaphore =
            |places: usize| Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS)));
        Self {
            connections: semaphore(limits.requests.saturating_mul(CONNECTIONS_A_REQUEST)),
            requests: semaphore(limits.requests),
            bytes: semaphore(limits.bodies),
            decoding: Reading::default(),
            limits,
        }
    }

    /// Waits for a connection slot.
    pub(super) async fn connection(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.connections).acquire_owned().await.ok()
    }

    /// Takes a request slot.
    pub(super) fn request(&self) -> Result<OwnedSemaphorePermit, Reason> {
        Arc::clone(&self.requests)
            .try_acquire_owned()
            .map_err(|_| Reason::Busy)
    }

    /// Reads a whole body.
    pub(super) async fn read(&self, body: Upload) -> Result<Bytes, Reason> {
        let most = self.limits.body;
        if body.least() > most as u64 {
            return Err(Reason::TooLarge { limit: most });
        }
        timeout(duration(self.limits.read), self.collect(body))
            .await
            .unwrap_or(Err(Reason::TooSlow))
    }

    async fn collect(&self, mut body: Upload) -> Result<Bytes, Reason> {
        let announced = body.least().min(FIRST_RESERVATION);
        let mut held = Held::with_capacity(usize::try_from(announced).unwrap_or_default());
        while let Some(frame) = body.frame().await {
            let Ok(piece) = frame.map_err(|_| Reason::BrokenBody)?.into_data() else {
                continue;
            };
            self.add(&mut held, &piece)?;
        }
        Ok(Bytes::from_owner(held))
    }

    /// Undoes the codings of a body. Returns `None` if the body is not what they say.
    pub(super) async fn decode(
        &self,
        body: &Bytes,
        codings: &Codings,
    ) -> Result<Option<Bytes>, Reason> {
        let mut decoded = body.clone();
        for coding in codings.last_first() {
            let expected = decoded.len().saturating_mul(SHRINKS_BY);
            let decode = || self.decode_once(&decoded, coding);
            match self.decoding.of(expected, decode).await? {
                Some(next) => decoded = next,
                None => return Ok(None),
            }
        }
        Ok(Some(decoded))
    }

    fn decode_once(&self, body: &Bytes, coding: Coding) -> Result<Option<Bytes>, Reason> {
        let mut held = Held::with_capacity(PIECE);
        let mut decoder = coding.decoder(body, self.limits.body);
        let mut piece = vec![0; PIECE];
        loop {
            match decoder.read(&mut piece).map(|count| piece.get(..count)) {
                Ok(Some([]) | None) => return Ok(Some(Bytes::from_owner(held))),
                Ok(Some(piece)) => self.add(&mut held, piece)?,
                Err(_) => return Ok(None),
            }
        }
    }

    /// Adds a piece to a body, within the limits.
    fn add(&self, held: &mut Held, piece: &[u8]) -> Result<(), Reason> {
        if held.bytes.len().saturating_add(piece.len()) > self.limits.body {
            let limit = self.limits.body;
            return Err(Reason::TooLarge { limit });
        }
        let more = self.bytes(piece.len())?;
        match &mut held.permit {
            Some(permit) => permit.merge(more),
            None => held.permit = Some(more),
        }
        held.bytes.extend_from_slice(piece);
        Ok(())
    }

    fn bytes(&self, count: usize) -> Result<OwnedSemaphorePermit, Reason> {
        let count = u32::try_from(count).map_err(|_| Reason::Full)?;
        Arc::clone(&self.bytes)
            .try_acquire_many_owned(count)
            .map_err(|_| Reason::Full)
    }
}
