//! `cargo xtask python`: builds the wheel and runs its tests, its examples and its comparison.
//!
//! The wheel is built as it is published, for every Linux since 2014 (zig links it) and every Python since 3.10,
//! but with the profile of the tests. It is installed into two environments: one with the newest versions of the
//! frameworks, and one with the oldest supported versions of LangChain and LangGraph. Where this machine has the
//! oldest supported Python, it runs these versions, too. Every other supported Python runs the wheel alone.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::ci::timed;
use crate::clients::install;
use crate::command::{self, cargo, say};
use crate::{debian, licences};

/// The tests that the oldest supported versions run.
const OLDEST: [&str; 4] = [
    "tests/test_engine.py",
    "tests/test_middleware.py",
    "tests/test_savers.py",
    "tests/test_supervisor.py",
];

pub fn run(root: &Path) -> anyhow::Result<()> {
    debian::POSTGRES.provide(root);
    // The replays of the tests run it.
    command::ebbtide(root)?;
    let bench = Bench::new(root)?;
    let (wheel, took) = timed(|| bench.wheel());
    let wheel = wheel?;
    say(&format!("wheel built in {:.1} s", took.as_secs_f64()));
    licences::run(&bench.folder)?;
    let (tested, took) = timed(|| bench.test(&wheel));
    tested?;
    say(&format!("wheel tested in {:.1} s", took.as_secs_f64()));
    Ok(())
}

/// `cargo xtask python --write`: writes the generated page of the API, and the table of the comparison.
pub fn write(root: &Path) -> anyhow::Result<()> {
    let bench = Bench::new(root)?;
    let wheel = bench.wheel()?;
    install(&bench.newest, &wheel)?;
    bench.python(&["reference.py", "--write"])?;
    bench.python(&["compare.py", "--write"])
}

/// The supported versions of Python: 3.10 and so on.
const MINORS: RangeInclusive<u32> = 10..=14;

/// The interpreter with the newest versions of the frameworks, and maturin.
pub fn environment(root: &Path) -> anyhow::Result<PathBuf> {
    environment_of(root, ("newest", "newest"), None)
}

/// The interpreters with the oldest supported versions of the frameworks: the usual one, and Python 3.10 where this
/// machine has it.
fn oldest(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = vec![environment_of(root, ("oldest", "oldest"), None)?];
    match interpreter(*MINORS.start()) {
        Some(python) => found.push(environment_of(
            root,
            ("oldest", "oldest-3.10"),
            Some(&python),
        )?),
        None => say("skipped: no Python 3.10 here for the oldest versions of the frameworks"),
    }
    Ok(found)
}

fn environment_of(
    root: &Path,
    (name, folder): (&str, &str),
    python: Option<&Path>,
) -> anyhow::Result<PathBuf> {
    let list = root.join(format!("python/requirements/{name}.txt"));
    let folder = root.join("target/python").join(folder);
    install::environment(root, python, (&list, &folder))
        .with_context(|| format!("cannot install python/requirements/{name}.txt"))
}

/// Python 3.`minor`, from the path or from pyenv.
fn interpreter(minor: u32) -> Option<PathBuf> {
    let installed = command::variable("PYENV_ROOT").map(PathBuf::from);
    let home = || Some(PathBuf::from(command::variable("HOME")?).join(".pyenv"));
    let versions = installed.or_else(home).map(|it| it.join("versions"));
    let versions = versions.and_then(|folder| fs::read_dir(folder).ok());
    let folders = versions.into_iter().flatten().filter_map(Result::ok);
    let of_pyenv = folders
        .filter(|entry| {
            let name = entry.file_name();
            name.to_string_lossy().starts_with(&format!("3.{minor}."))
        })
        .map(|entry| entry.path().join("bin/python"));
    let in_path = PathBuf::from(format!("python3.{minor}"));
    std::iter::once(in_path).chain(of_pyenv).find(|python| {
        let mut probe = Command::new(python);
        // A build without the lock of the interpreter takes no abi3 wheel.
        let it = "import ensurepip, sysconfig, venv; assert not sysconfig.get_config_var('Py_GIL_DISABLED')";
        probe.args(["-c", it]);
        command::answers(probe)
    })
}

/// A build of the wheel in `folder` for every Linux since 2014, to which the profile and the place are to be added.
pub fn maturin(python: &Path, root: &Path, folder: &Path) -> Command {
    let mut maturin = Command::new(python);
    maturin.args(["-m", "maturin", "build", "--quiet", "--zig"]);
    maturin.args(["--compatibility", "manylinux2014"]);
    maturin.current_dir(folder);
    maturin.env("CARGO_TARGET_DIR", root.join("target"));
    // Zig is a package of the environment; maturin looks for it with the Python in the path.
    maturin.env("CARGO_ZIGBUILD_PYTHON_PATH", python);
    maturin
}

/// Builds the library's wheel into `out`.
pub fn library(python: &Path, root: &Path, (profile, out): (&str, &Path)) -> anyhow::Result<()> {
    let folder = root.join("python");
    // Pins the workspace's versions; cargo adds the packages that only this crate needs.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))
        .context("cannot copy Cargo.lock to python/")?;
    let mut maturin = maturin(python, root, &folder);
    maturin.args(["--profile", profile, "--out"]).arg(out);
    // The crate is compiled and linted at once.
    maturin.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    command::run(maturin)
}

/// The paths of a run.
struct Bench {
    root: PathBuf,
    /// The Python package.
    folder: PathBuf,
    /// The interpreter with the newest versions.
    newest: PathBuf,
    /// The interpreters with the oldest supported versions.
    oldest: Vec<PathBuf>,
}

impl Bench {
    /// Creates the environments, again whenever the requirements change.
    fn new(root: &Path) -> anyhow::Result<Self> {
        let folder = root.join("python");
        Ok(Self {
            newest: environment(root)?,
            oldest: oldest(root)?,
            root: root.to_owned(),
            folder,
        })
    }

    /// Checks the crate and builds the wheel.
    fn wheel(&self) -> anyhow::Result<PathBuf> {
        command::run(cargo("fmt --check", &self.folder))?;
        let wheels = self.root.join("target/python/wheels");
        if wheels.exists() {
            fs::remove_dir_all(&wheels).context("cannot empty target/python/wheels")?;
        }
        library(&self.newest, &self.root, ("dev", &wheels))?;
        let built = fs::read_dir(&wheels)?.filter_map(Result::ok);
        let mut built = built.map(|entry| entry.path());
        let wheel = built.next().context("maturin built no wheel")?;
        let name = wheel.to_string_lossy();
        ensure!(
            name.contains("-cp310-abi3-") && name.contains("manylinux2014"),
            "the wheel is not portable: {name}"
        );
        Ok(wheel)
    }

    fn test(&self, wheel: &Path) -> anyhow::Result<()> {
        install(&self.newest, wheel)?;
        self.python(&["-m", "mypy", "--strict", "-p", "ebbtide"])?;
        self.python(&["reference.py", "--check"])?;
        self.python(&["-m", "pytest", "--quiet"])?;
        self.python(&["compare.py", "--check"])?;
        self.python(&["contract"])?;
        for python in &self.oldest {
            install(python, wheel)?;
            let mut oldest = Command::new(python);
            oldest.args(["-m", "pytest", "--quiet"]).args(OLDEST);
            command::run(self.here(oldest))?;
        }
        self.everywhere(wheel)
    }

    /// Has every supported Python of this machine cross a window with the wheel alone.
    fn everywhere(&self, wheel: &Path) -> anyhow::Result<()> {
        let (mut ran, mut missing) = (Vec::new(), Vec::new());
        for minor in MINORS {
            let version = format!("3.{minor}");
            let Some(interpreter) = interpreter(minor) else {
                missing.push(version);
                continue;
            };
            let folder = self.root.join("target/python/everywhere").join(&version);
            let mut create = Command::new(interpreter);
            create.args(["-m", "venv", "--clear"]).arg(&folder);
            command::run(create)?;
            let python = folder.join("bin/python");
            install(&python, wheel)?;
            let mut crossing = Command::new(python);
            crossing.arg("crossing.py");
            command::run(self.here(crossing))?;
            ran.push(version);
        }
        say(&format!("the wheel alone: Python {}", ran.join(", ")));
        if !missing.is_empty() {
            say(&format!("skipped: no Python {} here", missing.join(", ")));
        }
        Ok(())
    }

    /// Runs the newest interpreter in the package's folder.
    fn python(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let mut python = Command::new(&self.newest);
        python.args(arguments);
        command::run(self.here(python))
    }

    fn here(&self, mut command: Command) -> Command {
        command.current_dir(&self.folder);
        command.env("EBBTIDE_PROGRAM", self.root.join("target/debug/ebbtide"));
        // The wheel is tested, not the folder beside it.
        command.env("PYTHONSAFEPATH", "1");
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

/// Installs the wheel into an environment, in the place of an earlier one.
fn install(python: &Path, wheel: &Path) -> anyhow::Result<()> {
    let mut pip = Command::new(python);
    let form = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ];
    pip.args(form)
        .args(["--no-deps", "--force-reinstall"])
        .arg(wheel);
    command::run(pip)
}
