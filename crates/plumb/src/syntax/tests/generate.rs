//! Programs from throws of dice: every form of the grammar, as tokens.

/// Throws of dice; when they are used up, each further one is 0, which always leads to an end.
pub struct Dice<'a> {
    throws: std::slice::Iter<'a, u8>,
    out: Vec<String>,
    depth: u32,
}

impl<'a> Dice<'a> {
    pub fn new(throws: &'a [u8]) -> Self {
        Self {
            throws: throws.iter(),
            out: Vec::new(),
            depth: 0,
        }
    }

    /// A number below `sides`; 0 deep in the tree.
    fn throw(&mut self, sides: u8) -> u8 {
        let throw = self.throws.next().copied().unwrap_or(0);
        if self.depth > 6 { 0 } else { throw % sides }
    }

    fn put(&mut self, tokens: &[&str]) {
        self.out
            .extend(tokens.iter().map(|&token| token.to_owned()));
    }

    fn pick(&mut self, from: &[&str]) {
        let at = self.throw(u8::try_from(from.len()).unwrap());
        self.put(&[from[usize::from(at)]]);
    }

    /// Several, separated.
    fn several(&mut self, least: u8, separator: &str, item: impl Fn(&mut Self)) {
        let count = least + self.throw(4);
        self.depth += 1;
        for at in 0..count {
            if at > 0 {
                self.put(&[separator]);
            }
            item(self);
        }
        self.depth -= 1;
    }

    fn deeper(&mut self, read: impl Fn(&mut Self)) {
        self.depth += 1;
        read(self);
        self.depth -= 1;
    }

    pub fn program(mut self) -> Vec<String> {
        while self.throws.len() > 0 {
            self.declaration();
        }
        self.out
    }

    fn declaration(&mut self) {
        match self.throw(8) {
            0 => self.put(&["use", "mem"]),
            1 => {
                self.put(&["type", "T", "="]);
                self.kind();
            }
            2 => {
                self.put(&["protocol", "P", "="]);
                self.protocol();
            }
            other => {
                self.put(&["let", "f", ":"]);
                self.side();
                self.put(&["->"]);
                self.side();
                self.put(&["="]);
                match other {
                    3 => self.settings(),
                    4 => self.wire(),
                    _ => self.plumb(),
                }
            }
        }
    }

    fn side(&mut self) {
        match self.throw(4) {
            0 => self.put(&["(", ")"]),
            1 => self.kind(),
            2 => {
                self.put(&["("]);
                self.several(1, ",", Self::stream);
                self.put(&[")"]);
            }
            _ => self.stream(),
        }
    }

    fn stream(&mut self) {
        self.put(&["!"]);
        self.deeper(Self::single_kind);
    }

    fn kind(&mut self) {
        self.several(1, "|", Self::single_kind);
    }

    fn single_kind(&mut self) {
        match self.throw(8) {
            0 => self.pick(&["string", "json", "Pause"]),
            1 => self.put(&["Mem", ".", "Memory"]),
            2 => self.pick(&["\"x\"", "\"a \\\" \\n \\u00e9\""]),
            3 => {
                self.put(&["["]);
                self.deeper(Self::kind);
                self.put(&["]"]);
            }
            4 | 5 => {
                self.put(&["{"]);
                self.several(0, ",", |dice| {
                    dice.field();
                    if dice.throw(2) == 1 {
                        dice.put(&["?"]);
                    }
                    dice.put(&[":"]);
                    dice.kind();
                });
                self.put(&["}"]);
            }
            6 => {
                self.put(&["("]);
                self.several(1, ",", Self::kind);
                self.put(&[")"]);
            }
            _ => self.pick(&["a_long_name_of_a_type_that_fills_the_line", "int"]),
        }
    }

    fn field(&mut self) {
        self.pick(&[
            "kind",
            "type",
            "end",
            "a",
            "input_tokens",
            "true",
            "if",
            "value",
        ]);
    }

    fn protocol(&mut self) {
        match self.throw(9) {
            0 => self.put(&["end"]),
            1 => self.pick(&["loop", "X"]),
            2 => self.put(&["Mem", ".", "P"]),
            3 => {
                self.put(&["rec", "X", "."]);
                self.deeper(Self::protocol);
            }
            4 | 5 => {
                self.pick(&["send", "recv"]);
                self.deeper(Self::kind);
                self.put(&["."]);
                self.deeper(Self::protocol);
            }
            6 => {
                self.put(&["("]);
                self.deeper(Self::protocol);
                self.put(&[")"]);
            }
            other => {
                if other == 7 {
                    self.pick(&["select", "offer"]);
                }
                self.put(&["{"]);
                self.several(1, ",", |dice| {
                    dice.field();
                    dice.put(&[":"]);
                    dice.protocol();
                });
                self.put(&["}"]);
            }
        }
    }

    fn settings(&mut self) {
        self.pick(&["agent", "tool"]);
        self.put(&["{"]);
        self.several(0, ",", |dice| {
            dice.field();
            dice.put(&[":"]);
            dice.expression();
        });
        self.put(&["}"]);
    }

    fn plumb(&mut self) {
        self.put(&["plumb", "("]);
        self.several(0, ",", |dice| dice.pick(&["a", "b", "input"]));
        self.put(&[")", "{"]);
        for _ in 0..self.throw(6) {
            self.deeper(Self::statement);
        }
        self.put(&["}"]);
    }

    fn statement(&mut self) {
        match self.throw(6) {
            0 => {
                self.put(&["let", "c", ":"]);
                self.stream();
                self.put(&["=", "channel"]);
            }
            1 => {
                self.put(&["spawn"]);
                self.pick(&["p", "Mem.p"]);
                self.put(&["("]);
                self.several(0, ",", |dice| {
                    dice.pick(&["a", "b"]);
                    if dice.throw(2) == 1 {
                        dice.put(&["=", "c"]);
                    }
                });
                self.put(&[")"]);
            }
            2 => {
                self.put(&["(", "a", ",", "b", ")", "<->"]);
                self.pick(&["P", "M.P", "dual P"]);
                self.put(&["as", "s"]);
                if self.throw(2) == 1 {
                    self.put(&["within"]);
                    self.pick(&["30s", "90000ms", "1500ms", "2m", "0s"]);
                }
            }
            _ => self.wire(),
        }
    }

    fn wire(&mut self) {
        self.several(1, ";", Self::element);
    }

    fn element(&mut self) {
        match self.throw(12) {
            0 => self.pick(&[
                "a", "Mem.g", "id", "copy", "merge", "barrier", "discard", "empty",
            ]),
            1 => {
                self.pick(&["map (", "filter(", "once("]);
                self.deeper(Self::expression);
                self.put(&[")"]);
            }
            2 => self.pick(&[
                "project(0)",
                "tag(ok)",
                "tag(end)",
                "p@port",
                "s@trigger",
                "p@ctrl_in",
            ]),
            3 => {
                self.pick(&["s@send", "s@recv", "s@done"]);
                self.put(&["("]);
                self.deeper(Self::kind);
                if self.throw(2) == 1 {
                    self.put(&[",", "2"]);
                }
                self.put(&[")"]);
            }
            4 => self.pick(&["s@select(ok)", "s@offer(no, 3)"]),
            5 => {
                self.put(&["("]);
                self.deeper(Self::wire);
                self.put(&[")"]);
            }
            6 | 7 => {
                self.put(&["("]);
                self.several(2, "*", Self::element);
                self.put(&[")"]);
            }
            8 => {
                self.deeper(Self::element);
                self.put(&["."]);
                self.field();
            }
            _ => self.pick(&["input", "output", "a_long_name_of_a_process_in_a_wire"]),
        }
    }

    fn expression(&mut self) {
        match self.throw(10) {
            0 => self.small(),
            1 => {
                self.put(&["if"]);
                self.deeper(Self::expression);
                self.put(&["then"]);
                self.deeper(Self::expression);
                self.put(&["else"]);
                self.deeper(Self::expression);
            }
            2 => {
                self.put(&["not"]);
                self.deeper(Self::comparison);
            }
            3 | 4 => {
                self.deeper(Self::comparison);
                self.pick(&["&&", "||"]);
                self.deeper(Self::comparison);
            }
            5 => self.several(1, "&&", Self::comparison),
            _ => self.comparison(),
        }
    }

    fn comparison(&mut self) {
        match self.throw(3) {
            0 => self.sum(),
            1 => {
                self.sum();
                self.pick(&["=", "!=", "<", "<=", ">", ">="]);
                self.sum();
            }
            _ => {
                self.put(&["not"]);
                self.sum();
            }
        }
    }

    fn sum(&mut self) {
        match self.throw(3) {
            0 => self.small(),
            1 => {
                self.deeper(Self::small);
                self.pick(&["+", "-", "*", "/"]);
                self.deeper(Self::small);
            }
            _ => self.several(1, "-", Self::small),
        }
    }

    fn small(&mut self) {
        match self.throw(10) {
            0 => self.pick(&["value", "type", "a", "1", "0.5e-3", "null", "true", "\"s\""]),
            1 => {
                self.put(&["-"]);
                self.deeper(Self::small);
            }
            2 | 3 => {
                self.put(&["("]);
                self.deeper(Self::expression);
                self.put(&[")"]);
            }
            4 => {
                self.deeper(Self::whole);
                self.put(&["."]);
                match self.throw(3) {
                    0 => self.put(&["0", ".", "1"]),
                    _ => self.field(),
                }
            }
            5 => self.pick(&["\"é 😀 \\\\\"", "a_rather_long_name_of_a_field", "\"\""]),
            _ => self.whole(),
        }
    }

    fn whole(&mut self) {
        match self.throw(6) {
            5 => {
                self.put(&["is", "("]);
                self.deeper(Self::expression);
                self.put(&[","]);
                self.deeper(Self::kind);
                self.put(&[")"]);
            }
            0 => self.pick(&["value", "Mem", "a", "12"]),
            1 => {
                self.put(&["{"]);
                self.several(0, ",", |dice| {
                    if dice.throw(3) == 0 {
                        dice.pick(&["a", "type"]);
                        return;
                    }
                    dice.field();
                    dice.put(&[":"]);
                    dice.expression();
                });
                self.put(&["}"]);
            }
            2 => {
                self.put(&["["]);
                self.several(0, ",", Self::expression);
                self.put(&["]"]);
            }
            3 => {
                self.pick(&["len", "defined"]);
                self.put(&["("]);
                self.deeper(Self::expression);
                self.put(&[")"]);
            }
            _ => {
                self.put(&["contains", "("]);
                self.deeper(Self::expression);
                self.put(&[","]);
                self.deeper(Self::expression);
                self.put(&[")"]);
            }
        }
    }
}

/// The tokens with blanks, line breaks and comments between them, as the gaps say, again and again.
pub fn with_comments(tokens: &[String], gaps: &[u8]) -> String {
    let mut out = String::new();
    let mut gaps = gaps.iter().cycle().enumerate();
    let mut gap = |out: &mut String| {
        let Some((at, gap)) = gaps.next() else { return };
        match gap % 16 {
            0 => out.push_str(&format!(" (* {at} *) ")),
            1 => out.push_str(&format!("\n(* {at} *)\n")),
            2 => out.push_str(&format!(" (* {at} *)\n")),
            3 => out.push_str(&format!("\n\n(* {at}\n   second line *) ")),
            4 => out.push_str(&format!(" (* {at} *) (* and *)\n\n(* more *)\n")),
            5 | 6 => out.push('\n'),
            7 => out.push_str("\n\n\n"),
            _ => out.push(' '),
        }
    };
    gap(&mut out);
    for token in tokens {
        out.push_str(token);
        gap(&mut out);
    }
    out
}

/// Spoils a program: drops, doubles, swaps or replaces a token, or cuts the rest off.
pub fn mutilate(tokens: &mut Vec<String>, how: u8, at: u16, other: u16) {
    const STRAY: &[&str] = &[
        "(", ")", "{", "}", "[", "]", ";", "*", "let", "type", "protocol", "plumb", "spawn", "->",
        "<->", "@", ".", ",", ":", "=", "|", "!", "if", "not", "(*", "\"", "#", "end", "X", "x",
        "1", "$", "'", "\u{feff}", "é",
    ];
    if tokens.is_empty() {
        return;
    }
    let at = usize::from(at) % tokens.len();
    let other = usize::from(other);
    match how % 5 {
        0 => {
            tokens.remove(at);
        }
        1 => tokens.insert(at, tokens[at].clone()),
        2 => {
            let other = other % tokens.len();
            tokens.swap(at, other);
        }
        3 => tokens[at] = STRAY[other % STRAY.len()].to_owned(),
        _ => tokens.truncate(at),
    }
}
