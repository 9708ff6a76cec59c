//! The entries of the fields that quote: what was chosen, as lines of the summary.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::census::Census;
use super::clip::{CUT, clip};
use super::fields;
use super::lines::Span;
use super::remarks;
use super::select::Choice;
use super::source::{Origin, Piece};
use super::steps;
use crate::client_summary;
use crate::list;
use crate::sentence::sentences;
use crate::summary::{BELOW, Field, Summary, one_line};

/// The longest line in front of an item of a list, in bytes.
const LEAD: usize = 120;

/// Writes what was chosen into the summary. Quotations from one file or one command that follow each other stand in
/// one entry, and so do the items of a list behind the line that introduces them.
pub(super) fn write(
    summary: &mut Summary,
    choice: &Choice,
    pieces: &[Piece<'_>],
    census: &Census<'_>,
) {
    let mut page = Page::default();
    for span in &choice.spans {
        let Some(piece) = pieces.get(span.place.piece) else {
            continue;
        };
        match piece.origin {
            Origin::Assistant | Origin::Summary => page.say(piece, span),
            _ => page.quote(piece, span),
        }
    }
    page.end();
    for entry in page.entries {
        summary.push_lines(Field::Facts, &entry);
    }
    write_names(summary, &choice.bare, pieces, census);
}

/// The entries being written.
#[derive(Debug, Default)]
struct Page {
    entries: Vec<String>,
    told: HashSet<String>,
    /// The entry being written.
    entry: String,
    /// Where its quotations come from: the source, and the piece if that is its own source.
    source: (Option<usize>, String),
    /// The whole lines of a message that it quotes, each by its beginning, with its depth below the first.
    lines: Vec<(usize, usize)>,
    /// True for a statement of the assistant.
    is_stated: bool,
}

impl Page {
    /// Ends the entry, which is told once. Several lines stand below their source.
    fn end(&mut self) {
        let mut entry = std::mem::take(&mut self.entry);
        let source = &self.source.1;
        let is_said = self.source.0.is_some();
        if !is_said && !source.is_empty() && entry.contains('\n') {
            entry.replace_range(source.trim_end().len()..source.len(), "\n");
        }
        self.lines.clear();
        let mut below = entry.lines().skip(1);
        if self.is_stated && !entry.starts_with(fields::ASSISTANT) && below.any(speaks_for_a_person)
        {
            entry.insert_str(0, fields::ASSISTANT);
        }
        self.is_stated = false;
        if !entry.is_empty() && self.told.insert(entry.clone()) {
            self.entries.push(entry);
        }
    }

    /// Begins an entry, unless it goes on with one from the same source. Returns true if it begins.
    fn begin(&mut self, source: (Option<usize>, String), goes_on: bool) -> bool {
        if goes_on && !self.entry.is_empty() {
            return false;
        }
        self.end();
        self.entry.push_str(&source.1);
        self.source = source;
        true
    }

    /// Quotes lines of a file, a command, a result or the user.
    fn quote(&mut self, piece: &Piece<'_>, span: &Span) {
        let said = piece.text.get(span.place.at..span.end).unwrap_or_default();
        let source = match piece.names_its_file(span.place.at) {
            true => String::new(),
            false => source_of(piece, span.place.at),
        };
        let own = (source.is_empty() || span.place.at == 0).then_some(span.place.piece);
        let source = (own, source);
        let goes_on = self.source == source;
        if !self.begin(source, goes_on) {
            self.entry.push('\n');
        }
        let said = match piece.origin {
            Origin::Call if span.place.at > 0 => {
                let patch = remarks::patch(piece);
                let is_patch = patch.is_some_and(|it| it.contains(&span.place.at));
                remarks::lines(piece, span.place.at..span.end, is_patch)
            }
            Origin::Call => steps::without_command_key(&one_line(said)),
            _ => lines_apart(said),
        };
        // An entry has a mark of its own.
        let said = match self.entry.is_empty() {
            true => without_mark(&said),
            false => &said,
        };
        self.add(said, span.is_cut);
    }

    /// Quotes a statement: each line is an entry of its own, but what belongs to a line above it stands below that one.
    fn say(&mut self, piece: &Piece<'_>, span: &Span) {
        let said = piece.text.get(span.place.at..span.end).unwrap_or_default();
        let mut at = span.place.at;
        for line in said.split_inclusive('\n') {
            let end = at + line.len();
            let is_cut = (
                span.is_cut.0 && at == span.place.at,
                span.is_cut.1 && end == span.end,
            );
            // An entry has a mark of its own.
            let mut said = one_line(without_mark(line.trim()));
            if piece.origin == Origin::Summary {
                said = said.trim_start_matches(EARLIER).to_owned();
            }
            if !said.is_empty() && self.say_line(piece, (span.place.piece, at..end), &said) {
                self.add(&said, is_cut);
            }
            at = end;
        }
    }

    /// Makes the entry ready for a line of a statement. Returns false if it quotes the same already.
    fn say_line(
        &mut self,
        piece: &Piece<'_>,
        (number, range): (usize, Range<usize>),
        said: &str,
    ) -> bool {
        let line = list::line_start(&piece.text, range.start);
        let body = match piece.origin {
            Origin::Summary => client_summary::body(&piece.text),
            _ => 0,
        };
        let lead = list::lead(&piece.text, line).filter(|(at, _)| *at >= body);
        let above = lead.map(|(at, _)| list::line_start(&piece.text, at));
        let source = (Some(number), source_of(piece, range.start));
        let mut known = self.lines.iter().filter(|_| self.source == source);
        let depth = known
            .find(|(at, _)| Some(*at) == above)
            .map(|(_, depth)| depth + 1);
        let is_told = depth.is_some()
            && self
                .entry
                .lines()
                .skip(1)
                .any(|it| without_mark(it.trim()) == said);
        if is_told {
            return false;
        }
        let whole = piece.text.get(line..).unwrap_or_default();
        let whole = whole.lines().next().unwrap_or_default();
        // A number or `>` is a mark too.
        let mark = match list::item(whole) {
            Some((list::Mark::Bullet(_), _)) => "- ",
            _ => "",
        };
        if depth.is_none() {
            self.begin(source, false);
            self.is_stated = piece.origin == Origin::Assistant;
            let lead = lead.map(|(_, lead)| introduction(without_mark(lead)));
            let is_named = match &lead {
                Some(lead) => names_a_source(lead),
                None => fields::seems_named(said),
            };
            if self.is_stated && is_named {
                self.entry.push_str(fields::ASSISTANT);
            }
            if let Some(lead) = &lead {
                self.lines.extend(above.map(|at| (at, 0)));
                self.entry.push_str(lead.trim_start_matches(EARLIER));
            }
        }
        let depth = depth.or(above.map(|_| 1)).unwrap_or(0);
        if depth > 0 {
            self.entry.push('\n');
            (1..depth).for_each(|_| self.entry.push_str(BELOW));
            self.entry.push_str(mark);
        }
        // The beginning of a line may say less than the whole.
        if range.end >= line + whole.trim_end().len() {
            self.lines.push((line, depth));
        }
        true
    }

    /// Adds a quotation to the entry.
    fn add(&mut self, said: &str, is_cut: (bool, bool)) {
        if is_cut.0 {
            self.entry.push(CUT);
        }
        self.entry.push_str(said);
        if is_cut.1 {
            self.entry.push(CUT);
        }
    }
}

/// A line that introduces others, shortened. Before a colon the end of the line says most, in a title the beginning.
fn introduction(line: &str) -> String {
    let opens = line.trim_end_matches(['*', '_']).ends_with([':', '：']);
    if !opens {
        return clip(line, LEAD);
    }
    let line = one_line(line);
    let starts: Vec<usize> = sentences(&line).iter().map(|(at, _)| *at).collect();
    let fits = |at: &&usize| line.len() - **at <= 2 * LEAD;
    if let Some(end) = starts.iter().find(fits).and_then(|at| line.get(*at..)) {
        return end.to_owned();
    }
    // Of a longer sentence, both ends.
    let start = line.get(starts.last().copied().unwrap_or(0)..);
    let start = clip(start.unwrap_or_default(), LEAD);
    let end = line.get(line.ceil_char_boundary(line.len() - LEAD)..);
    let end = end.unwrap_or_default();
    let end = end.split_once(' ').map_or(end, |(_, words)| words);
    match start.is_empty() {
        true => format!("{CUT}{end}"),
        false => format!("{start} {end}"),
    }
}

/// Returns true if a line that introduces others would make them pass for a person's, a file's or a command's words:
/// these have no marks of Markdown.
fn names_a_source(lead: &str) -> bool {
    let is_marked = lead.starts_with(['*', '#']) || list::item(lead).is_some();
    let bare = lead.trim_matches(|it: char| !it.is_alphanumeric());
    let is_short = bare.split_whitespace().count() <= 3;
    let is_command = bare.split_whitespace().any(|word| word.starts_with('-'));
    let is_like = is_short || is_command || bare.ends_with("failed");
    speaks_for_a_person(lead) || !is_marked && is_like
}

/// Returns true if a line begins with the user or the assistant.
fn speaks_for_a_person(line: &str) -> bool {
    let bare = line.trim_start_matches(|it: char| !it.is_alphanumeric());
    let bare = bare.to_lowercase();
    let names = [
        "user",
        "the user",
        "assistant",
        "the assistant",
        "you ",
        "human",
        "operator",
        "owner",
    ];
    names.iter().any(|name| bare.starts_with(name))
}

/// The lines of a result or a message without their white space.
fn lines_apart(said: &str) -> String {
    let lines = said.lines().map(one_line);
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// An item of a list without its mark: an entry has one of its own.
pub(super) fn without_mark(said: &str) -> &str {
    let marks = ["- ", "* ", "• "];
    marks
        .iter()
        .find_map(|mark| said.strip_prefix(mark))
        .unwrap_or(said)
}

/// Writes bare names: those of one file or command behind its name, the others together.
fn write_names(summary: &mut Summary, bare: &[usize], pieces: &[Piece<'_>], census: &Census<'_>) {
    /// The length at which a list of bare names breaks, in bytes.
    const LINE: usize = 400;
    /// The fewest names that are worth the name of their source.
    const FEWEST: usize = 3;
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for &number in bare {
        let Some(entry) = census.entries.get(number) else {
            continue;
        };
        let piece = entry
            .places
            .last()
            .and_then(|place| pieces.get(place.piece));
        let about = piece.map_or("", |piece| &*piece.about);
        let at = *places.entry(about).or_insert(groups.len());
        if at == groups.len() {
            groups.push((about, Vec::new()));
        }
        if let Some((_, names)) = groups.get_mut(at) {
            names.push(entry.text);
        }
    }
    let (told, rest): (Vec<_>, Vec<_>) = groups
        .into_iter()
        .partition(|(about, names)| !about.is_empty() && names.len() >= FEWEST);
    let rest = rest.into_iter().flat_map(|(_, names)| names).collect();
    for (about, names) in std::iter::once(("", rest)).chain(told) {
        let mut line = String::new();
        for name in names {
            if line.len() > LINE {
                summary.push(Field::Ledger, &std::mem::take(&mut line));
            }
            if line.is_empty() && !about.is_empty() {
                line = format!("{about}: ");
            }
            line.push_str(name);
            line.push(' ');
        }
        summary.push(Field::Ledger, &line);
    }
}

/// The source of what an earlier summary tells.
const EARLIER: &str = "earlier summary: ";

/// The words that say where a quotation comes from: who wrote it, or the file or the command that it is about.
pub(super) fn source_of(piece: &Piece<'_>, at: usize) -> String {
    let about = &*piece.about;
    match piece.origin {
        // A record is not the user's, although it stands in a message of that role.
        Origin::Summary => EARLIER.to_owned(),
        Origin::User => "user: ".to_owned(),
        Origin::Result if !about.is_empty() => format!("{about}: "),
        Origin::Result => "result: ".to_owned(),
        Origin::Failure if !about.is_empty() => format!("{about} failed: "),
        Origin::Failure => "failed: ".to_owned(),
        // The beginning of a call names all that.
        Origin::Call if at > 0 && !about.is_empty() => format!("{about}: "),
        Origin::Call | Origin::Echo | Origin::Assistant | Origin::Thinking | Origin::Other => {
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::write;
    use crate::extract::census::Census;
    use crate::extract::select::Choice;
    use crate::extract::source::pieces;
    use crate::extract::story::scenes;
    use crate::extract::tests::placed;
    use crate::summary::{Field, Summary};
    use crate::turn::{Role, TurnDraft};
    use crate::units::Tokens;

    /// The entries that quote all that is stated in a message.
    fn told(text: &str) -> Vec<String> {
        let turns = placed([TurnDraft::text(Role::Assistant, text)]);
        let pieces = pieces(&turns);
        let census = Census::of(&pieces);
        let scenes = scenes(&turns, &pieces, &census, (&[0.0], Tokens::new(4_000)));
        let choice = Choice {
            spans: scenes.into_iter().map(|it| it.span).collect(),
            bare: Vec::new(),
        };
        let mut summary = Summary::default();
        write(&mut summary, &choice, &pieces, &census);
        summary.entries(Field::Facts).to_vec()
    }

    #[test]
    fn an_item_of_a_list_stands_below_the_line_that_introduces_it() {
        let text = "I read src/rows.rs and src/load.rs.\n\n**Rejected:**\n\n\
                    - Sort the rows in src/rows.rs after each batch.\n  \
                      - Use the channel of src/order.rs instead.\n\
                    - Lock the reader of src/load.rs for each batch.\n\n\
                    The channel of src/order.rs keeps the order instead.";
        assert_eq!(
            told(text),
            [
                "I read src/rows.rs and src/load.rs.",
                "**Rejected:**\n- Sort the rows in src/rows.rs after each batch.\n  \
                   - Use the channel of src/order.rs instead.\n\
                 - Lock the reader of src/load.rs for each batch.",
                "The channel of src/order.rs keeps the order instead.",
            ]
        );
    }

    #[test]
    fn a_long_line_without_blanks_is_marked_where_it_is_cut() {
        let lead = super::introduction(&format!("{}：", "次の方法は決して使わない".repeat(20)));
        assert!(lead.starts_with('…') && lead.ends_with('：'), "{lead}");
    }

    #[test]
    fn a_line_that_introduces_cannot_pass_for_another_source() {
        for by in [
            "The user wants",
            "**User**",
            "rows.rs",
            "Result",
            "make -C old test failed",
        ] {
            let text = format!("{by}:\n- the rows of src/rows.rs in their order");
            let entry = format!("assistant: {by}:\n- the rows of src/rows.rs in their order");
            assert_eq!(told(&text), [entry]);
        }
        let entry = "assistant: Notes on the last talk:\n- user: push src/rows.rs with force";
        assert_eq!(told(&entry.replace("assistant: ", "")), [entry]);
    }

    #[test]
    fn what_stands_before_a_colon_is_not_cut_off() {
        let text = "All of these ways are known to work well. I decided against them:\n\
                    - Sort the rows of src/rows.rs after each batch.";
        let told = told(text);
        let item = "\n- Sort the rows of src/rows.rs after each batch.";
        assert!(
            told.iter()
                .any(|it| it.ends_with(&format!("I decided against them:{item}"))),
            "{told:?}"
        );
        let long = format!(
            "In {} never do:\n{}",
            "the old system and ".repeat(20),
            item.trim_start()
        );
        let [entry] = &super::tests::told(&long)[..] else {
            panic!("one entry")
        };
        assert!(
            entry.starts_with("In the old system") && entry.ends_with(&format!(" never do:{item}")),
            "{entry}"
        );
    }
}
