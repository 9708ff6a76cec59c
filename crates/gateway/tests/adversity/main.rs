//! What must not go wrong whatever happens: faults of the provider at every moment, other tenants,
//! hostile clients.

#[cfg(test)]
mod client;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod schedule;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod tenants;
