//! The provider on a real socket.

#[cfg(test)]
mod served;
