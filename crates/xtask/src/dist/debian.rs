//! The Debian package.

use std::fs;
use std::process::Command;

use super::Bench;
use crate::command::{self, program, say};

/// Each file's source, seen from the folder for work or from the checkout, and its place.
const FILES: [(&str, &str); 5] = [
    ("ebbtide.1", "usr/share/man/man1/ebbtide.1"),
    (
        "ebbtide.bash",
        "usr/share/bash-completion/completions/ebbtide",
    ),
    ("_ebbtide", "usr/share/zsh/vendor-completions/_ebbtide"),
    (
        "ebbtide.fish",
        "usr/share/fish/vendor_completions.d/ebbtide.fish",
    ),
    ("changelog", "usr/share/doc/ebbtide/changelog"),
];
const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ebbtide
Source: https://github.com/ebbtide/ebbtide

Files: *
Copyright: the Ebbtide contributors
License: MIT or Apache-2.0
";

pub(super) fn build(bench: &Bench) -> anyhow::Result<()> {
    if !command::answers(program("dpkg-deb --version", &bench.root)) {
        say("skipped: there is no dpkg-deb here");
        return Ok(());
    }
    let tree = bench.folder("debian")?;
    let program_file = tree.join("usr/bin/ebbtide");
    bench.put(&bench.program, &program_file)?;
    bench.put(
        &bench.root.join("CHANGELOG.md"),
        &bench.work.join("changelog"),
    )?;
    for (file, place) in FILES {
        bench.put(&bench.work.join(file), &tree.join(place))?;
    }
    for compressed in [FILES[0].1, FILES[4].1] {
        let mut gzip = program("gzip --best --no-name", &tree);
        gzip.arg(compressed);
        command::run(gzip)?;
    }
    let unit = bench.root.join("packaging/ebbtide.service");
    bench.put(&unit, &tree.join("usr/lib/systemd/system/ebbtide.service"))?;
    let mut copyright = COPYRIGHT.to_owned();
    for (name, file) in [("MIT", "LICENSE-MIT"), ("Apache-2.0", "LICENSE-APACHE")] {
        let text = fs::read_to_string(bench.root.join(file))?;
        copyright.push_str(&format!("\nLicense: {name}\n{}", indented(&text)));
    }
    fs::write(tree.join("usr/share/doc/ebbtide/copyright"), copyright)?;
    fs::create_dir_all(tree.join("DEBIAN"))?;
    let size = fs::metadata(&bench.program)?.len() / 1024;
    fs::write(tree.join("DEBIAN/control"), control(bench, size))?;
    let package = bench.out.join(format!(
        "ebbtide_{}_{}.deb",
        bench.version, bench.platform.debian
    ));
    let mut build = program("dpkg-deb --root-owner-group --build", &bench.work);
    build.arg(&tree).arg(&package);
    command::output(build)?;
    let there = bench.folder("from-debian")?;
    let mut extract = program("dpkg-deb --extract", &bench.work);
    extract.arg(&package).arg(&there);
    command::run(extract)?;
    bench.starts(Command::new(there.join("usr/bin/ebbtide")), &package)
}

fn control(bench: &Bench, size: u64) -> String {
    format!(
        "Package: ebbtide\n\
         Version: {}\n\
         Architecture: {}\n\
         Maintainer: The Ebbtide contributors <ebbtide@users.noreply.github.com>\n\
         Section: net\n\
         Priority: optional\n\
         Installed-Size: {size}\n\
         Depends: libc6 (>= 2.17), ca-certificates\n\
         Homepage: https://github.com/ebbtide/ebbtide\n\
         Description: gateway that manages the memory of LLM agents\n \
         Ebbtide stands between an agent and its provider. It prepares a summary before\n \
         the context window is full, swaps it in without a wait, keeps what people said\n \
         and pinned verbatim, and keeps every original.\n",
        bench.version, bench.platform.debian
    )
}

/// A text as a field's continuation lines.
fn indented(text: &str) -> String {
    let line = |line: &str| match line.trim() {
        "" => " .\n".to_owned(),
        _ => format!(" {}\n", line.trim_end()),
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::indented;

    #[test]
    fn empty_lines_of_a_field_are_dots() {
        assert_eq!(indented("a \n\n  b\n"), " a\n .\n   b\n");
    }
}
