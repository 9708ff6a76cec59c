//! Notes for editors, taken while a program is checked.

use std::cell::RefCell;
use std::sync::Arc;

use crate::names::Definition;
use crate::span::Span;
use crate::types::Type;

use super::process::ProcessId;

/// The element at a position of the program.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub span: Span,
    /// The span of its definition.
    pub definition: Option<Span>,
    pub shows: Shows,
}

/// The content of a note.
#[derive(Clone, Debug)]
pub(crate) enum Shows {
    /// A process.
    Process(ProcessId),
    /// A channel or a port.
    Stream(Arc<str>, Type),
    /// A morphism from one type to another.
    Morphism(Type, Type),
    /// A part of an expression.
    Value(Type),
    /// A type by its name.
    Type(Definition),
}

/// Notes about the program itself; modules have none.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    list: RefCell<Vec<Note>>,
}

impl Notes {
    pub(super) fn push(&self, span: Span, definition: Option<Span>, shows: Shows) {
        if span.source.0 == 0 {
            self.list.borrow_mut().push(Note {
                span,
                definition,
                shows,
            });
        }
    }

    pub(super) fn stream(
        &self,
        span: Span,
        definition: Option<Span>,
        name: &Arc<str>,
        kind: &Type,
    ) {
        self.push(span, definition, Shows::Stream(name.clone(), kind.clone()));
    }

    /// All of them, in the order of the text.
    pub(super) fn into_list(self) -> Vec<Note> {
        let mut list = self.list.into_inner();
        list.sort_by_key(|note| (note.span.start, std::cmp::Reverse(note.span.end)));
        list
    }
}
