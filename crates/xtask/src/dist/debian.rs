//! The Debian package.

use std::fs;
use std::process::Command;

use super::Bench;
use crate::command::{self, program, say};

/// The files from the folder for work, and their places.
const FILES: [(&str, &str); 6] = [
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
    ("NEWS", "usr/share/doc/ebbtide/NEWS"),
];
/// Those that Debian wants compressed.
const COMPRESSED: [&str; 3] = [
    "usr/share/man/man1/ebbtide.1",
    "usr/share/doc/ebbtide/changelog",
    "usr/share/doc/ebbtide/NEWS",
];
const MAINTAINER: &str = "The Ebbtide contributors <ebbtide@users.noreply.github.com>";
const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ebbtide
Source: https://github.com/ebbtide/ebbtide

Files: *
Copyright: the Ebbtide contributors
License: MIT or Apache-2.0

License: Apache-2.0
 The full text is in /usr/share/common-licenses/Apache-2.0.

License: MIT
";

pub(super) fn build(bench: &Bench) -> anyhow::Result<()> {
    if !command::answers(program("dpkg-deb --version", &bench.root)) {
        say("skipped: there is no dpkg-deb here");
        return Ok(());
    }
    let tree = bench.folder("debian")?;
    let program_file = tree.join("usr/bin/ebbtide");
    bench.put(&bench.program, &program_file)?;
    bench.put(&bench.root.join("CHANGELOG.md"), &bench.work.join("NEWS"))?;
    fs::write(bench.work.join("changelog"), changelog(bench)?)?;
    for (file, place) in FILES {
        bench.put(&bench.work.join(file), &tree.join(place))?;
    }
    for compressed in COMPRESSED {
        let mut gzip = program("gzip --best --no-name", &tree);
        gzip.arg(compressed);
        command::run(gzip)?;
    }
    let unit = bench.root.join("packaging/ebbtide.service");
    bench.put(&unit, &tree.join("usr/lib/systemd/system/ebbtide.service"))?;
    let mit = fs::read_to_string(bench.root.join("LICENSE-MIT"))?;
    fs::write(
        tree.join("usr/share/doc/ebbtide/copyright"),
        format!("{COPYRIGHT}{}", indented(&mit)),
    )?;
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

/// A changelog in Debian's form, with the time of the newest commit. The project's own stands in NEWS.
fn changelog(bench: &Bench) -> anyhow::Result<String> {
    let at = command::output(program("git log -1 --format=%aD", &bench.root))?;
    let version = &bench.version;
    Ok(format!(
        "ebbtide ({version}) unstable; urgency=medium\n\n  * See NEWS.gz.\n\n -- {MAINTAINER}  {}\n",
        at.trim()
    ))
}

fn control(bench: &Bench, size: u64) -> String {
    format!(
        "Package: ebbtide\n\
         Version: {}\n\
         Architecture: {}\n\
         Maintainer: {MAINTAINER}\n\
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
