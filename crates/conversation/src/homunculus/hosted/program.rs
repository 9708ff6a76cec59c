//! Strategies as programs: checked and compiled once, shared by all conversations.

use std::fmt;
use std::sync::{Arc, OnceLock};

use plumb::check::{Checked, check};
use plumb::diagnostic::Diagnostic;
use plumb::graph::{External, ExternalKind, Graph, Kind};
use plumb::machine::{Fault, GraphError, Limits, Machine, Program, ProgramId};
use plumb::modules::{BuiltIn, Modules};
use plumb::picture::{self, Session};
use plumb::source::Sources;
use plumb::types::{Fit, Type, fits};

use super::reads::Reads;
use super::report::{Counts, Report, Thresholds};
use super::terms::Terms;
use super::{ANSWERS, REPORTS, StrategyFailure};

/// The strategies that are built in: the name and the text of each, the default first.
pub const SHIPPED: [(&str, &str); 8] = [
    (DEFAULT, include_str!("../../../strategies/prepared.plumb")),
    (
        "stop_the_world",
        include_str!("../../../strategies/stop_the_world.plumb"),
    ),
    (
        "truncate",
        include_str!("../../../strategies/truncate.plumb"),
    ),
    (
        "clear_tool_results",
        include_str!("../../../strategies/clear_tool_results.plumb"),
    ),
    (
        "keep_last_n",
        include_str!("../../../strategies/keep_last_n.plumb"),
    ),
    (
        "cold_cache",
        include_str!("../../../strategies/cold_cache.plumb"),
    ),
    ("thrifty", include_str!("../../../strategies/thrifty.plumb")),
    ("pinning", include_str!("../../../strategies/pinning.plumb")),
];

/// Strategies that are examples: known by name like the others, and compared only where they are asked for.
pub const EXAMPLES: [(&str, &str); 1] = [(
    "vulnerable",
    include_str!("../../../strategies/vulnerable.plumb"),
)];

/// All that are built in, the examples last.
fn built_in() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    SHIPPED.iter().chain(&EXAMPLES)
}

/// The name of the default.
const DEFAULT: &str = "prepared";

/// The shipped strategies, each compiled when it is first asked for: compiling one takes milliseconds.
static COMPILED: [OnceLock<Option<Arc<StrategyProgram>>>; SHIPPED.len() + EXAMPLES.len()] =
    [const { OnceLock::new() }; SHIPPED.len() + EXAMPLES.len()];

/// The shipped strategies as modules: `use prepared` names them, behind the caller's own.
struct Beside<'a>(&'a dyn Modules);

impl Modules for Beside<'_> {
    fn load(&self, name: &str) -> Option<String> {
        let shipped =
            || built_in().find_map(|(known, text)| (*known == name).then(|| (*text).to_owned()));
        self.0.load(name).or_else(shipped)
    }

    fn place(&self, name: &str) -> Option<String> {
        self.0.place(name)
    }
}

/// The ports that a strategy has, as a program.
const PORTS: &str = "
let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(ctrl_out, telemetry, ctrl_in) {
  ctrl_out ; discard
  telemetry ; discard
  empty ; ctrl_in
}
let compressor : !MemoryDump -> !SetMemory = map({ set_memory: memory })";

/// The compressor of the module `mem`, whose prompt and model the host replaces by its own.
const MODULES_COMPRESSOR: &str = "Mem.compressor";

/// The number of characters of an error that are told: a cycle can be as long as the program.
const MOST_TOLD: usize = 300;

/// Limits between two reports; the shipped strategies take some dozens of steps.
const LIMITS: Limits = Limits {
    fuel: 100_000,
    queue: 64,
    high_water: 64,
};

/// A strategy, checked and compiled. Its state is apart: [`Hosted`](super::Hosted).
pub struct StrategyProgram {
    name: Arc<str>,
    terms: Terms,
    reads: Reads,
    graph: Graph,
    sessions: Vec<Session>,
    /// Its text, and those of the modules it uses.
    sources: Sources,
    program: Arc<Program>,
}

/// Why a text is not a strategy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StrategyError {
    /// The program does not check.
    #[error("{name} has errors")]
    Unsound {
        /// The name.
        name: String,
        /// All that is wrong with it.
        diagnostics: Vec<Diagnostic>,
        /// Its text, and those of the modules it uses.
        sources: Sources,
    },
    /// The program has no process `main`, or one with other ports.
    #[error("{0} has no process `main : (!CtrlResp, !json) -> !CtrlCmd`")]
    NoMain(String),
    /// The program's process `terms` says something else, or nothing.
    #[error("the process `terms` of {0} does not declare its terms")]
    Terms(String),
    /// The program asks for something that a strategy cannot have.
    #[error(
        "{name} cannot use `{process}`: a strategy can use no agents or tools except `Mem.compressor`"
    )]
    Outside {
        /// The name.
        name: String,
        /// The process.
        process: String,
    },
    /// The program declares a compressor with settings of its own. The host makes the summaries and would
    /// ignore them.
    #[error(
        "{name} declares the compressor `{process}` with `{setting}`, which the host would ignore"
    )]
    OwnCompressor {
        /// The name.
        name: String,
        /// The compressor.
        process: String,
        /// The first of its settings that would be ignored.
        setting: String,
    },
    /// The program cannot be made ready to run.
    #[error("{name} cannot be run: {error}")]
    Graph {
        /// The name.
        name: String,
        /// Why.
        error: GraphError,
    },
}

impl StrategyProgram {
    /// Checks a text and compiles its process `main`. `name` is what it is called in diagnostics and
    /// reports. The shipped strategies are modules too, behind those of `modules`.
    ///
    /// # Errors
    /// Where it does not check, has not the ports of a strategy, or uses what a strategy cannot have.
    pub fn new(name: &str, text: &str, modules: &dyn Modules) -> Result<Arc<Self>, StrategyError> {
        Self::in_file(name, name, text, modules)
    }

    /// Like [`new`](Self::new); diagnostics name `place`, the file that holds the text.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn in_file(
        name: &str,
        place: &str,
        text: &str,
        modules: &dyn Modules,
    ) -> Result<Arc<Self>, StrategyError> {
        let checked = check(place, text, &Beside(modules));
        if !checked.is_sound() {
            return Err(StrategyError::Unsound {
                name: name.to_owned(),
                diagnostics: checked.diagnostics,
                sources: checked.sources,
            });
        }
        let graph = checked.graph("main").filter(|_| has_ports(&checked));
        let graph = graph.ok_or_else(|| StrategyError::NoMain(name.to_owned()))?;
        if let Some(process) = outside(&graph) {
            return Err(StrategyError::Outside {
                name: name.to_owned(),
                process,
            });
        }
        if let Some((process, setting)) = own_compressor(&graph) {
            return Err(StrategyError::OwnCompressor {
                name: name.to_owned(),
                process,
                setting,
            });
        }
        let program =
            Program::with_limits(&graph, LIMITS).map_err(|error| StrategyError::Graph {
                name: name.to_owned(),
                error,
            })?;
        let terms = Terms::of(&checked).ok_or_else(|| StrategyError::Terms(name.to_owned()))?;
        Ok(Arc::new(Self {
            name: name.into(),
            terms,
            reads: Reads::of(&graph),
            graph,
            sessions: checked.sessions().to_vec(),
            sources: checked.sources,
            program: Arc::new(program),
        }))
    }

    /// A strategy that is built in, by its name in [`SHIPPED`] or [`EXAMPLES`]; `keep_last_20` is another name of
    /// `keep_last_n`.
    #[must_use]
    pub fn shipped(name: &str) -> Option<Arc<Self>> {
        let name = match name {
            "keep_last_20" => "keep_last_n",
            name => name,
        };
        let mut all = built_in().zip(&COMPILED);
        let (&(name, text), compiled) = all.find(|((known, _), _)| *known == name)?;
        let program = compiled.get_or_init(|| Self::new(name, text, &BuiltIn).ok());
        program.clone()
    }

    /// All that are compared where none is named, the default first.
    pub fn all() -> impl Iterator<Item = Arc<Self>> {
        SHIPPED.iter().filter_map(|(name, _)| Self::shipped(name))
    }

    /// The default, `prepared`.
    #[must_use]
    pub fn default_one() -> Arc<Self> {
        #[expect(clippy::expect_used, reason = "the default checks: a test sees to it")]
        Self::shipped(DEFAULT).expect("the default is shipped")
    }

    /// The name.
    #[must_use]
    pub const fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// On what terms it runs.
    #[must_use]
    pub const fn terms(&self) -> Terms {
        self.terms
    }

    /// Returns true if it reads pulses: one of its expressions names the kind `pulse`, or a field
    /// that only such records have.
    #[must_use]
    pub const fn reads_pulses(&self) -> bool {
        self.reads.pulses
    }

    /// The matters that it reads.
    pub(super) const fn reads(&self) -> Reads {
        self.reads
    }

    /// A picture of its network in SVG, with one node for each session.
    #[must_use]
    pub fn picture(&self) -> String {
        picture::svg_of(&self.graph, &self.sessions)
    }

    /// The network, for pictures.
    #[must_use]
    pub const fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The program's identity: another text that does the same has the same one.
    #[must_use]
    pub fn id(&self) -> ProgramId {
        self.program.id()
    }

    /// The share of the window at which it begins to act, under this hard threshold and this setting of
    /// the operator. `None` where a full window alone does not move it.
    ///
    /// It is found out by asking: the smallest pressure at which a new conversation makes it give a command.
    #[must_use]
    pub fn acts_from(&self, hard: f64, soft: Option<f64>) -> Option<f64> {
        let acts = |pressure: f64| {
            let report = Report {
                kind: "usage",
                pressure,
                thresholds: Thresholds {
                    hard,
                    ahead: hard,
                    soft,
                },
                stage: "none",
                swap: "none",
                after: pressure,
                standby: false,
                cache: "warm",
                held: (0, 0),
                counts: Counts::default(),
            };
            let mut machine = Machine::new(self.program());
            let step = report
                .to_value()
                .map(|report| machine.push(REPORTS, report));
            step.is_some_and(|step| step.is_ok_and(|step| !step.outputs.is_empty()))
        };
        if !acts(1.0) {
            return None;
        }
        let (mut below, mut from) = (0.0, 1.0);
        // As often as a number of 53 bits can be halved.
        for _ in 0..60 {
            let middle = f64::midpoint(below, from);
            if acts(middle) {
                from = middle;
            } else {
                below = middle;
            }
        }
        Some(from)
    }

    /// Translates an error of the network and finds its place in the text.
    pub(super) fn failure(&self, fault: &Fault) -> StrategyFailure {
        let mut what = fault.to_string();
        if let Some((end, _)) = what.char_indices().nth(MOST_TOLD) {
            what.truncate(end);
            what.push('…');
        }
        StrategyFailure::Fault {
            kind: fault.kind,
            at: self.sources.locate(fault.span).map(Box::from),
            what: what.into(),
        }
    }

    pub(super) fn program(&self) -> Arc<Program> {
        Arc::clone(&self.program)
    }
}

impl PartialEq for StrategyProgram {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.id()) == (&other.name, other.id())
    }
}

impl fmt::Debug for StrategyProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.program.id();
        write!(f, "StrategyProgram({}, {:016x})", self.name, id.0)
    }
}

/// Returns true if `main` has the ports of a strategy.
fn has_ports(checked: &Checked) -> bool {
    let wanted = check("ports", PORTS, &BuiltIn);
    let (Some(wanted), Some(has)) = (wanted.signature("main"), checked.signature("main")) else {
        return false;
    };
    let fit = |from: &Type, to: &Type| fits(from, to) != Fit::Never;
    let places = [REPORTS, ANSWERS].map(|port| port as usize);
    let inputs = places.iter().all(|&port| {
        let (there, here) = (wanted.inputs.get(port), has.inputs.get(port));
        there
            .zip(here)
            .is_some_and(|(there, here)| fit(&there.kind, &here.kind))
    });
    let outputs = match (&wanted.outputs[..], &has.outputs[..]) {
        ([there], [here]) => fit(&here.kind, &there.kind),
        _ => false,
    };
    inputs && outputs && has.inputs.len() == places.len()
}

/// Names a compressor that the program declares itself, and its first setting that the host would ignore. The
/// host decides which model makes a summary and what it is told, so a prompt or a model of the program's own
/// has no effect. `provider: "sim"` names no model: the language's first listing uses it as a placeholder.
fn own_compressor(graph: &Graph) -> Option<(String, String)> {
    let declared = graph.externals.iter();
    let mut own = declared.filter(|external| *external.name != *MODULES_COMPRESSOR);
    own.find_map(|external| {
        let mut settings = external.settings.iter();
        let ignored = settings.find(|(key, value)| {
            let is_placeholder = &**key == "provider" && value.as_text() == Some("sim");
            !is_placeholder
        });
        let (key, _) = ignored?;
        Some((external.name.to_string(), key.to_string()))
    })
}

/// Names something that the program asks for and a strategy cannot have: tools, agents that are not
/// compressors, clocks.
fn outside(graph: &Graph) -> Option<String> {
    let wanted = check("ports", PORTS, &BuiltIn);
    let wanted = wanted.signature("compressor");
    let same = |one: &Type, other: &Type| {
        fits(one, other) == Fit::Always && fits(other, one) == Fit::Always
    };
    let is_compressor = |external: &&External| {
        let ports = match (&external.inputs[..], &external.outputs[..]) {
            ([input], [output]) => Some((input, output)),
            _ => None,
        };
        let wanted = wanted.as_ref().map(|it| (&it.inputs[..], &it.outputs[..]));
        external.kind == ExternalKind::Agent
            && matches!(
                (ports, wanted),
                (Some((from, to)), Some(([memory], [summary])))
                    if same(&from.kind, &memory.kind) && same(&to.kind, &summary.kind)
            )
    };
    let mut externals = graph.externals.iter();
    let other = externals.find(|external| !is_compressor(external));
    let timer = graph.nodes.iter().find(|node| node.kind == Kind::Timer);
    other
        .map(|external| external.name.to_string())
        .or_else(|| timer.map(|_| "within".to_owned()))
}
