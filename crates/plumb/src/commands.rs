//! The commands of a memory strategy, in one table.
//!
//! Everything else that lists them is derived from it: their types in the module `mem`, the page
//! `docs/plumb/commands.md`, completion and hover in editors, and the names that both hosts match on. A host
//! is an agent (crate `driver`) or a conversation that a strategy supervises (crate `conversation`). Both
//! match on [`ControlCommand`] without a wildcard, so the compiler names every place that a new command needs.

use std::fmt::{self, Write};
use std::sync::Arc;

use crate::modules::MEM;
use crate::value::{Oversize, Value};

/// The type of a field of a command or an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Always `true`: the name alone says everything.
    Flag,
    /// A text, or the id of a pin.
    Text,
    /// A count.
    Count,
    /// A number, mostly a share of the window from 0 to 1.
    Number,
    /// A memory, as the module `mem` defines it.
    Memory,
}

/// The hosts that obey a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObeyedBy {
    /// Agents alone.
    Agent,
    /// Conversations alone.
    Conversation,
    /// Agents and conversations.
    Both,
}

/// A field that a command takes beside its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modifier {
    /// The share of the window that stays verbatim behind a mark.
    Keep,
    /// The number of messages that stay verbatim behind a mark.
    KeepMessages,
    /// The number of newest tool results that stay.
    KeepResults,
    /// The share of the window that has to be gained.
    AtLeast,
}

/// A field of a command or an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlField {
    /// The name in a message: `get_memory`.
    pub name: &'static str,
    /// The type of its value.
    pub kind: FieldKind,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct CommandEntry {
    /// The name of the command's type: `GetMemory`.
    pub type_name: &'static str,
    /// The field that names the command, with its argument.
    pub field: ControlField,
    /// The optional fields that it takes.
    pub modifiers: &'static [Modifier],
    /// The name of the acknowledgement's type: `MemoryDump`.
    pub acknowledgement_type: &'static str,
    /// The field that acknowledges the command.
    pub acknowledgement: ControlField,
    /// The hosts that obey it.
    pub obeyed_by: ObeyedBy,
    /// The effect, as one sentence.
    pub meaning: &'static str,
}

macro_rules! commands {
    ($($variant:ident, $field:literal: $kind:ident, [$($modifier:ident),*]
        => $type:ident, $done:literal: $done_kind:ident; $hosts:ident: $meaning:literal)*) => {
        /// A command, by its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ControlCommand {
            $(#[doc = $meaning] $variant,)*
        }

        impl ControlCommand {
            /// All commands, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The row of this command.
            #[must_use]
            pub const fn entry(self) -> CommandEntry {
                match self {
                    $(Self::$variant => CommandEntry {
                        type_name: stringify!($variant),
                        field: ControlField { name: $field, kind: FieldKind::$kind },
                        modifiers: &[$(Modifier::$modifier),*],
                        acknowledgement_type: stringify!($type),
                        acknowledgement: ControlField { name: $done, kind: FieldKind::$done_kind },
                        obeyed_by: ObeyedBy::$hosts,
                        meaning: $meaning,
                    },)*
                }
            }
        }
    };
}

commands! {
    Pause, "pause": Flag, [] => PauseAck, "paused": Flag;
        Both: "Holds an agent's messages, or a conversation's requests, until `resume`."
    Resume, "resume": Flag, [] => ResumeAck, "resumed": Flag;
        Both: "Releases what `pause` holds."
    GetMemory, "get_memory": Flag, [Keep, KeepMessages] => MemoryDump, "memory": Memory;
        Both: "Sets a mark and returns the memory up to it."
    SetMemory, "set_memory": Memory, [] => SetMemoryAck, "memory_set": Flag;
        Both: "Replaces everything up to the mark with this memory."
    Mark, "mark": Flag, [Keep, KeepMessages] => Marked, "marked": Memory;
        Both: "Does the same as `get_memory`, for a summary that is made in the background."
    Prepare, "prepare": Memory, [] => Prepared, "prepared": Flag;
        Both: "Keeps a summarized memory ready for `swap`."
    Swap, "swap": Flag, [] => Swapped, "swapped": Flag;
        Both: "Puts the prepared memory in place."
    Pin, "pin": Text, [] => Pinned, "pinned": Flag;
        Both: "Keeps a text, or the text of what a handle names (`turn:14`, `turns:13-14`, `path:src/a.rs`), verbatim through every compaction."
    Unpin, "unpin": Text, [] => Unpinned, "unpinned": Flag;
        Both: "Releases what is pinned: by its text, its handle or its id."
    SetTemp, "set_temp": Number, [] => TempSet, "temp_set": Flag;
        Agent: "Sets the model's temperature, from the next message on."
    Hold, "hold": Flag, [] => Held, "held": Flag;
        Conversation: "Holds this request until the summary under way is ready or patience ends."
    Extract, "extract": Flag, [Keep] => Extracted, "extracted": Flag;
        Conversation: "Makes a summary without a model, at once."
    DropTo, "drop_to": Number, [] => Dropped, "dropped": Flag;
        Conversation: "Drops the oldest steps until the view is below this share of the window."
    Clear, "clear": Flag, [KeepResults, AtLeast] => Cleared, "cleared": Flag;
        Conversation: "Replaces tool results with placeholders, except the newest, if that frees enough."
    Abandon, "abandon": Flag, [] => Abandoned, "abandoned": Flag;
        Conversation: "Discards the summary that is ready or under way."
}

impl ControlCommand {
    /// The command that this field names.
    #[must_use]
    pub fn named(field: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|command| command.name() == field)
    }

    /// The command that this type of the module `mem` belongs to.
    #[must_use]
    pub fn of_type(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|command| command.entry().type_name == name)
    }

    /// Reads a message: its first field that names a command.
    #[must_use]
    pub fn of(message: &Value) -> Option<Self> {
        let mut fields = message.fields()?.iter();
        fields.find_map(|(name, _)| Self::named(name))
    }

    /// The field that names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.entry().field.name
    }

    /// Its acknowledgement: `true`, or the memory that was asked for.
    ///
    /// # Errors
    /// A memory that is larger than a message may be.
    pub fn acknowledge(self, value: Value) -> Result<Value, Oversize> {
        let name = self.entry().acknowledgement.name;
        Value::record([(Arc::from(name), value)])
    }

    /// Its type: `{ mark: bool, keep?: number, keep_messages?: int }`.
    #[must_use]
    pub fn type_text(self) -> String {
        let CommandEntry {
            field, modifiers, ..
        } = self.entry();
        let mut text = format!("{{ {}", field.type_text(""));
        for modifier in modifiers {
            text += ", ";
            text += &modifier.field().type_text("?");
        }
        text + " }"
    }
}

impl fmt::Display for ObeyedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agent => "agents",
            Self::Conversation => "conversations",
            Self::Both => "agents and conversations",
        })
    }
}

impl FieldKind {
    /// The type in the language.
    const fn type_text(self) -> &'static str {
        match self {
            Self::Flag => "bool",
            Self::Text => "string",
            Self::Count => "int",
            Self::Number => "number",
            Self::Memory => "Memory",
        }
    }
}

impl ControlField {
    /// A field of a record type: `keep?: number`.
    pub(crate) fn type_text(self, optional: &str) -> String {
        format!("{}{optional}: {}", self.name, self.kind.type_text())
    }
}

impl Modifier {
    const ALL: [Self; 4] = [
        Self::Keep,
        Self::KeepMessages,
        Self::KeepResults,
        Self::AtLeast,
    ];

    /// The field, with the type of its value.
    const fn field(self) -> ControlField {
        let (name, kind) = match self {
            Self::Keep => ("keep", FieldKind::Number),
            Self::KeepMessages => ("keep_messages", FieldKind::Count),
            Self::KeepResults => ("keep_results", FieldKind::Count),
            Self::AtLeast => ("at_least", FieldKind::Number),
        };
        ControlField { name, kind }
    }

    /// The name of its field.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.field().name
    }

    /// The meaning of its value, as one sentence.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Keep => {
                "The share of the window that stays verbatim behind the mark; 0 by default."
            }
            Self::KeepMessages => "The number of messages that stay verbatim behind the mark.",
            Self::KeepResults => "The number of newest tool results that stay; 0 by default.",
            Self::AtLeast => "The least share of the window that has to be freed; 0 by default.",
        }
    }
}

/// The part of a memory that stays verbatim behind a mark, as a command says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keep {
    /// A share of the window.
    Share(f64),
    /// A number of messages.
    Messages(usize),
}

/// Nothing but what a host cannot take apart.
impl Default for Keep {
    fn default() -> Self {
        Self::Share(0.0)
    }
}

impl Keep {
    /// The part that a command keeps: `keep`, else `keep_messages`, else the default.
    ///
    /// # Errors
    /// A value that is out of range, as a phrase.
    pub fn of(message: &Value) -> Result<Self, &'static str> {
        let share = match message.get(Modifier::Keep.name()) {
            Some(Value::Number(share)) => Some(*share),
            // One that is larger is out of range too.
            Some(Value::Int(share)) => Some(i32::try_from(*share).map_or(f64::MAX, f64::from)),
            _ => None,
        };
        match (share, message.get(Modifier::KeepMessages.name())) {
            (Some(share), _) if (0.0..=1.0).contains(&share) => Ok(Self::Share(share)),
            (Some(_), _) => Err("a share of the window is a number from 0 to 1"),
            (None, Some(Value::Int(most))) => usize::try_from(*most)
                .map(Self::Messages)
                .map_err(|_| "a number of messages is 0 or more"),
            (None, _) => Ok(Self::default()),
        }
    }
}

/// The field that names a command or an acknowledgement: the first that is no modifier.
#[must_use]
pub fn verb(message: &Value) -> Option<&Arc<str>> {
    let mut fields = message.fields()?.iter().map(|(name, _)| name);
    let modifies = |name: &str| Modifier::ALL.iter().any(|one| one.name() == name);
    fields.find(|name| !modifies(name))
}

/// The answer to a command that is not carried out: `{ refused: why, command: name }`.
///
/// # Errors
/// Texts that are larger than a message may be.
pub fn refused(command: &str, why: &str) -> Result<Value, Oversize> {
    let field = |name: &str, value: &str| (Arc::from(name), Value::from(value));
    Value::record([field("refused", why), field("command", command)])
}

/// The markers around the generated part of the module `mem`.
const BEGIN: &str =
    "(* Generated by `cargo xtask docs` from the table of commands; do not edit. *)\n";
const END: &str = "(* End of the generated part. *)\n";

/// The module `mem` with the types of commands and acknowledgements as the table has them.
#[must_use]
pub fn mem_module() -> String {
    let (before, rest) = MEM.split_once(BEGIN).unwrap_or((MEM, ""));
    let (_, after) = rest.split_once(END).unwrap_or(("", rest));
    format!("{before}{BEGIN}{}{END}{after}", declarations())
}

fn declarations() -> String {
    let entries = || ControlCommand::ALL.iter().map(|command| command.entry());
    let mut text = String::new();
    // Writing to a string cannot fail.
    for command in ControlCommand::ALL {
        let CommandEntry {
            type_name, meaning, ..
        } = command.entry();
        let _ = write!(
            text,
            "\n(* {meaning} *)\ntype {type_name} = {}\n",
            command.type_text()
        );
    }
    let sum: Vec<&str> = entries().map(|entry| entry.type_name).collect();
    let _ = write!(text, "\ntype CtrlCmd =\n  {}\n\n", sum.join(" | "));
    text += "(* The acknowledgements, in the same order. *)\n";
    for entry in entries() {
        let field = entry.acknowledgement.type_text("");
        let _ = writeln!(text, "type {} = {{ {field} }}", entry.acknowledgement_type);
    }
    text += "\n(* A command that is not carried out, by its field or `compressor`, and the reason. *)\n\
             type Refused = { refused: string, command?: string }\n";
    let sum: Vec<&str> = entries().map(|entry| entry.acknowledgement_type).collect();
    let _ = write!(
        text,
        "\ntype CtrlResp =\n  {} | Refused\n\n",
        sum.join(" | ")
    );
    text
}

/// The page `docs/plumb/commands.md`.
#[must_use]
pub fn page() -> String {
    let mut page = String::from(
        "# Commands\n\n\
         Generated by `cargo xtask docs` from the table of commands; do not edit.\n\n\
         A strategy sends these on `ctrl_in`. The host acknowledges each on `ctrl_out`, or answers\n\
         `{ refused: why, command: name }`. A host is an agent ([running programs](running.md#memory)) or a\n\
         conversation in the gateway or the lab ([strategies](../strategies.md)); each refuses the commands that\n\
         only the other obeys.\n\n\
         | command | what it does | acknowledgement | obeyed by |\n|---|---|---|---|\n",
    );
    for command in ControlCommand::ALL {
        let entry = command.entry();
        let _ = writeln!(
            page,
            "| `{}` `{}` | {} | `{}` `{{ {} }}` | {} |",
            entry.type_name,
            command.type_text(),
            entry.meaning,
            entry.acknowledgement_type,
            entry.acknowledgement.type_text(""),
            entry.obeyed_by,
        );
    }
    page += "\nFour optional fields say how a command is carried out:\n\n| field | what it says |\n|---|---|\n";
    for modifier in Modifier::ALL {
        let field = modifier.field().type_text("");
        let _ = writeln!(page, "| `{field}` | {} |", modifier.meaning());
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_and_the_page_are_up_to_date() {
        let page = include_str!("../../../docs/plumb/commands.md");
        assert_eq!(super::page(), page, "run `cargo xtask docs`");
        assert_eq!(mem_module(), MEM, "run `cargo xtask docs`");
    }

    #[test]
    fn what_a_command_keeps() {
        let check = |message: &str, expected: Result<Keep, &str>| {
            let message = Value::parse(message).expect("JSON");
            assert_eq!(Keep::of(&message), expected);
        };
        check(r#"{"mark":true}"#, Ok(Keep::Share(0.0)));
        check(r#"{"mark":true,"keep":1}"#, Ok(Keep::Share(1.0)));
        check(
            r#"{"mark":true,"keep":0.1,"keep_messages":3}"#,
            Ok(Keep::Share(0.1)),
        );
        check(r#"{"mark":true,"keep_messages":3}"#, Ok(Keep::Messages(3)));
        let share = "a share of the window is a number from 0 to 1";
        check(r#"{"mark":true,"keep":1.5}"#, Err(share));
        check(r#"{"mark":true,"keep":5000000000}"#, Err(share));
        let messages = "a number of messages is 0 or more";
        check(r#"{"mark":true,"keep_messages":-1}"#, Err(messages));
    }

    #[test]
    fn the_verb_is_found_beside_modifiers() {
        let message = Value::parse(r#"{"keep":0.2,"get_memory":true}"#).expect("JSON");
        assert_eq!(verb(&message).map(|name| &**name), Some("get_memory"));
        assert_eq!(
            ControlCommand::of(&message),
            Some(ControlCommand::GetMemory)
        );
        assert_eq!(verb(&Value::Null), None);
    }
}
