//! Generated programs whose agents and tools fail: nothing is mispaired, nothing is lost without a word, and
//! every run ends.
//!
//! ```text
//! cargo run -p ebbtide-driver --example storm -- --seconds 60 --seed 1
//! ```
//!
//! Each program has a seed of its own, which a finding names: `--seed` with that number and `--programs 1` runs it
//! again. The exit status is 1 if there was a finding. The last line is `N programs, M findings`.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "it is a program, and reports to a person"
)]

mod dice;
mod machine;
mod network;
mod text;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use dice::Dice;
use text::Generated;

/// Every so many programs, one is also run by the driver.
const DRIVEN: u64 = 8;

/// The extent of a run.
struct Plan {
    seconds: u64,
    seed: u64,
    programs: u64,
}

impl Plan {
    fn read(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut plan = Self {
            seconds: 60,
            seed: 1,
            programs: u64::MAX,
        };
        let mut arguments = arguments.skip(1);
        while let Some(name) = arguments.next() {
            let number = arguments.next().and_then(|text| text.parse().ok());
            let number: u64 = number.ok_or_else(|| format!("{name} needs a number"))?;
            match name.as_str() {
                "--seconds" => plan.seconds = number,
                "--seed" => plan.seed = number,
                "--programs" => plan.programs = number,
                _ => return Err(format!("there is no option {name}")),
            }
        }
        Ok(plan)
    }
}

/// Runs one program. A panic is a finding, too.
fn one(seed: u64) -> Result<(), String> {
    let run = || {
        let mut dice = Dice::new(seed);
        let program = Generated::new(&mut dice);
        let found = machine::check(&program, &mut dice);
        let found = found.and_then(|()| match seed % DRIVEN {
            0 => network::check(&mut dice),
            _ => Ok(()),
        });
        found.map_err(|why| format!("{why}\n{}", program.text))
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err("it panicked".to_owned()))
}

fn main() -> ExitCode {
    let plan = match Plan::read(std::env::args()) {
        Ok(plan) => plan,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    println!("seed {}", plan.seed);
    let end = Instant::now() + Duration::from_secs(plan.seconds);
    let (mut programs, mut findings) = (0, 0);
    while programs < plan.programs && Instant::now() < end {
        let seed = plan.seed.wrapping_add(programs);
        if let Err(why) = one(seed) {
            findings += 1;
            println!("seed {seed}: {why}\n");
        }
        programs += 1;
    }
    println!("{programs} programs, {findings} findings");
    ExitCode::from(u8::from(findings > 0))
}
