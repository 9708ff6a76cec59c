//! The names that a file declares, imports and uses.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::names::{Names, Path};

/// Where a group of tokens stands.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The module, from its crate on.
    pub module: Path,
    /// The type of the `impl` around it, as it is written there.
    owner: Option<Path>,
    /// Public items need a caller here.
    core: bool,
    /// Items may stand here: the group has braces, or is the file.
    items: bool,
}

impl Scope {
    /// The whole of a file.
    pub fn of_file(path: &str, core: bool) -> Self {
        let stem = path.strip_suffix(".rs").unwrap_or(path);
        let mut parts = stem.split('/').skip(1);
        let package = parts.next().unwrap_or_default().replace('-', "_");
        let modules = parts
            .skip(1)
            .filter(|part| !matches!(*part, "mod" | "lib" | "main"));
        Self {
            module: std::iter::once(package)
                .chain(modules.map(str::to_owned))
                .collect(),
            owner: None,
            core,
            items: true,
        }
    }
}

/// Reads a file's tokens.
pub struct Reader<'a> {
    names: &'a mut Names,
    file: &'a str,
}

impl<'a> Reader<'a> {
    /// A reader of this file.
    pub const fn new(names: &'a mut Names, file: &'a str) -> Self {
        Self { names, file }
    }

    /// Reads the tokens of a file or a group.
    pub fn read(&mut self, tokens: TokenStream, place: &Scope) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        let mut public = false;
        while let Some(token) = tokens.get(at) {
            let rest = tokens.get(at + 1..).unwrap_or_default();
            let before = tokens.get(..at).unwrap_or_default();
            at += 1;
            match token {
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    at += attribute(rest);
                    continue;
                }
                TokenTree::Punct(mark) if mark.as_char() == '\'' => {
                    at += usize::from(ident(rest.first()).is_some());
                }
                TokenTree::Ident(word) => match word.to_string().as_str() {
                    "pub" => {
                        // `pub(crate)` is no public item.
                        let scoped = matches!(rest.first(), Some(TokenTree::Group(_)));
                        at += usize::from(scoped);
                        public = !scoped;
                        continue;
                    }
                    "async" | "unsafe" => continue,
                    "const" if ident(rest.first()).is_some_and(|next| next == "fn") => continue,
                    "use" => {
                        at += self.import(rest, place);
                    }
                    "impl" if place.items && starts_item(before.last()) => {
                        at += self.implementation(rest, place);
                    }
                    "mod" => at += self.module(rest, place),
                    kind @ ("fn" | "struct" | "enum" | "trait" | "const" | "static" | "type") => {
                        at += self.declaration((kind, public), rest, place);
                    }
                    word => at += self.path(word, (before, rest), place),
                },
                TokenTree::Group(group) => self.group(group, place),
                TokenTree::Literal(text) => self.captured(&text.to_string(), place),
                TokenTree::Punct(_) => {}
            }
            public = false;
        }
    }

    fn group(&mut self, group: &Group, place: &Scope) {
        let mut inner = place.clone();
        inner.items = group.delimiter() == Delimiter::Brace;
        self.read(group.stream(), &inner);
    }

    /// Reads the tokens behind `use`. Returns their number.
    fn import(&mut self, rest: &[TokenTree], place: &Scope) -> usize {
        let length = until(rest, |token| is_mark(Some(token), ';'));
        // `use ::tokens::Model` starts at a crate, as `use tokens::Model` does where no module has that name.
        let colons = rest.iter().take_while(|token| is_mark(Some(token), ':'));
        let tree = rest.iter().take(length).skip(colons.count());
        if let Ok(tree) = syn::parse2::<syn::UseTree>(tree.cloned().collect()) {
            self.names.import(&place.module, &tree, &[]);
        }
        length + 1
    }

    /// Reads the tokens behind `impl`. Returns their number.
    fn implementation(&mut self, rest: &[TokenTree], place: &Scope) -> usize {
        let length = until(rest, is_braces);
        let head: TokenStream = rest.iter().take(length).cloned().collect();
        let whole = quote_impl(head.clone());
        let owner = syn::parse2::<syn::ItemImpl>(whole).ok().and_then(owner);
        let mut inner = place.clone();
        inner.items = false;
        inner.owner.clone_from(&owner);
        self.read(head, &inner);
        inner.items = true;
        if let Some(TokenTree::Group(body)) = rest.get(length) {
            self.read(body.stream(), &inner);
        }
        length + 1
    }

    /// Reads the tokens behind `mod`. Returns their number.
    fn module(&mut self, rest: &[TokenTree], place: &Scope) -> usize {
        let (Some(name), Some(TokenTree::Group(body))) = (ident(rest.first()), rest.get(1)) else {
            return 1;
        };
        let mut inner = place.clone();
        inner.module.push(name);
        self.names.add_module(&inner.module);
        self.read(body.stream(), &inner);
        2
    }

    /// Reads the name behind `fn`, `struct` and the like. Returns the number of tokens read.
    fn declaration(
        &mut self,
        (kind, public): (&str, bool),
        rest: &[TokenTree],
        place: &Scope,
    ) -> usize {
        let Some(name) = ident(rest.first()) else {
            return 0;
        };
        let file = (public && place.core).then_some(self.file);
        if kind == "type" && place.owner.is_none() {
            let target = until(rest, |token| is_mark(Some(token), '='));
            if let Some(target) = rest.get(target + 1..).and_then(leading_path) {
                self.names.alias(&place.module, &name, target);
            }
        }
        self.names
            .declare(&place.module, place.owner.as_ref(), &name, file);
        1
    }

    /// Reads a path that starts with this word. Returns the number of tokens behind the word.
    fn path(
        &mut self,
        word: &str,
        (before, rest): (&[TokenTree], &[TokenTree]),
        place: &Scope,
    ) -> usize {
        let (mut path, length) = continued(word, rest);
        let called = matches!(rest.first(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis)
            || is_mark(rest.first(), ':');
        let dot = is_mark(before.last(), '.') && !is_mark(before.iter().rev().nth(1), '.');
        let colons = is_mark(before.last(), ':') && is_mark(before.iter().rev().nth(1), ':');
        // `<T>::name` and `Vec::<T>::name`: of an unknown type, as behind a dot.
        let behind = colons && is_mark(before.iter().rev().nth(2), '>');
        if colons && !behind {
            // `::tokens::Model` starts at a crate.
            self.names.name(&[], path);
            return length;
        }
        if dot || behind {
            if called || behind {
                self.names.call(path.pop().unwrap_or_default());
            }
            return length;
        }
        if let (Some("Self"), Some(owner)) = (path.first().map(String::as_str), &place.owner) {
            path.splice(..1, owner.iter().cloned());
            if length == 0 {
                return 0;
            }
        }
        // The head of an `impl` is no use of its type.
        if place.items || place.owner.as_ref() != Some(&path) {
            self.names.name(&place.module, path);
        }
        length
    }

    /// The names that a format string captures.
    fn captured(&mut self, text: &str, place: &Scope) {
        for part in text.split('{').skip(1) {
            let name: String = part
                .chars()
                .take_while(|character| character.is_alphanumeric() || *character == '_')
                .collect();
            if !name.is_empty() {
                self.names.name(&place.module, vec![name]);
            }
        }
    }
}

/// The number of tokens behind `#` that belong to an attribute, and to an item of tests under it.
fn attribute(rest: &[TokenTree]) -> usize {
    match rest.first() {
        Some(attribute @ TokenTree::Group(_)) if is_test(attribute) => {
            until(rest, |token| is_braces(token) || is_mark(Some(token), ';')) + 1
        }
        Some(TokenTree::Group(_)) => 1,
        _ => 0,
    }
}

/// Returns true if an attribute is `[cfg(test)]` or `[cfg(all(test, …))]`.
fn is_test(attribute: &TokenTree) -> bool {
    let text: String = attribute.to_string().split_whitespace().collect();
    text.starts_with("[cfg(test)") || text.starts_with("[cfg(all(test,")
}

/// Returns true if an item may follow this token.
fn starts_item(before: Option<&TokenTree>) -> bool {
    match before {
        Some(TokenTree::Group(group)) => group.delimiter() != Delimiter::Parenthesis,
        Some(TokenTree::Ident(word)) => word == "unsafe",
        before => before.is_none() || is_mark(before, ';'),
    }
}

fn quote_impl(head: TokenStream) -> TokenStream {
    let word = proc_macro2::Ident::new("impl", proc_macro2::Span::call_site());
    let body = Group::new(Delimiter::Brace, TokenStream::new());
    std::iter::once(TokenTree::Ident(word))
        .chain(head)
        .chain(std::iter::once(TokenTree::Group(body)))
        .collect()
}

/// The type that an `impl` is of.
fn owner(item: syn::ItemImpl) -> Option<Path> {
    match *item.self_ty {
        syn::Type::Path(written) => {
            let segments = written.path.segments.into_iter();
            Some(segments.map(|segment| segment.ident.to_string()).collect())
        }
        _ => None,
    }
}

/// The path that tokens start with.
fn leading_path(tokens: &[TokenTree]) -> Option<Path> {
    let first = ident(tokens.first())?;
    Some(continued(&first, tokens.get(1..).unwrap_or_default()).0)
}

/// A path that goes on in `rest`, and the number of tokens it takes there.
fn continued(first: &str, rest: &[TokenTree]) -> (Path, usize) {
    let mut path = vec![first.to_owned()];
    let segments = rest.chunks_exact(3).map_while(|chunk| match chunk {
        [one, two, name] if is_mark(Some(one), ':') && is_mark(Some(two), ':') => ident(Some(name)),
        _ => None,
    });
    path.extend(segments);
    let length = (path.len() - 1) * 3;
    (path, length)
}

fn until(tokens: &[TokenTree], end: impl Fn(&TokenTree) -> bool) -> usize {
    tokens.iter().position(end).unwrap_or(tokens.len())
}

fn is_braces(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

fn is_mark(token: Option<&TokenTree>, expected: char) -> bool {
    matches!(token, Some(TokenTree::Punct(mark)) if mark.as_char() == expected)
}

fn ident(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(name)) => Some(name.to_string()),
        _ => None,
    }
}
