//! The in-memory engine of many tenants.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, TryLockError};

use super::Memory;
use crate::engine::{Engine, Purge, Purged, ReadWork, WriteWork};
use crate::error::HistoryError;
use crate::limits::Limits;
use crate::state::State;
use crate::tenant::Tenant;

/// The trees of many tenants in memory, lost when the process ends.
///
/// A write works on a constant-time copy of its tenant's [`Memory`] and replaces the original at its end;
/// a reader keeps the snapshot it began with. Writes of different tenants do not wait for each other.
#[derive(Debug)]
pub struct MemoryEngine {
    secret: [u8; 32],
    limits: Limits,
    instead_of_file: Option<String>,
    tenants: RwLock<BTreeMap<Tenant, Arc<Slot>>>,
}

#[derive(Debug)]
struct Slot {
    writing: Mutex<()>,
    now: Mutex<Memory>,
}

impl MemoryEngine {
    /// Creates an empty engine with these limits per tenant. The secret must be random.
    #[must_use]
    pub const fn new(secret: [u8; 32], limits: Limits) -> Self {
        Self {
            secret,
            limits,
            instead_of_file: None,
            tenants: RwLock::new(BTreeMap::new()),
        }
    }

    /// Creates an empty engine that stands in for a file that cannot be used, for this reason.
    #[must_use]
    pub fn instead_of_file(secret: [u8; 32], reason: String) -> Self {
        Self {
            instead_of_file: Some(reason),
            ..Self::new(secret, Limits::NONE)
        }
    }

    fn slots_by_tenant(&self) -> RwLockReadGuard<'_, BTreeMap<Tenant, Arc<Slot>>> {
        self.tenants.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, tenant: Tenant) -> Option<Arc<Slot>> {
        self.slots_by_tenant().get(&tenant).cloned()
    }

    fn slot_to_write(&self, tenant: Tenant) -> Arc<Slot> {
        if let Some(slot) = self.slot(tenant) {
            return slot;
        }
        let tenants = self.tenants.write();
        let mut tenants = tenants.unwrap_or_else(PoisonError::into_inner);
        let slot = tenants.entry(tenant).or_insert_with(|| {
            Arc::new(Slot {
                writing: Mutex::new(()),
                now: Mutex::new(Memory::new(self.limits)),
            })
        });
        Arc::clone(slot)
    }

    /// The slots that a purge covers.
    fn slots(&self, of: Option<Tenant>) -> Vec<Arc<Slot>> {
        match of {
            Some(tenant) => self.slot(tenant).into_iter().collect(),
            None => self.slots_by_tenant().values().cloned().collect(),
        }
    }
}

impl Slot {
    fn now(&self) -> Memory {
        lock(&self.now).clone()
    }

    fn put(&self, memory: Memory) {
        *lock(&self.now) = memory;
    }
}

/// Takes a lock even if a thread panicked while holding it: the value is replaced whole, never changed in
/// place, so it is always consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine for MemoryEngine {
    fn secret(&self) -> Result<[u8; 32], HistoryError> {
        Ok(self.secret)
    }

    fn tenants(&self) -> Result<Vec<Tenant>, HistoryError> {
        Ok(self
            .slots_by_tenant()
            .iter()
            .filter(|(_, slot)| !lock(&slot.now).is_empty())
            .map(|(tenant, _)| *tenant)
            .collect())
    }

    fn write(&self, tenant: Tenant, work: &mut WriteWork<'_>) -> Result<(), HistoryError> {
        let slot = self.slot_to_write(tenant);
        let _writing = lock(&slot.writing);
        let mut copy = slot.now();
        work(&mut copy)?;
        slot.put(copy);
        Ok(())
    }

    fn write_at_once(
        &self,
        tenant: Tenant,
        work: &mut WriteWork<'_>,
    ) -> Option<Result<(), HistoryError>> {
        let slot = self.slot_to_write(tenant);
        let _writing = match slot.writing.try_lock() {
            Ok(writing) => writing,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let mut copy = slot.now();
        Some(work(&mut copy).map(|()| slot.put(copy)))
    }

    fn read(&self, tenant: Tenant, work: &mut ReadWork<'_>) -> Result<(), HistoryError> {
        match self.slot(tenant) {
            Some(slot) => work(&slot.now()),
            None => work(&Memory::new(self.limits)),
        }
    }

    fn purge(&self, what: Purge) -> Result<Purged, HistoryError> {
        let mut all = Purged::default();
        for slot in self.slots(what.tenant) {
            let _writing = lock(&slot.writing);
            let mut copy = slot.now();
            all += copy.purge(&what);
            slot.put(copy);
        }
        Ok(all)
    }

    fn preview(&self, what: Purge) -> Result<Purged, HistoryError> {
        let mut all = Purged::default();
        for slot in self.slots(what.tenant) {
            all += slot.now().purge(&what);
        }
        Ok(all)
    }

    fn state(&self) -> State {
        State {
            instead_of_file: self.instead_of_file.clone(),
            ..State::default()
        }
    }
}
