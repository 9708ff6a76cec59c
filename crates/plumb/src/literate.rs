//! Literate tests: Markdown with programs and their expected behavior.
//!
//! ````text
//! ```plumb
//! let main : !int -> !int = map(value / 0)      a program; it must check without diagnostics …
//! ```
//! ```diagnostics
//! error[P0301]: …                               … or say exactly this
//! ```
//! ```run
//! > 7                                           inputs, and the results
//! ! P0806 {"error":"division_by_zero",…}
//! ```
//! ````
//!
//! | fence | contents |
//! |---|---|
//! | `plumb` | a program |
//! | `plumb module NAME` | a module for all programs of the page |
//! | `diagnostics` | the diagnostics of the program above; `diagnostics P0122`, with this code |
//! | `plumb canonical` | the program above as `plumb fmt` writes it |
//! | `plumb desugared` | the program above without its sessions |
//! | `dot` | its graph; `dot NAME` that of another process than `main` |
//! | `run` | a transcript; `run NAME` of another process than `main` |
//!
//! All other fences are prose. A `run` may have limits (`fuel=N`, `queue=N`, `high_water=N`), and with
//! `resumed` it goes on from the state in which the last one ended. [`play`] says how transcripts are
//! written.
//!
//! The page is compared with the actual results; [`Tested::text`] is the page with these results.

mod compare;
mod page;
pub mod play;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use crate::check::{Checked, check};
use crate::diagnostic::{Code, Colour, Diagnostic, codes, render};
use crate::modules::Modules;
use crate::picture;
use crate::syntax;

pub use compare::{Mismatch, Remedy};
use page::{Block, blocks};
use play::{Ended, play};

/// The name of a page's program in diagnostics.
const NAME: &str = "main.plumb";
/// The width of diagnostics, in columns.
const WIDTH: usize = 100;

/// The result of a page.
#[derive(Clone, Debug, Default)]
pub struct Tested {
    /// The page as it would have to be: its own text if nothing is wrong with it.
    pub text: String,
    /// The mismatches, in the order of the page.
    pub mismatches: Vec<Mismatch>,
    /// The number of programs.
    pub programs: usize,
    /// The number of fences that state what a program does.
    pub expectations: usize,
    /// The codes that it shows.
    pub codes: BTreeSet<Code>,
}

/// Tests a page. Modules that it does not have itself come from `modules`.
#[must_use]
pub fn test(text: &str, modules: &dyn Modules) -> Tested {
    let mut tester = Tester {
        modules,
        own: HashMap::new(),
        tested: Tested::default(),
        program: None,
        silent: true,
        line: 0,
        last: None,
    };
    let mut rest = 0;
    let (blocks, unclosed) = blocks(text);
    for block in blocks {
        let before = text.get(rest..block.start).unwrap_or_default();
        tester.tested.text.push_str(before);
        rest = block.start + block.body.len();
        // Programs and transcripts are the same on every system; the page keeps its own line ends.
        let body = block.body.replace("\r\n", "\n");
        let found = tester.block(&Block {
            body: &body,
            ..block
        });
        let tested = &mut tester.tested;
        let (line, info) = (block.line, block.info);
        match found {
            Some(Ok(found)) if found != body => {
                let mismatch = Mismatch::outdated(line, info, &body, &found);
                tested.mismatches.push(mismatch);
                tested.text.push_str(&match before.ends_with("\r\n") {
                    true => found.replace('\n', "\r\n"),
                    false => found,
                });
                continue;
            }
            Some(Err(why)) if why != body => {
                tested.mismatches.push(Mismatch::by_hand(line, info, &why));
            }
            _ => {}
        }
        tested.text.push_str(block.body);
    }
    tester.silent();
    if let Some(block) = unclosed {
        let why = "(the fence is not closed)\n";
        let mismatch = Mismatch::by_hand(block.line, block.info, why);
        tester.tested.mismatches.push(mismatch);
    }
    tester
        .tested
        .text
        .push_str(text.get(rest..).unwrap_or_default());
    tester.tested
}

struct Tester<'a> {
    modules: &'a dyn Modules,
    /// The modules of the page.
    own: HashMap<String, String>,
    tested: Tested,
    program: Option<Checked>,
    /// True if the page has expected no diagnostics of the program so far.
    silent: bool,
    /// The line of the program.
    line: usize,
    /// The state at the end of the last transcript.
    last: Option<Ended>,
}

impl Tester<'_> {
    /// Computes what the fence should contain; `None` if it can contain anything.
    ///
    /// # Errors
    /// Why that cannot be found out, as a page may say it.
    fn block(&mut self, block: &Block<'_>) -> Option<Result<String, String>> {
        let words: Vec<&str> = block.info.split_whitespace().collect();
        match words.as_slice() {
            ["plumb"] => {
                self.silent();
                self.tested.programs += 1;
                self.program = Some(self.checked(block.body));
                (self.silent, self.line) = (true, block.line);
                return None;
            }
            ["plumb", "module", name] => {
                self.own.insert((*name).to_owned(), block.body.to_owned());
                return None;
            }
            ["plumb", "canonical" | "desugared"] | ["diagnostics" | "dot" | "run", ..] => {}
            _ => return None,
        }
        self.tested.expectations += 1;
        let found = match (&self.program, words.split_first()) {
            (None, _) | (_, None) => Err("there is no program above".to_owned()),
            (Some(program), Some((&"diagnostics", wanted))) => {
                self.silent = false;
                let told = program.diagnostics.iter();
                let told = told.filter(|one| wanted.first().is_none_or(|code| one.code.0 == *code));
                let told: Vec<Diagnostic> = told.cloned().collect();
                self.tested.codes.extend(told.iter().map(|one| one.code));
                Ok(shown(&told, program))
            }
            (Some(program), Some((&"run", words))) => {
                let ended = play(program, words, block.body, self.last.take());
                ended.map(|ended| {
                    let shown = codes::all();
                    let shown = shown.iter().map(|entry| entry.code);
                    let shown = shown.filter(|code| ended.text.contains(&format!("! {code} ")));
                    self.tested.codes.extend(shown);
                    let text = ended.text.clone();
                    self.last = Some(ended);
                    text
                })
            }
            (Some(program), Some((&"dot", words))) => {
                let process = words.first().copied().unwrap_or("main");
                let graph = program.graph(process);
                let graph = graph.ok_or_else(|| format!("there is no process `{process}` to draw"));
                graph.map(|graph| picture::dot_of(&graph, program.sessions()))
            }
            (Some(program), _) if words.contains(&"canonical") => Ok(syntax::format(
                &program.program,
                &program
                    .sources
                    .iter()
                    .next()
                    .map_or_else(|| "".into(), |(_, source)| source.text.clone()),
            )),
            (Some(program), _) => Ok(syntax::format(program.desugared(), "")),
        };
        Some(found.map_err(|why| format!("({why})\n")))
    }

    /// Reports the diagnostics of a program that should have none.
    fn silent(&mut self) {
        if let Some(program) = &self.program
            && self.silent
            && !program.diagnostics.is_empty()
        {
            let told = shown(&program.diagnostics, program);
            let mismatch = Mismatch::by_hand(self.line, "plumb", &told);
            self.tested.mismatches.push(mismatch);
        }
    }

    fn checked(&self, text: &str) -> Checked {
        let module = |name: &str| -> Option<String> {
            let own = self.own.get(name).cloned();
            own.or_else(|| self.modules.load(name))
        };
        check(NAME, text, &module)
    }
}

/// Diagnostics of a program, as a page shows them.
fn shown(told: &[Diagnostic], program: &Checked) -> String {
    render(told, &program.sources, Colour::Plain, WIDTH)
}
