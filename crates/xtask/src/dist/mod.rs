//! `cargo xtask dist`: builds the packages of this platform, with checksums, into `target/packages`.
//!
//! Each package is installed into an empty folder, and the program that it brings is started from there.

mod archive;
mod bill;
mod debian;
mod npm;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::command::{self, program, say};

/// The platform: the names that Rust, npm and Debian have for it.
struct Platform {
    target: &'static str,
    npm: &'static str,
    debian: &'static str,
}

const PLATFORMS: [Platform; 2] = [
    Platform {
        target: "x86_64-unknown-linux-gnu",
        npm: "linux-x64",
        debian: "amd64",
    },
    Platform {
        target: "aarch64-unknown-linux-gnu",
        npm: "linux-arm64",
        debian: "arm64",
    },
];

/// The content of the packages, and the folders that they are made in.
struct Bench {
    root: PathBuf,
    /// Receives the packages.
    out: PathBuf,
    /// Holds files on their way into packages.
    work: PathBuf,
    /// The program that is packed.
    program: PathBuf,
    version: String,
    platform: &'static Platform,
}

/// Builds and checks the packages. `quick` optimizes nothing, and leaves out the wheel of the library.
pub fn run(root: &Path, quick: bool) -> anyhow::Result<()> {
    let mut bench = Bench::new(root)?;
    bench.program = wheel::build(&bench, quick)?;
    bench.extras()?;
    archive::build(&bench)?;
    npm::build(&bench)?;
    debian::build(&bench)?;
    bill::write(&bench)?;
    bench.lint()?;
    bench.sums()
}

impl Bench {
    fn new(root: &Path) -> anyhow::Result<Self> {
        let (out, work) = (
            root.join("target/packages"),
            root.join("target/packages-work"),
        );
        for folder in [&out, &work] {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
            fs::create_dir_all(folder)?;
        }
        let platform = PLATFORMS.iter().find(|it| {
            let (arch, os) = (std::env::consts::ARCH, std::env::consts::OS);
            it.target.starts_with(arch) && it.target.contains(os)
        });
        let Some(platform) = platform else {
            bail!("packages are built on Linux, for x86-64 and arm64");
        };
        let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
        let manifest: toml::Table = manifest.parse().context("Cargo.toml is no TOML")?;
        let version = manifest
            .get("workspace")
            .and_then(|it| it.get("package")?.get("version")?.as_str())
            .context("Cargo.toml has no version")?;
        Ok(Self {
            root: root.to_owned(),
            program: PathBuf::new(),
            version: version.to_owned(),
            out,
            work,
            platform,
        })
    }

    /// Has the program write its manual page and its completions.
    fn extras(&self) -> anyhow::Result<()> {
        let extras = [
            ("ebbtide.1", &["docs", "man"]),
            ("ebbtide.bash", &["completions", "bash"]),
            ("_ebbtide", &["completions", "zsh"]),
            ("ebbtide.fish", &["completions", "fish"]),
        ];
        for (file, arguments) in extras {
            let mut ebbtide = Command::new(&self.program);
            ebbtide.args(arguments);
            fs::write(self.work.join(file), command::output(ebbtide)?)?;
        }
        Ok(())
    }

    /// An empty folder for work.
    fn folder(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.work.join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Copies a file, and creates the folders above it.
    fn put(&self, from: &Path, to: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(to.parent().context("a file without a folder")?)?;
        fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
        Ok(())
    }

    /// Checks that an installed program starts, and is this version.
    fn starts(&self, mut program: Command, package: &Path) -> anyhow::Result<()> {
        let told = command::output({
            program.arg("--version");
            program
        })?;
        ensure!(
            told.trim() == format!("ebbtide {}", self.version),
            "the program of {} says {told:?}",
            package.display()
        );
        let size = fs::metadata(package)?.len() as f64 / 1e6;
        let name = package.file_name().unwrap_or_default().to_string_lossy();
        say(&format!("{name}: {size:.1} MB, starts"));
        Ok(())
    }

    /// Checks the unit and the Dockerfile with the tools that are at hand.
    fn lint(&self) -> anyhow::Result<()> {
        let unit = fs::read_to_string(self.root.join("packaging/ebbtide.service"))?;
        // The program is not installed, and its manual page neither.
        let here = self.program.display().to_string();
        let unit = unit.replace("/usr/bin/ebbtide", &here);
        let unit = unit.replace("man:ebbtide(1) ", "");
        let copy = self.work.join("ebbtide.service");
        fs::write(&copy, unit)?;
        let mut verify = program("systemd-analyze verify", &self.root);
        verify.arg(copy);
        let lints = [
            ("systemd-analyze --version", verify),
            (
                "hadolint --version",
                program("hadolint packaging/Dockerfile", &self.root),
            ),
        ];
        for (probe, lint) in lints {
            let tool = probe.split(' ').next().unwrap_or_default();
            if !command::answers(program(probe, &self.root)) {
                say(&format!("skipped: there is no {tool} here"));
                continue;
            }
            command::run(lint)?;
            say(&format!("{tool}: no complaint"));
        }
        Ok(())
    }

    /// Writes the checksums.
    fn sums(&self) -> anyhow::Result<()> {
        let mut names: Vec<String> = fs::read_dir(&self.out)?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        let mut sums = program("sha256sum", &self.out);
        sums.args(&names);
        fs::write(self.out.join("SHA256SUMS"), command::output(sums)?)?;
        say(&format!("{} files in target/packages", names.len() + 1));
        Ok(())
    }
}
