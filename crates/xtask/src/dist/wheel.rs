//! The wheels: the Python library, and the program, which the other packages hold too. Zig links both for every
//! Linux since 2014.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::Bench;
use crate::command;
use crate::python;

/// Builds the wheels and returns the program. `quick` leaves out the library, which `cargo xtask python` builds, and
/// optimizes nothing.
pub(super) fn build(bench: &Bench, quick: bool) -> anyhow::Result<PathBuf> {
    let python = python::environment(&bench.root)?;
    if !quick {
        python::library(&python, &bench.root, ("release", &bench.out))?;
    }
    program(bench, (&python, quick))?;
    let wheel = wheel(bench, "ebbtide_bin-")?;
    let there = bench.folder("from-wheel")?;
    let mut venv = Command::new(&python);
    venv.args(["-m", "venv"]).arg(&there);
    command::run(venv)?;
    let mut pip = Command::new(there.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-index"]);
    pip.arg(&wheel);
    if !quick {
        pip.arg(self::wheel(bench, "ebbtide-")?);
    }
    command::run(pip)?;
    bench.starts(Command::new(there.join("bin/ebbtide-bin")), &wheel)?;
    if !quick {
        let mut library = Command::new(there.join("bin/python"));
        library.args(["-c", "import ebbtide; ebbtide.Engine(window=64_000)"]);
        command::run(library)?;
    }
    Ok(there.join("bin/ebbtide"))
}

/// Builds the wheel with the program.
fn program(bench: &Bench, (python, quick): (&Path, bool)) -> anyhow::Result<()> {
    let mut maturin = python::maturin(python, &bench.root, &bench.root.join("python/bin"));
    if quick {
        maturin.args(["--profile", "dev"]);
        maturin.args(["--config", r#"profile.dev.package."*".opt-level=0"#]);
        maturin.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
        // Another build has linted it.
        maturin.env_remove("RUSTC_WORKSPACE_WRAPPER");
    } else {
        maturin.args(["--profile", "dist"]);
    }
    maturin.arg("--out").arg(&bench.out);
    command::run(maturin)
}

/// The wheel whose name begins like this.
fn wheel(bench: &Bench, name: &str) -> anyhow::Result<PathBuf> {
    let mut built = fs::read_dir(&bench.out)?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_it = |file: &PathBuf| {
        let found = file.file_name().unwrap_or_default().to_string_lossy();
        found.starts_with(name) && found.ends_with(".whl")
    };
    built
        .find(is_it)
        .with_context(|| format!("maturin built no wheel {name}…"))
}
