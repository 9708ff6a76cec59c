//! The npm packages: a launcher, and the program for this platform.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use super::Bench;
use crate::command::{self, program, say};

/// The platforms for which the launcher looks.
const PLATFORMS: [&str; 5] = [
    "linux-x64",
    "linux-arm64",
    "darwin-arm64",
    "darwin-x64",
    "win32-x64",
];

pub(super) fn build(bench: &Bench) -> anyhow::Result<()> {
    if !command::answers(program("npm --version", &bench.root)) {
        say("skipped: there is no npm here");
        return Ok(());
    }
    let launcher = launcher(bench)?;
    let platform = platform(bench)?;
    let there = bench.folder("from-npm")?;
    // The packages of other platforms are not published yet.
    let flags = "install --offline --no-audit --no-fund --silent --omit=optional --prefix .";
    let mut install = program(&format!("npm {flags}"), &there);
    install.args([&launcher, &platform]);
    command::run(install)?;
    let started = Command::new(there.join("node_modules/.bin/ebbtide"));
    bench.starts(started, &launcher)
}

/// The package with the launcher.
fn launcher(bench: &Bench) -> anyhow::Result<PathBuf> {
    let folder = bench.folder("npm/ebbtide")?;
    let source = bench.root.join("packaging/npm");
    let mut manifest = manifest(&source)?;
    let optional = PLATFORMS.map(|it| (format!("ebbtide-{it}"), json!(bench.version)));
    set(&mut manifest, "version", json!(bench.version));
    let optional: Map<String, Value> = optional.into_iter().collect();
    set(&mut manifest, "optionalDependencies", optional.into());
    bench.put(
        &source.join("bin/ebbtide.js"),
        &folder.join("bin/ebbtide.js"),
    )?;
    pack(bench, &folder, &manifest)
}

/// The package with the program.
fn platform(bench: &Bench) -> anyhow::Result<PathBuf> {
    let name = format!("ebbtide-{}", bench.platform.npm);
    let folder = bench.folder(&format!("npm/{name}"))?;
    let mut manifest = manifest(&bench.root.join("packaging/npm"))?;
    let (os, cpu) = bench.platform.npm.split_once('-').unwrap_or_default();
    for (key, value) in [
        ("name", json!(name)),
        ("version", json!(bench.version)),
        ("os", json!([os])),
        ("cpu", json!([cpu])),
        ("libc", json!(["glibc"])),
    ] {
        set(&mut manifest, key, value);
    }
    for key in ["bin", "optionalDependencies", "engines"] {
        manifest.as_object_mut().map(|it| it.shift_remove(key));
    }
    bench.put(&bench.program, &folder.join("bin/ebbtide"))?;
    pack(bench, &folder, &manifest)
}

fn manifest(source: &Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(source.join("package.json"))?;
    serde_json::from_str(&text).context("packaging/npm/package.json is no JSON")
}

fn set(manifest: &mut Value, key: &str, value: Value) {
    if let Some(manifest) = manifest.as_object_mut() {
        manifest.insert(key.to_owned(), value);
    }
}

/// Packs a folder, and returns the package.
fn pack(bench: &Bench, folder: &Path, manifest: &Value) -> anyhow::Result<PathBuf> {
    fs::write(
        folder.join("package.json"),
        format!("{}\n", serde_json::to_string_pretty(manifest)?),
    )?;
    for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md"] {
        bench.put(&bench.root.join(file), &folder.join(file))?;
    }
    let mut pack = program("npm pack --silent --pack-destination", folder);
    pack.arg(&bench.out);
    let name = command::output(pack)?;
    Ok(bench.out.join(name.trim()))
}
