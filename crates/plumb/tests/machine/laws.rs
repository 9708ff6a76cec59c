//! The laws, for property tests and for fuzzing.

use std::sync::Arc;

use super::random::{Bytes, Call, machine};
use plumb::machine::{Counters, Machine, State, Step};

fn stored(machine: &Machine) -> String {
    serde_json::to_string(machine.state()).unwrap()
}

/// The machine after its state went out and came back.
fn moved(machine: &Machine) -> Machine {
    let state: State = serde_json::from_str(&stored(machine)).unwrap();
    Machine::resume(Arc::clone(machine.program()), state).unwrap()
}

fn balance(counters: Counters, waiting: usize) -> (u64, u64) {
    let it = counters;
    let came = it.accepted + it.answered + it.begun + it.copied + it.told;
    let went = it.delivered + it.asked + it.joined + it.dropped;
    let went = went + it.narrowed + it.failed + it.parted + it.discarded + it.left_over;
    (came, went + waiting as u64)
}

/// Closes and finishes everything; a timer may have to wait for another.
fn finish(machine: &mut Machine) {
    for port in 0..machine.program().inputs() as u32 {
        let _ = machine.close(port);
    }
    for _ in 0..1_000 {
        let effects: Vec<_> = machine.in_flight().collect();
        for effect in effects {
            let _ = machine.finished(effect.id);
        }
    }
}

/// A network that doubles its messages has soon more than can be written again and again.
const MOST_WEIGHT: u64 = 1 << 14;

/// All laws on one network and a row of calls.
pub fn check(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let mut plain = machine(&mut bytes);
    let mut twin = Machine::new(Arc::clone(plain.program()));
    assert_eq!(plain.start(), twin.start());
    for _ in 0..40 {
        let call = Call::new(&mut bytes, &plain);
        let before = stored(&plain);
        let step = call.make(&mut plain);
        if plain.state().weight() > MOST_WEIGHT {
            return;
        }
        // Deterministic, and the same when its state is stored and restored between any two calls.
        assert_eq!(&step, &call.make(&mut twin), "{:?}", call);
        assert_eq!(stored(&plain), stored(&twin));
        twin = moved(&twin);
        // At rest: looking at every node again moves nothing.
        assert_eq!(moved(&plain).start(), Step::default());
        // Nothing lost; a refused call changes nothing and gives its message back.
        let (came, went) = balance(plain.counters(), plain.state().waiting());
        assert_eq!(came, went, "{:?}", plain.counters());
        if let Err(refused) = step {
            assert_eq!(before, stored(&plain));
            let message = match &call {
                Call::Push(_, message) | Call::Answer(_, _, message) => Some(message),
                _ => None,
            };
            assert_eq!(refused.message.as_ref(), message);
        }
    }
    finish(&mut plain);
    // Only a loop that asks again whenever it has been answered goes on.
    let asks = plain.in_flight().next().is_some();
    assert!(plain.ended() != asks, "{}", stored(&plain));
    assert!(asks || plain.state().waiting() == 0);
}
