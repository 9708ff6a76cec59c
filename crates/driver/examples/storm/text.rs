//! Programs whose messages carry their origin: `id` is the number of the input that a message comes from, and -1
//! after two of different inputs were joined.

use std::fmt::Write;

use crate::dice::Dice;

/// A program, and what is known of it.
pub struct Generated {
    pub text: String,
    /// True if each input gives exactly one output, unless something on its way failed.
    pub exact: bool,
}

/// The parts of a program.
struct Parts<'d> {
    dice: &'d mut Dice,
    declared: String,
    count: usize,
    /// Agents are left out: there is a driver, and nothing that plays them.
    tools_only: bool,
}

const HEAD: &str = "type M = { id: int, v: number, hops: int }\n";

/// Joins two messages, where `a` and `b` are places in a tuple.
fn joined(a: &str, b: &str) -> String {
    format!("map({{ id: if {a}.id = {b}.id then {a}.id else -1, v: {b}.v, hops: {a}.hops }})")
}

impl Generated {
    /// A program for the machine.
    pub fn new(dice: &mut Dice) -> Self {
        Self::with(dice, false)
    }

    /// A program without agents.
    pub fn of_tools(dice: &mut Dice) -> Self {
        Self::with(dice, true)
    }

    fn with(dice: &mut Dice, tools_only: bool) -> Self {
        let mut parts = Parts {
            dice,
            declared: HEAD.to_owned(),
            count: 0,
            tools_only,
        };
        let depth = 1 + parts.dice.below(3);
        let exact = !parts.dice.once_in(3);
        let body = match exact {
            true => parts.exact(depth),
            false => parts.any(depth),
        };
        let told = parts.dice.once_in(2);
        let failures = if told { "body@error" } else { "empty" };
        let mut text = parts.declared;
        let _ = write!(
            text,
            "let body : !M -> !M = {body}\n\
             let main : !M -> (!M, !Failed) = plumb(input, output, failures) {{\n  \
             input ; body ; output\n  {failures} ; failures\n}}\n"
        );
        Self { text, exact }
    }
}

impl Parts<'_> {
    fn name(&mut self, kind: &str) -> String {
        self.count += 1;
        format!("{kind}{}", self.count)
    }

    fn declare(&mut self, text: &str) {
        self.declared.push_str(text);
        self.declared.push('\n');
    }

    /// A body that gives one output for each input.
    fn exact(&mut self, depth: usize) -> String {
        match self.dice.below(5) {
            0 => self.numbered(depth),
            1 => {
                let before = self.steady(depth);
                format!("{before} ; {}", self.talk("map({ id, v: v + 3, hops })"))
            }
            _ => self.steady(depth),
        }
    }

    /// Two ends of a conversation in one body, of which one answers what the other sends. An answer may be made
    /// by something that fails; then the conversation stands, and what came after waits to its end.
    fn talk(&mut self, answer: &str) -> String {
        if !self.declared.contains("protocol Talk") {
            self.declare("protocol Talk = send M . recv M . loop");
        }
        let name = self.name("talk");
        self.declare(&format!(
            "let {name} : !M -> !M = plumb(input, output) {{
  let there : !json = channel
  let back : !json = channel
  (back, there) <-> Talk as asker
  (there, back) <-> dual Talk as answerer
  once(null) ; asker@trigger
  asker@trigger ; answerer@trigger
  input ; asker@send(M)
  answerer@recv(M) ; map(value) ; {answer} ; answerer@send(M)
  asker@recv(M) ; output
}}"
        ));
        name
    }

    /// A wire that makes one message of each, as far as nothing fails.
    fn steady(&mut self, depth: usize) -> String {
        let choice = self.dice.below(if depth == 0 { 6 } else { 11 });
        let number = self.dice.below(6);
        match choice {
            0 => "map({ id, v: v + 1, hops })".to_owned(),
            1 => format!("map({{ id, v: 12 / (v - {number}), hops }})"),
            2 | 3 if !self.tools_only => {
                let name = self.name("agent");
                self.declare(&format!(
                    "let {name} : !M -> !M = agent {{ provider: \"sim\" }}"
                ));
                name
            }
            4 => {
                let (loose, strict) = (self.name("loose"), self.name("strict"));
                self.declare(&format!(
                    "let {loose} : !M -> !json = map(if v = {number} then {{ id, bad: true }} else value)\n\
                     let {strict} : !M -> !M = id"
                ));
                format!("{loose} ; {strict}")
            }
            5 if !self.tools_only => {
                let name = self.name("typed");
                self.declare(&format!(
                    "let {name} : !M -> !(M | Failed) = agent {{ provider: \"sim\" }}"
                ));
                format!("keep({name}) ; map(if is(value.1, M) then value.1 else value.0)")
            }
            2 | 3 | 5 => self.tool(number),
            6 | 7 => {
                let (one, two) = (self.steady(depth - 1), self.steady(depth - 1));
                let joined = joined("value.0", "value.1");
                format!("copy ; (({one}) * ({two})) ; barrier ; {joined}")
            }
            8 => {
                let inner = self.steady(depth - 1);
                format!("keep({inner}) ; {}", joined("value.0", "value.1"))
            }
            9 => format!("{} ; {}", self.steady(depth - 1), self.steady(depth - 1)),
            _ => {
                let inner = self.steady(depth - 1);
                let name = self.name("inner");
                self.declare(&format!("let {name} : !M -> !M = {inner}"));
                name
            }
        }
    }

    /// A tool that is a process, and sometimes gives no answer.
    fn tool(&mut self, number: usize) -> String {
        let (tool, process) = (self.name("tool"), self.name("process"));
        let body = match self.dice.below(3) {
            0 => format!("filter(v != {number})"),
            1 => format!("map({{ id, v: 1 / (v - {number}), hops }})"),
            _ => "map({ id, v: v + 2, hops })".to_owned(),
        };
        self.declare(&format!(
            "let {process} : !M -> !M = {body}\n\
             let {tool} : M -> M = tool {{ process: {process} }}"
        ));
        tool
    }

    /// A body that numbers its messages: a loop with a state.
    fn numbered(&mut self, depth: usize) -> String {
        let inner = self.steady(depth - 1);
        let joined = joined("value.0", "value.1.1");
        format!(
            "plumb(input, output) {{
  let next : !int = channel
  let made : !M = channel
  let both : !(int, M) = channel
  once(0) ; next
  input ; {inner} ; made
  (next * made) ; barrier ; both
  both ; map(value.0 + 1) ; next
  (input * both) ; barrier ; {joined} ; output
}}"
        )
    }

    /// A body with filters, merges and loops.
    fn any(&mut self, depth: usize) -> String {
        let (one, two) = (self.steady(depth), self.steady(depth));
        match self.dice.below(5) {
            0 => format!("{one} ; filter(v < 9) ; {two}"),
            1 => format!("copy ; (({one}) * ({two} ; filter(v > 2))) ; merge"),
            3 => format!("{two} ; {}", self.talk(&one)),
            2 => {
                let joined = joined("value.0", "value.1");
                format!(
                    "plumb(input, output) {{
  let round : !M = channel
  let made : !M = channel
  let both : !M = channel
  input ; round
  round ; {one} ; made
  (round * made) ; barrier ; {joined} ; both
  both ; filter(hops >= 2) ; output
  both ; filter(hops < 2) ; map({{ id, v, hops: hops + 1 }}) ; round
}}"
                )
            }
            _ => self.retried(),
        }
    }

    /// A body that asks again, at most three times.
    fn retried(&mut self) -> String {
        let name = self.name("tried");
        let asked = match self.tools_only {
            true => format!("{} ; {name}", self.tool(3)),
            false => name.clone(),
        };
        self.declare(&match self.tools_only {
            true => format!("let {name} : !M -> !(M | Failed) = map(value)"),
            false => format!("let {name} : !M -> !(M | Failed) = agent {{ provider: \"sim\" }}"),
        });
        format!(
            "plumb(input, output) {{
  let round : !M = channel
  let done : !(M, M | Failed) = channel
  input ; round
  round ; keep({asked}) ; done
  done ; filter(is(value.1, M)) ; map({{ id: if value.0.id = value.1.id then value.0.id else -1, v: value.1.v, hops: value.0.hops }}) ; output
  done ; filter(is(value.1, Failed) && value.0.hops < 3) ; map({{ id: value.0.id, v: value.0.v, hops: value.0.hops + 1 }}) ; round
  done ; filter(is(value.1, Failed) && value.0.hops >= 3) ; map(value.0) ; output
}}"
        )
    }
}
