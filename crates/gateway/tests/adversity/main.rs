//! Tests of what must hold whatever happens: provider faults at any time, other tenants,
//! hostile clients.

#[cfg(test)]
mod client;
#[cfg(test)]
mod dice;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod schedule;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod tenants;
