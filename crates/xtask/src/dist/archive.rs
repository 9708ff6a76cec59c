//! The archive for any Linux.

use std::process::Command;

use super::Bench;
use crate::command::{self, program};

pub(super) fn build(bench: &Bench) -> anyhow::Result<()> {
    let name = format!("ebbtide-{}-{}", bench.version, bench.platform.target);
    let folder = bench.folder(&name)?;
    bench.put(&bench.program, &folder.join("ebbtide"))?;
    for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md"] {
        bench.put(&bench.root.join(file), &folder.join(file))?;
    }
    for file in ["ebbtide.1", "ebbtide.bash", "_ebbtide", "ebbtide.fish"] {
        bench.put(&bench.work.join(file), &folder.join("share").join(file))?;
    }
    let unit = bench.root.join("packaging/ebbtide.service");
    bench.put(&unit, &folder.join("share/ebbtide.service"))?;
    let package = bench.out.join(format!("{name}.tar.gz"));
    let owned = "tar --create --gzip --owner=0 --group=0 --sort=name --file";
    let mut tar = program(owned, &bench.work);
    tar.arg(&package).arg(&name);
    command::run(tar)?;
    let there = bench.folder("from-archive")?;
    let mut tar = program("tar --extract --file", &there);
    tar.arg(&package);
    command::run(tar)?;
    bench.starts(Command::new(there.join(name).join("ebbtide")), &package)
}
