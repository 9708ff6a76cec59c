//! Random runs of the gateway as a process of its own, in a storm: the provider fails in every way, the process
//! is killed, its store is locked and damaged, and what is said is hostile.
//!
//! `cargo xtask storm --seconds N --seed S` runs it for longer. A run prints its seed first; with
//! `EBBTIDE_STORM_SEED` it is the same run again. `EBBTIDE_STORM_PATIENCE` multiplies the bounds on waiting, for a
//! machine that does other work.

#[cfg(test)]
#[path = "../adversity/dice.rs"]
mod dice;
#[cfg(test)]
mod slipway;
#[cfg(test)]
mod talker;
#[cfg(test)]
mod vessel;
#[cfg(test)]
mod voyage;
#[cfg(test)]
mod weather;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use crate::slipway;
    use crate::vessel::{self, asked};
    use crate::voyage::{self, Tally};

    /// The runs of an ordinary test.
    const FEW: u64 = 2;
    /// The runs at a time: most of a run is waiting.
    const ABREAST: u64 = 8;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "people say how long the storm lasts"
    )]
    fn storm() {
        let number = |name: &str| asked(name).and_then(|text| text.parse::<u64>().ok());
        let first = number("SEED").unwrap_or(1);
        let seconds = number("SECONDS").map(Duration::from_secs);
        let abreast = number("ABREAST").unwrap_or(ABREAST).max(1);
        let (began, next) = (Instant::now(), AtomicU64::new(0));
        let goes_on = |run: u64| match seconds {
            Some(seconds) => began.elapsed() < seconds,
            None => run < FEW,
        };
        let sail = || {
            let mut tally = Tally::default();
            loop {
                let run = next.fetch_add(1, Ordering::Relaxed);
                if !goes_on(run) {
                    return tally;
                }
                println!("seed {}", first + run);
                tally.add(&voyage::run(first + run));
            }
        };
        let mut all = Tally::default();
        thread::scope(|scope| {
            let sails: Vec<_> = (0..abreast).map(|_| scope.spawn(sail)).collect();
            sails
                .into_iter()
                .for_each(|it| all.add(&it.join().unwrap()));
        });
        println!("{all}");
        assert!(all.answered > 0, "{all}");
    }

    #[test]
    fn nobody_waits_for_what_is_too_long() {
        (1..=8).for_each(voyage::run_refused);
    }

    #[test]
    fn nobody_waits_for_a_model_that_does_not_answer() {
        (1..=12).for_each(voyage::run_silent);
    }

    /// The gateway that the storm starts, kills and starts again. Without being told where to serve, it shows that
    /// a process can be started and killed.
    #[test]
    fn vessel() {
        if slipway::serve(vessel::warm_up, vessel::serve) {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut started = vessel::Vessel::new(folder.path(), "http://127.0.0.1:9", false);
        assert!(started.url().starts_with("http://127.0.0.1:"));
        assert!(started.kill(), "it was running");
    }
}
