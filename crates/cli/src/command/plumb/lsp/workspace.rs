//! The documents that are open in the editor, each with the result of its last check.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumb::check::{Checked, check};
use plumb::modules::Modules;
use plumb::span::Span;
use plumb::syntax::ast::{DeclarationKind, Program};

use super::uri::{file, uri};
use crate::command::plumb::modules::{Folders, shipped};

/// The open documents.
pub struct Workspace {
    /// The folders searched for modules, after a program's own.
    folders: Vec<PathBuf>,
    /// Keyed by URI.
    open: BTreeMap<String, Arc<Open>>,
}

/// An open document.
pub struct Open {
    pub text: String,
    pub checked: Checked,
}

impl Workspace {
    pub const fn new(folders: Vec<PathBuf>) -> Self {
        Self {
            folders,
            open: BTreeMap::new(),
        }
    }

    pub fn get(&self, uri: &str) -> Option<&Open> {
        self.open.get(uri).map(|open| &**open)
    }

    /// The open documents, by their URIs.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Open)> {
        let open = self.open.iter();
        open.map(|(uri, open)| (uri.as_str(), &**open))
    }

    /// The open documents, and the programs on disk beside these documents.
    pub fn around(&self, uris: &[&str]) -> Vec<(String, Arc<Open>)> {
        let mut all = self.open.clone();
        let paths = uris.iter().filter_map(|uri| file(uri));
        for folder in paths.filter_map(|path| Some(path.parent()?.to_owned())) {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let programs = entries.map(|entry| entry.path());
            for path in programs.filter(|path| path.extension().is_some_and(|it| it == "plumb")) {
                let name = uri(&path);
                if all.contains_key(&name) {
                    continue;
                }
                if let Ok(text) = std::fs::read_to_string(&path) {
                    let checked = self.checked(&name, &text);
                    all.insert(name, Arc::new(Open { text, checked }));
                }
            }
        }
        all.into_iter().collect()
    }

    /// The workspace with other texts, all of them checked.
    pub fn with(&self, texts: &[(String, String)]) -> Self {
        let mut other = Self {
            folders: self.folders.clone(),
            open: self.open.clone(),
        };
        // A module may come before or after the programs that use it.
        for _ in 0..2 {
            for (uri, text) in texts {
                let checked = other.checked(uri, text);
                let open = Open {
                    text: text.clone(),
                    checked,
                };
                other.open.insert(uri.clone(), Arc::new(open));
            }
        }
        other
    }

    /// Opens or updates a document. Returns the URIs of all documents checked again.
    pub fn put(&mut self, uri: String, text: String) -> Vec<String> {
        let checked = self.checked(&uri, &text);
        self.open
            .insert(uri.clone(), Arc::new(Open { text, checked }));
        let mut changed = self.users(&uri);
        changed.insert(0, uri);
        changed
    }

    /// Closes a document. Returns its URI and those of the documents checked again.
    pub fn remove(&mut self, uri: &str) -> Vec<String> {
        self.open.remove(uri);
        let mut changed = self.users(uri);
        changed.insert(0, uri.to_owned());
        changed
    }

    /// Checks the documents that use a module again, and returns their URIs.
    fn users(&mut self, module: &str) -> Vec<String> {
        let path = file(module);
        let Some(name) = path.as_deref().and_then(Path::file_stem) else {
            return Vec::new();
        };
        let name = name.to_string_lossy();
        let uses = |open: &Open| {
            // Modules can be used indirectly, through other modules.
            let mut modules = open.checked.sources.iter().skip(1);
            modules.any(|(_, source)| *source.name == *name)
                || used(&open.checked.program, &name).is_some()
        };
        let of = self
            .open
            .iter()
            .filter(|(uri, open)| *uri != module && uses(open));
        let users: Vec<String> = of.map(|(uri, _)| uri.clone()).collect();
        for user in &users {
            let text = self.open.get(user).map(|open| open.text.clone());
            let checked = text.map(|text| self.checked(user, &text));
            if let (Some(checked), Some(open)) = (checked, self.open.get_mut(user)) {
                let text = open.text.clone();
                *open = Arc::new(Open { text, checked });
            }
        }
        users
    }

    fn checked(&self, name: &str, text: &str) -> Checked {
        let path = file(name);
        let shown = path.as_deref().and_then(Path::file_name);
        let shown = shown.map_or_else(|| name.to_owned(), |name| name.to_string_lossy().into());
        let modules = Found {
            workspace: self,
            folders: self.folders_of(name),
        };
        check(&shown, text, &modules)
    }

    fn folders_of(&self, name: &str) -> Folders {
        Folders::of(&file(name).unwrap_or_default(), &self.folders)
    }

    /// The URI of a module that a document uses; `None` if the module is no file.
    pub fn module(&self, user: &str, name: &str) -> Option<String> {
        let folders = self.folders_of(user);
        let mut places = folders.places(name);
        let found = |path: &PathBuf| self.open.contains_key(&uri(path)) || path.is_file();
        places.find(found).map(|path| uri(&path))
    }
}

/// The span of a module's name in its `use`.
pub fn used(program: &Program, module: &str) -> Option<Span> {
    let mut declarations = program.declarations.iter();
    declarations.find_map(|declaration| match &declaration.kind {
        DeclarationKind::Use(name) if *name.text == *module => Some(name.span),
        _ => None,
    })
}

/// Resolves modules for one document: open documents first, then files, then shipped strategies.
struct Found<'a> {
    workspace: &'a Workspace,
    folders: Folders,
}

impl Modules for Found<'_> {
    fn load(&self, name: &str) -> Option<String> {
        let mut places = self.folders.places(name);
        let found = places.find_map(|path| match self.workspace.get(&uri(&path)) {
            Some(open) => Some(open.text.clone()),
            None => std::fs::read_to_string(path).ok(),
        });
        found.or_else(|| shipped(name))
    }
}
