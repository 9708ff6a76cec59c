//! The same networks as tasks with bounded channels between them, all on one thread.

use plumb::value::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;

use crate::by_hand::{is_below, next};
use crate::{FAN, ROUNDS};

/// The machine's own bound.
const ROOM: usize = 1_024;

/// A network of tasks, and where messages go in and come out.
pub struct Tasks {
    runtime: Runtime,
    input: Sender<Value>,
    output: Receiver<Value>,
    _tasks: JoinSet<()>,
}

impl Tasks {
    /// A network that is built by `build` from the receiver of its inputs: it gives that of its outputs.
    fn new(
        build: impl FnOnce(&mut JoinSet<()>, Receiver<Value>) -> Receiver<Value>,
    ) -> Option<Self> {
        let runtime = Builder::new_current_thread().build().ok()?;
        let mut tasks = JoinSet::new();
        let (input, first) = channel(ROOM);
        let output = {
            let _within = runtime.enter();
            build(&mut tasks, first)
        };
        Some(Self {
            runtime,
            input,
            output,
            _tasks: tasks,
        })
    }

    /// Sends a message so many times, as far as there is room, and takes what comes: `each` for each.
    pub fn run(&mut self, message: &Value, times: usize, each: usize) -> usize {
        let (input, output) = (&self.input, &mut self.output);
        self.runtime.block_on(async {
            let sent = async {
                for _ in 0..times {
                    let _ = input.send(message.clone()).await;
                }
            };
            let taken = async {
                let mut taken = 0;
                while taken < times * each && output.recv().await.is_some() {
                    taken += 1;
                }
                taken
            };
            tokio::join!(sent, taken).1
        })
    }

    /// Maps and filters in turn, so many.
    pub fn chain(length: usize) -> Option<Self> {
        Self::new(|tasks, first| {
            (0..length).fold(first, |before, at| match at % 2 {
                0 => task(tasks, before, |message| Some(next(&message))),
                _ => task(tasks, before, |message| {
                    is_below(&message, i64::MAX).then_some(message)
                }),
            })
        })
    }

    /// A copy to so many maps and a merge of them.
    pub fn fan() -> Option<Self> {
        Self::new(|tasks, mut input| {
            let (merged, output) = channel(ROOM);
            let mut maps = Vec::new();
            for _ in 0..FAN {
                let (to, mut from) = channel::<Value>(ROOM);
                maps.push(to);
                let merged = merged.clone();
                tasks.spawn(async move {
                    while let Some(message) = from.recv().await {
                        let _ = merged.send(next(&message)).await;
                    }
                });
            }
            tasks.spawn(async move {
                while let Some(message) = input.recv().await {
                    for map in &maps {
                        let _ = map.send(message.clone()).await;
                    }
                }
            });
            output
        })
    }

    /// Goes round until it has counted to the end: a map, and a choice between again and out.
    pub fn feedback() -> Option<Self> {
        Self::new(|tasks, mut input| {
            let (merged, inner) = channel(ROOM);
            let (done, output) = channel(ROOM);
            let again = merged.clone();
            tasks.spawn(async move {
                while let Some(message) = input.recv().await {
                    let _ = merged.send(message).await;
                }
            });
            let mut counted = task(tasks, inner, |message| Some(next(&message)));
            tasks.spawn(async move {
                while let Some(message) = counted.recv().await {
                    let to = match is_below(&message, ROUNDS) {
                        true => &again,
                        false => &done,
                    };
                    let _ = to.send(message).await;
                }
            });
            output
        })
    }
}

/// A task between two channels.
fn task(
    tasks: &mut JoinSet<()>,
    mut from: Receiver<Value>,
    work: impl Fn(Value) -> Option<Value> + Send + 'static,
) -> Receiver<Value> {
    let (to, output) = channel(ROOM);
    tasks.spawn(async move {
        while let Some(message) = from.recv().await {
            if let Some(made) = work(message) {
                let _ = to.send(made).await;
            }
        }
    });
    output
}
