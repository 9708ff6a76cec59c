//! Models called over real sockets.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod native;
#[cfg(test)]
mod readable;
#[cfg(test)]
mod stage;
