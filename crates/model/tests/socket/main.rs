//! Models called over real sockets.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod stage;
