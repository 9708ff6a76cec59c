//! From names as they are written to the items that they stand for.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A path by its segments.
pub type Path = Vec<String>;

/// The longest chain of imports that is followed. It ends what would go round in circles.
const CHAIN: usize = 8;

/// The names that the files of the workspace declare, import and use.
#[derive(Debug, Default)]
pub struct Names {
    modules: HashSet<Path>,
    /// Everything that is declared outside an `impl`, from its crate on.
    declared: HashSet<Path>,
    /// The public items of the core crates that stand outside an `impl`, each with its file.
    items: BTreeMap<Path, String>,
    /// Those in an `impl`: the module, the type as it is written there, the name, the file.
    methods: BTreeSet<(Path, Path, String, String)>,
    /// The names that modules import, each with its targets as they are written.
    aliases: HashMap<Path, HashSet<Path>>,
    /// The modules that a module imports whole.
    globs: HashMap<Path, HashSet<Path>>,
    /// The paths that code names, each with its module.
    named: HashSet<(Path, Path)>,
    /// The names of called methods whose type is not told.
    called: HashSet<String>,
}

impl Names {
    /// Adds a module and those around it.
    pub fn add_module(&mut self, module: &[String]) {
        let around = (1..=module.len()).filter_map(|end| module.get(..end));
        self.modules.extend(around.map(<[String]>::to_vec));
    }

    /// Adds an item. It has a `file` if it needs a caller.
    pub fn declare(
        &mut self,
        module: &[String],
        owner: Option<&Path>,
        name: &str,
        file: Option<&str>,
    ) {
        match (owner, file) {
            (Some(owner), Some(file)) => {
                let (name, file) = (name.to_owned(), file.to_owned());
                self.methods
                    .insert((module.to_vec(), owner.clone(), name, file));
            }
            (Some(_), None) => {}
            (None, file) => {
                let path = joined(module, name);
                if let Some(file) = file {
                    self.items.insert(path.clone(), file.to_owned());
                }
                self.declared.insert(path);
            }
        }
    }

    /// Adds another name of a path.
    pub fn alias(&mut self, module: &[String], name: &str, target: Path) {
        let targets = self.aliases.entry(joined(module, name)).or_default();
        targets.insert(target);
    }

    /// Adds what a `use` imports behind `prefix`.
    pub fn import(&mut self, module: &[String], tree: &syn::UseTree, prefix: &[String]) {
        let target = |name: &syn::Ident| match name.to_string().as_str() {
            "self" => prefix.to_vec(),
            name => joined(prefix, name),
        };
        match tree {
            syn::UseTree::Path(path) => {
                let prefix = joined(prefix, &path.ident.to_string());
                self.import(module, &path.tree, &prefix);
            }
            syn::UseTree::Name(name) => {
                let target = target(&name.ident);
                if let Some(name) = target.last().cloned() {
                    self.alias(module, &name, target);
                }
            }
            syn::UseTree::Rename(renamed) => {
                let target = target(&renamed.ident);
                self.alias(module, &renamed.rename.to_string(), target);
            }
            syn::UseTree::Glob(_) => {
                let globs = self.globs.entry(module.to_vec()).or_default();
                globs.insert(prefix.to_vec());
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(module, tree, prefix);
                }
            }
        }
    }

    /// Adds a path that code names.
    pub fn name(&mut self, module: &[String], path: Path) {
        self.named.insert((module.to_vec(), path));
    }

    /// Adds a call of a method.
    pub fn call(&mut self, name: String) {
        self.called.insert(name);
    }

    /// The items that need a caller and have none: the file and the name.
    pub fn unused(&self) -> BTreeSet<String> {
        let mut used: HashSet<Path> = HashSet::new();
        for (module, path) in &self.named {
            for found in self.absolute(module, path, CHAIN) {
                used.extend((1..=found.len()).filter_map(|end| Some(found.get(..end)?.to_vec())));
            }
        }
        let items = self.items.iter().filter(|(path, _)| !used.contains(*path));
        let items = items.map(|(path, file)| (file, path.last().cloned().unwrap_or_default()));
        let methods = self.methods.iter().filter(|(module, owner, name, _)| {
            let owners = self.absolute(module, owner, CHAIN);
            let is_used = |owner: &Path| used.contains(&joined(owner, name));
            !self.called.contains(name) && !owners.iter().any(is_used)
        });
        let methods =
            methods.map(|(_, owner, name, file)| (file, format!("{}::{name}", owner.join("::"))));
        let all = items.chain(methods);
        all.map(|(file, name)| format!("{file} {name}")).collect()
    }

    /// The paths from a crate on that a path in `module` can stand for.
    fn absolute(&self, module: &[String], path: &[String], chain: usize) -> Vec<Path> {
        let Some((first, rest)) = path.split_first() else {
            return Vec::new();
        };
        let mut found = match first.as_str() {
            "crate" => vec![module.iter().take(1).cloned().collect()],
            "self" => vec![module.to_vec()],
            "super" => vec![above(module)],
            name => self.child(module, name, chain),
        };
        if found.is_empty() {
            found = self.own(&[], first);
        }
        self.inside(found, rest, chain)
    }

    /// The paths that segments behind these can stand for.
    fn inside(&self, mut found: Vec<Path>, rest: &[String], chain: usize) -> Vec<Path> {
        for segment in rest {
            let inner = found.into_iter().flat_map(|parent| {
                if segment == "super" {
                    return vec![above(&parent)];
                }
                let inner = self.child(&parent, segment, chain);
                if inner.is_empty() {
                    return vec![joined(&parent, segment)];
                }
                inner
            });
            found = inner.collect();
        }
        found
    }

    /// The item that a name stands for in a module.
    fn child(&self, parent: &[String], name: &str, chain: usize) -> Vec<Path> {
        let Some(chain) = chain.checked_sub(1) else {
            return Vec::new();
        };
        let path = joined(parent, name);
        let mut found = Vec::new();
        for target in self.aliases.get(&path).into_iter().flatten() {
            found.extend(match target.split_first() {
                // `pub use nearest::nearest` starts at the module or the crate, not at itself.
                Some((first, rest)) if first == name => {
                    let mut start = self.own(parent, name);
                    start.extend(self.own(&[], name));
                    self.inside(start, rest, chain)
                }
                _ => self.absolute(parent, target, chain),
            });
        }
        found.extend(self.own(parent, name));
        if found.is_empty() {
            let globs = self.globs.get(parent).into_iter().flatten();
            let globs = globs.flat_map(|target| self.absolute(parent, target, chain));
            found.extend(globs.flat_map(|module| self.child(&module, name, chain)));
        }
        found
    }

    /// The item or module that is declared under this name.
    fn own(&self, parent: &[String], name: &str) -> Vec<Path> {
        let path = joined(parent, name);
        let is_own = self.declared.contains(&path) || self.modules.contains(&path);
        is_own.then_some(path).into_iter().collect()
    }
}

fn joined(parent: &[String], name: &str) -> Path {
    let mut path = parent.to_vec();
    path.push(name.to_owned());
    path
}

fn above(module: &[String]) -> Path {
    let mut module = module.to_vec();
    module.pop();
    module
}
