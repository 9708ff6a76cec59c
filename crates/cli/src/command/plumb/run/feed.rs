//! The inputs of a network, with the messages that wait for room in them.

use std::collections::VecDeque;

use driver::Network;
use plumb::machine::Refusal;
use plumb::value::Value;

/// The maximum number of messages that wait. A port that is full must not keep the messages of another one
/// from coming in, which may be what it waits for.
const MOST: usize = 65_536;

/// The inputs of a network.
pub struct Feed {
    ports: Vec<Port>,
    waiting: usize,
    /// The number of messages that no input took.
    pub discarded: u64,
    /// True if the rest of the input was not read.
    pub cut: bool,
}

#[derive(Default)]
struct Port {
    waiting: VecDeque<Value>,
    closed: bool,
}

impl Feed {
    pub fn new(network: &Network) -> Self {
        let ports = network.inputs().iter();
        Self {
            ports: ports.map(|_| Port::default()).collect(),
            waiting: 0,
            discarded: 0,
            cut: false,
        }
    }

    /// Returns true if no message waits.
    pub const fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Returns true if as many messages wait as may.
    pub const fn is_full(&self) -> bool {
        self.waiting >= MOST
    }

    /// Puts a message into an input, or keeps it until there is room.
    pub fn put(&mut self, network: &mut Network, port: u32, message: Value) {
        match self.ports.get_mut(port as usize) {
            Some(found) => {
                found.waiting.push_back(message);
                self.waiting += 1;
                self.pass(network, port);
            }
            None => self.discarded += 1,
        }
    }

    /// Passes on what there is room for. Returns true if that was anything.
    pub fn drain(&mut self, network: &mut Network) -> bool {
        let before = self.waiting;
        for port in (0..).take(self.ports.len()) {
            self.pass(network, port);
        }
        self.waiting < before
    }

    fn pass(&mut self, network: &mut Network, port: u32) {
        let Some(found) = self.ports.get_mut(port as usize) else {
            return;
        };
        while let Some(message) = found.waiting.pop_front() {
            self.waiting -= 1;
            match network.push(port, message) {
                Ok(()) => {}
                Err(refused) => match (refused.why, refused.message) {
                    (Refusal::Full, Some(message)) => {
                        found.waiting.push_front(message);
                        self.waiting += 1;
                        return;
                    }
                    // The input has ended, or the network has stopped.
                    _ => self.discarded += 1,
                },
            }
        }
    }

    /// Closes the inputs for which nothing waits any more. Returns true if there were any.
    pub fn close(&mut self, network: &mut Network) -> bool {
        let mut any = false;
        for (number, port) in (0..).zip(&mut self.ports) {
            if port.waiting.is_empty() && !std::mem::replace(&mut port.closed, true) {
                network.close(number);
                any = true;
            }
        }
        any
    }

    /// Gives up what waits: no room will ever come.
    pub fn give_up(&mut self) {
        for port in &mut self.ports {
            port.waiting.clear();
        }
        self.discarded += self.waiting as u64;
        self.waiting = 0;
    }
}
