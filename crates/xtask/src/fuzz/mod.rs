//! `cargo xtask fuzz`: builds and runs the targets of `fuzz/` on the stable toolchain.
//!
//! cargo-fuzz on a nightly toolchain would add an address sanitizer, which matters little without unsafe
//! code. The coverage that steers libFuzzer comes from an LLVM pass, which the stable compiler has too.

mod seeds;
mod session;

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use serde::Deserialize;

use crate::command::{self, cargo, say};
use session::Length;

/// The flags that instrument the code: libFuzzer's counters, its PC table, and comparisons.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
     -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";

/// One fuzz target: a binary of `fuzz/Cargo.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    name: String,
    /// The corpus folders that seed it.
    corpus: Vec<String>,
}

/// `cargo xtask fuzz [TARGET] [--seconds N | --runs N]`.
pub fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let (wanted, length) = parse(arguments)?;
    let folder = root.join("fuzz");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml"))
        .context("cannot read fuzz/Cargo.toml")?;
    let mut targets = targets(&manifest)?;
    if let Some(wanted) = wanted {
        let known: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        if !known.contains(&wanted) {
            bail!(
                "no fuzz target `{wanted}`; choose from: {}",
                known.join(", ")
            );
        }
        targets.retain(|target| target.name == wanted);
    }
    let triple = host()?;
    // Pins the workspace's versions; cargo adds the packages that only the fuzz crate needs.
    std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))
        .context("cannot copy Cargo.lock to fuzz/")?;
    build(&folder, &triple, wanted)?;
    for target in &targets {
        seeds::lay_out(&folder, target)?;
        let program = folder.join(format!("target/{triple}/release/{}", target.name));
        session::run(&folder, target, &program, length)?;
    }
    Ok(())
}

fn parse<'a>(arguments: &[&'a str]) -> anyhow::Result<(Option<&'a str>, Length)> {
    let (mut target, mut length) = (None, Length::Seconds(60));
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        match argument {
            "--seconds" | "--runs" => {
                let number = rest
                    .next()
                    .with_context(|| format!("{argument} needs a number"))?;
                let number = number
                    .parse()
                    .with_context(|| format!("{argument} {number} is not a number"))?;
                length = match argument {
                    "--runs" => Length::Runs(number),
                    _ => Length::Seconds(number),
                };
            }
            flag if flag.starts_with('-') => bail!("unknown flag `{flag}`"),
            name if target.is_none() => target = Some(name),
            extra => bail!("unexpected argument `{extra}`: give one target, or none to run all"),
        }
    }
    Ok((target, length))
}

/// The manifest of the fuzz crate, as far as it names targets and their seeds.
#[derive(Deserialize)]
struct Manifest {
    package: Package,
    bin: Vec<Binary>,
}

#[derive(Deserialize)]
struct Package {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    seeds: HashMap<String, Vec<String>>,
}

#[derive(Deserialize)]
struct Binary {
    name: String,
}

/// Reads the targets from the manifest of the fuzz crate.
fn targets(manifest: &str) -> anyhow::Result<Vec<Target>> {
    let manifest: Manifest = toml::from_str(manifest).context("cannot parse fuzz/Cargo.toml")?;
    let mut seeds = manifest.package.metadata.seeds;
    let target = |Binary { name }| Target {
        corpus: seeds.remove(&name).unwrap_or_default(),
        name,
    };
    Ok(manifest.bin.into_iter().map(target).collect())
}

/// The host's target triple. Cargo exempts build scripts from the flags only if a target is named.
fn host() -> anyhow::Result<String> {
    let version = command::output(command::program("rustc -vV", Path::new(".")))?;
    version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .context("rustc -vV names no host")
}

fn build(folder: &Path, triple: &str, target: Option<&str>) -> anyhow::Result<()> {
    let mut line = format!("build --release --target {triple}");
    if let Some(target) = target {
        line += &format!(" --bin {target}");
    }
    say("building the fuzz targets");
    let mut command = cargo(&line, folder);
    command.env("RUSTFLAGS", FLAGS);
    // The targets share modules with tests, of which each uses a part: nothing to lint.
    command.env_remove("RUSTC_WORKSPACE_WRAPPER");
    command::run(command)
}

#[cfg(test)]
mod tests {
    use super::{Length, Target, parse, targets};

    #[test]
    fn arguments() {
        let minute = Length::Seconds(60);
        assert_eq!(parse(&[]).unwrap(), (None, minute));
        assert_eq!(parse(&["count"]).unwrap(), (Some("count"), minute));
        assert_eq!(
            parse(&["--seconds", "5"]).unwrap(),
            (None, Length::Seconds(5))
        );
        assert_eq!(
            parse(&["count", "--runs", "5"]).unwrap(),
            (Some("count"), Length::Runs(5))
        );
        for bad in [
            &["a", "b"][..],
            &["--seconds"],
            &["--seconds", "x"],
            &["-x"],
        ] {
            parse(bad).unwrap_err();
        }
    }

    #[test]
    fn targets_and_their_corpus() {
        let manifest =
            "[package.metadata.seeds]\na = ['x/y']\n[[bin]]\nname = 'a'\n[[bin]]\nname = 'b'";
        let target = |name: &str, corpus: &[&str]| Target {
            name: name.to_owned(),
            corpus: corpus.iter().map(|&folder| folder.to_owned()).collect(),
        };
        assert_eq!(
            targets(manifest).unwrap(),
            [target("a", &["x/y"]), target("b", &[])]
        );
        targets("[package]").unwrap_err();
    }
}
