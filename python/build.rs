//! Links the unwinder that the C library uses.

use std::path::PathBuf;
use std::process::Command;

/// Before Python 3.14, a daemon thread that asks for the interpreter's lock at its end is unwound by the C library with
/// the shared `libgcc_s`. Zig links an unwinder of its own into the module, and the two do not understand each other.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if !cfg!(target_env = "gnu") {
        return;
    }
    let found = Command::new("cc")
        .arg("-print-file-name=libgcc_s.so.1")
        .output();
    let found = found.ok().and_then(|it| String::from_utf8(it.stdout).ok());
    let library = found
        .map(|it| PathBuf::from(it.trim()))
        .filter(|it| it.is_absolute());
    match library {
        Some(library) => println!("cargo::rustc-link-arg-cdylib={}", library.display()),
        None => println!("cargo::warning=no libgcc_s.so.1: a daemon thread may crash at exit"),
    }
}
