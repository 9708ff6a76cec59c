//! The settings of agents and tools.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::nearest::nearest;
use crate::syntax::ast::{Body, Expr, ExprKind, Let, Name, Path, Setting, Unary};
use crate::types::{Fit, Type, fits, without_failed};
use crate::value::Value;

use super::codes;
use super::process::{Process, Role};

/// The providers of agents.
pub(super) const PROVIDERS: &[&str] = &["anthropic", "openai", "sim", "eliza", "script"];

/// The agent for which the host chooses a provider.
const COMPRESSOR: &str = "Mem.compressor";

/// The kind of value that a setting takes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wanted {
    Provider,
    Text,
    Texts,
    /// A whole number, at least this.
    Whole(i64),
    /// A number from 0 to this.
    UpTo(f64),
    /// A time in seconds.
    Seconds,
    Bool,
    /// Names of tools, or of processes that can be one.
    Tools,
    /// The name of a process.
    Process,
    /// Programs that serve tools: a command, or `{ command: …, args: […] }`; several in a list.
    Servers,
}

const OF_AGENTS: &[(&str, Wanted)] = &[
    ("provider", Wanted::Provider),
    ("model", Wanted::Text),
    ("prompt", Wanted::Text),
    ("prompts", Wanted::Texts),
    ("endpoint", Wanted::Text),
    ("max_tokens", Wanted::Whole(1)),
    ("max_retries", Wanted::Whole(0)),
    ("max_messages", Wanted::Whole(1)),
    ("max_tool_calls", Wanted::Whole(0)),
    ("thinking_budget", Wanted::Whole(0)),
    ("temperature", Wanted::UpTo(2.0)),
    ("runtime_context", Wanted::Bool),
    ("amnesiac", Wanted::Bool),
    ("tools", Wanted::Tools),
    ("mcp", Wanted::Servers),
    ("timeout", Wanted::Seconds),
    ("max_restarts", Wanted::Whole(0)),
    ("max_failures", Wanted::Whole(1)),
];

/// The longest time that a setting can give, in seconds: a day.
const LONGEST: f64 = 86_400.0;

const OF_TOOLS: &[(&str, Wanted)] = &[
    ("process", Wanted::Process),
    ("description", Wanted::Text),
    ("mcp", Wanted::Servers),
    ("name", Wanted::Text),
    ("timer", Wanted::Bool),
    ("timeout", Wanted::Seconds),
    ("max_restarts", Wanted::Whole(0)),
    ("max_failures", Wanted::Whole(1)),
];

/// The settings that an agent or a tool may have, each with its kind of value.
pub(super) fn described_of(role: Role) -> impl Iterator<Item = (&'static str, String)> {
    let known = match role {
        Role::Agent => OF_AGENTS,
        _ => OF_TOOLS,
    };
    known
        .iter()
        .map(|(name, wanted)| (*name, described(*wanted)))
}

/// Finds a process by its name, from where the settings stand.
pub(crate) type Lookup<'a> = &'a dyn Fn(&Path) -> Result<&'a Process, Diagnostic>;

/// The settings of an agent or a tool as values.
pub(crate) fn settings(
    declared: &Let,
    process: &Process,
    list: &[Setting],
    lookup: Lookup<'_>,
    out: &mut Vec<Diagnostic>,
) -> Vec<(Arc<str>, Value)> {
    let (known, what) = match declared.body {
        Body::Agent(..) => (OF_AGENTS, "an agent"),
        _ => (OF_TOOLS, "a tool"),
    };
    let before = out.len();
    let mut seen: HashMap<&str, &Name> = HashMap::new();
    let mut values = Vec::with_capacity(list.len());
    for setting in list {
        let key = &setting.key;
        if let Some(first) = seen.insert(&key.text, key) {
            let twice = codes::setting_twice(key.span, &key.text);
            out.push(twice.label(first.span, "here first"));
            continue;
        }
        let Some((_, wanted)) = known.iter().find(|(name, _)| *name == &*key.text) else {
            out.push(unknown(key, known, what));
            continue;
        };
        match value(&setting.value, *wanted, lookup) {
            Ok(Some(value)) => values.push((key.text.clone(), value)),
            Ok(None) => {}
            Err(diagnostic) => out.push(diagnostic.unwrap_or_else(|| {
                codes::setting_value(setting.value.span, &key.text, &described(*wanted))
            })),
        }
    }
    let whole_list = out.len() == before;
    whole(declared, process, list, &values, out);
    // One that was misspelt has been reported.
    let given = list.iter().any(|setting| &*setting.key.text == "provider");
    if whole_list && process.role == Role::Agent && !given && &*process.name != COMPRESSOR {
        let (name, all) = (&declared.name, PROVIDERS.join(", "));
        out.push(codes::agent_without_provider(name.span, &name.text, &all));
    }
    values
}

/// Checks combinations of settings.
fn whole(
    declared: &Let,
    process: &Process,
    list: &[Setting],
    values: &[(Arc<str>, Value)],
    out: &mut Vec<Diagnostic>,
) {
    let get = |name: &str| values.iter().find(|(key, _)| &**key == name);
    let given = |setting: &Setting| matches!(&*setting.key.text, "process" | "mcp");
    if process.role == Role::Tool && !list.iter().any(given) {
        let name = &declared.name;
        out.push(codes::tool_without_process(name.span, &name.text));
    }
    if process.role != Role::Agent {
        return;
    }
    let Some(answer) = process.outputs.first() else {
        return;
    };
    let provider = get("provider").and_then(|(_, value)| value.as_text());
    let rest = without_failed(&answer.kind);
    let kind = rest.as_ref().unwrap_or(&answer.kind);
    if provider == Some("eliza") && fits(&Type::Text, kind) == Fit::Never {
        out.push(codes::answer_of_eliza(answer.span));
    } else if matches!(kind, Type::Unit) {
        out.push(codes::answer_without_content(answer.span));
    }
}

fn unknown(key: &Name, known: &[(&str, Wanted)], what: &str) -> Diagnostic {
    let all: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let near = nearest(&key.text, all.iter().copied());
    codes::unknown_setting(key.span, &what, &key.text)
        .hint(format!("There are {}.", all.join(", ")))
        .meant(near)
}

fn described(wanted: Wanted) -> String {
    match wanted {
        Wanted::Provider | Wanted::Text => "a string".to_owned(),
        Wanted::Texts => "a list of strings".to_owned(),
        Wanted::Whole(least) => format!("a whole number, {least} or more"),
        Wanted::UpTo(most) => format!("a number from 0 to {most}"),
        Wanted::Seconds => format!("a number of seconds, above 0 and at most {LONGEST}"),
        Wanted::Bool => "true or false".to_owned(),
        Wanted::Tools => "a list of names of tools".to_owned(),
        Wanted::Process => "the name of a process".to_owned(),
        Wanted::Servers => {
            "a command, a record `{ command: \"…\", args: [\"…\"] }`, or a list of such".to_owned()
        }
    }
}

/// The value of a setting; nothing where it could not be read.
///
/// # Errors
/// A diagnostic of its own, or none where the value is of another kind.
fn value(
    expr: &Expr,
    wanted: Wanted,
    lookup: Lookup<'_>,
) -> Result<Option<Value>, Option<Diagnostic>> {
    if matches!(expr.kind, ExprKind::Broken) {
        return Ok(None);
    }
    match wanted {
        Wanted::Tools => {
            let ExprKind::List(items) = &expr.kind else {
                return Err(None);
            };
            let mut names = Vec::with_capacity(items.len());
            for item in items {
                names.push(tool(item, lookup)?);
            }
            Ok(Value::list(names).ok())
        }
        Wanted::Process => tool(expr, lookup).map(Some),
        _ => {
            let value = constant(expr).ok_or(None)?;
            if wanted == Wanted::Provider
                && let Some(name) = value.as_text()
                && !PROVIDERS.contains(&name)
            {
                return Err(Some(unknown_provider(expr, name)));
            }
            let fits = is(&value, wanted);
            if fits { Ok(Some(value)) } else { Err(None) }
        }
    }
}

fn unknown_provider(expr: &Expr, name: &str) -> Diagnostic {
    let diagnostic = codes::unknown_provider(expr.span, &name);
    match nearest(name, PROVIDERS.iter().copied()) {
        Some(near) => diagnostic.hint(format!("Did you mean \"{near}\"?")),
        None => diagnostic.hint(format!("There are {}.", PROVIDERS.join(", "))),
    }
}

/// The name of a tool, or of a process that takes one message and gives one.
fn tool(expr: &Expr, lookup: Lookup<'_>) -> Result<Value, Option<Diagnostic>> {
    let path = match &expr.kind {
        ExprKind::Name(name) => Path {
            module: None,
            name: Name {
                text: name.clone(),
                span: expr.span,
            },
        },
        ExprKind::Field(module, name) => match &module.kind {
            ExprKind::Name(text) => Path {
                module: Some(Name {
                    text: text.clone(),
                    span: module.span,
                }),
                name: name.clone(),
            },
            _ => return Err(None),
        },
        _ => return Err(None),
    };
    let process = lookup(&path).map_err(Some)?;
    let one = process.inputs.len() == 1 && process.own_outputs() == 1;
    let can = match process.role {
        Role::Tool | Role::Agent | Role::Broken => true,
        Role::Plumb | Role::Wire => one,
        Role::Timer => false,
    };
    if !can {
        let told = codes::not_a_tool(expr.span, &process.name);
        return Err(Some(told.label(process.span, "declared here")));
    }
    Ok(Value::Text(process.name.clone()))
}

fn constant(expr: &Expr) -> Option<Value> {
    match &expr.kind {
        ExprKind::Null => Some(Value::Null),
        ExprKind::Bool(value) => Some(Value::Bool(*value)),
        ExprKind::Number(text) => Value::number(text),
        ExprKind::Text(text) => Some(Value::Text(text.clone())),
        ExprKind::List(items) => {
            let items: Option<Vec<Value>> = items.iter().map(constant).collect();
            Value::list(items?).ok()
        }
        ExprKind::Record(fields) => {
            let fields: Option<Vec<(Arc<str>, Value)>> = fields
                .iter()
                .map(|(name, value)| Some((name.text.clone(), constant(value)?)))
                .collect();
            Value::record(fields?).ok()
        }
        ExprKind::Unary(Unary::Minus, inner) => match constant(inner)? {
            Value::Int(number) => number.checked_neg().map(Value::Int),
            Value::Number(number) => Some(Value::Number(-number)),
            _ => None,
        },
        _ => None,
    }
}

fn is(value: &Value, wanted: Wanted) -> bool {
    match wanted {
        Wanted::Provider | Wanted::Text => value.as_text().is_some(),
        Wanted::Texts => texts(value),
        Wanted::Whole(least) => matches!(value, Value::Int(number) if *number >= least),
        Wanted::UpTo(most) => match value {
            Value::Int(number) => *number >= 0 && *number <= most as i64,
            Value::Number(number) => (0.0..=most).contains(number),
            _ => false,
        },
        Wanted::Seconds => match value {
            Value::Int(number) => *number > 0 && *number <= LONGEST as i64,
            Value::Number(number) => *number > 0.0 && *number <= LONGEST,
            _ => false,
        },
        Wanted::Bool => matches!(value, Value::Bool(_)),
        Wanted::Tools | Wanted::Process => false,
        Wanted::Servers => match value.items() {
            Some(items) => items.iter().all(server),
            None => server(value),
        },
    }
}

fn texts(value: &Value) -> bool {
    let items = value.items();
    items.is_some_and(|items| items.iter().all(|item| item.as_text().is_some()))
}

fn server(value: &Value) -> bool {
    match value {
        Value::Text(_) => true,
        Value::Record(_, fields) => {
            value.get("command").and_then(Value::as_text).is_some()
                && fields.iter().all(|(key, value)| match &**key {
                    "command" => true,
                    "args" => texts(value),
                    _ => false,
                })
        }
        _ => false,
    }
}
