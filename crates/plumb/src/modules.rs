//! Modules: where the text behind `use name` comes from.

/// The text of the module `mem`, which every program may use.
pub const MEM: &str = include_str!("modules/mem.plumb");

/// Where modules are looked for: the search path is the caller's.
pub trait Modules {
    /// The text of a module, by its file name without the ending; `None` where there is none.
    ///
    /// `mem` is asked for as well, so that a caller can put another in its place; the built-in one stands
    /// in where the answer is `None`.
    fn load(&self, name: &str) -> Option<String>;

    /// Where that text stands, as a reader would open it: a path. `None` where it stands in no file of its
    /// own; diagnostics then call the module by its name.
    fn place(&self, _name: &str) -> Option<String> {
        None
    }
}

/// No modules but the built-in one.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltIn;

impl Modules for BuiltIn {
    fn load(&self, _: &str) -> Option<String> {
        None
    }
}

impl<F: Fn(&str) -> Option<String>> Modules for F {
    fn load(&self, name: &str) -> Option<String> {
        self(name)
    }
}
