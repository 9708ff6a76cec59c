//! `cargo xtask storm`: random runs in which everything fails, for a while.
//!
//! Each storm is a cargo command that takes the seconds and the seed of its first run, prints the seed of each run
//! before it begins, and fails if something was lost, invalid, silent or late.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::command::{self, cargo, say};

/// One storm.
struct Storm {
    name: &'static str,
    /// The words of the cargo command. With `--package`, the dependencies would get other features, and half of
    /// them would compile once more.
    line: &'static str,
    /// The example that the command builds, which is run then.
    example: Option<&'static str>,
}

/// All storms. They share the time.
const STORMS: [Storm; 2] = [
    Storm {
        name: "gateway",
        line: "test --quiet --locked --workspace --test storm -- tests::storm --exact --nocapture",
        example: None,
    },
    Storm {
        name: "plumb",
        line: "build --quiet --locked --workspace --example storm",
        example: Some("target/debug/examples/storm"),
    },
];

/// `cargo xtask storm [--seconds N] [--seed S]`.
pub fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let (seconds, seed) = parse(arguments)?;
    let each = seconds.div_ceil(STORMS.len() as u64);
    for storm in STORMS {
        say(&format!("{}: {each} s from seed {seed}", storm.name));
        let mut command = cargo(storm.line, root);
        command.env("EBBTIDE_STORM_SECONDS", each.to_string());
        command.env("EBBTIDE_STORM_SEED", seed.to_string());
        let ran = command::run(command).and_then(|()| match storm.example {
            Some(example) => {
                let mut example = Command::new(root.join(example));
                example.args(["--seconds", &each.to_string(), "--seed", &seed.to_string()]);
                command::run(example)
            }
            None => Ok(()),
        });
        ran.with_context(|| format!("the storm of {} (the seed stands above)", storm.name))?;
    }
    Ok(())
}

fn parse(arguments: &[&str]) -> anyhow::Result<(u64, u64)> {
    let (mut seconds, mut seed) = (60, 1);
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        let number = match argument {
            "--seconds" => &mut seconds,
            "--seed" => &mut seed,
            unknown => bail!("unknown argument `{unknown}`"),
        };
        let value = rest
            .next()
            .with_context(|| format!("{argument} needs a number"))?;
        *number = value
            .parse()
            .with_context(|| format!("{argument} {value} is not a number"))?;
    }
    Ok((seconds, seed))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn seconds_and_seed() {
        assert_eq!(parse(&[]).unwrap(), (60, 1));
        assert_eq!(
            parse(&["--seed", "7", "--seconds", "600"]).unwrap(),
            (600, 7)
        );
        for wrong in [&["--seed"][..], &["--seed", "x"], &["60"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
