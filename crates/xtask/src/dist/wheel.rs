//! The wheel with the program, which is also where the other packages take it from: zig links it for every Linux
//! since 2014.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use super::Bench;
use crate::command;
use crate::python;

/// Builds the wheel and returns its program.
pub(super) fn build(bench: &Bench) -> anyhow::Result<PathBuf> {
    let python = python::environment(&bench.root)?;
    let folder = bench.root.join("python/bin");
    let mut maturin = python::maturin(&python, &bench.root, &folder);
    maturin.args(["--profile", "dist", "--out"]).arg(&bench.out);
    command::run(maturin)?;
    let mut built = fs::read_dir(&bench.out)?.filter_map(|entry| Some(entry.ok()?.path()));
    let wheel = built
        .find(|file| file.extension().is_some_and(|it| it == "whl"))
        .context("maturin built no wheel")?;
    let there = bench.folder("from-wheel")?;
    let mut venv = Command::new(&python);
    venv.args(["-m", "venv"]).arg(&there);
    command::run(venv)?;
    let mut pip = Command::new(there.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-index"]);
    pip.arg(&wheel);
    command::run(pip)?;
    bench.starts(Command::new(there.join("bin/ebbtide-bin")), &wheel)?;
    Ok(there.join("bin/ebbtide"))
}
