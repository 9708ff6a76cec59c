//! Modules: where the text behind `use name` comes from.

/// The text of the module `mem`, which every program may use.
pub const MEM: &str = include_str!("modules/mem.plumb");

/// The source of modules. The caller defines the search path.
pub trait Modules {
    /// The text of a module, by its file name without the ending; `None` if there is none.
    ///
    /// `mem` is requested too, so that a caller can replace it. If the answer is `None`, the built-in one is
    /// used.
    fn load(&self, name: &str) -> Option<String>;

    /// The path of that text for readers. `None` if it has no file of its own; diagnostics then use the
    /// module's name.
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
