//! Command lines: how they are shown, and what they run, without the filters that only shorten what is printed.

use std::iter;
use std::ops::Range;

use super::artefacts::clipped;
use super::here_documents;

/// The most changes of folder or environment that are read in front of a script.
const MOVES: usize = 8;
/// The sign for each byte of a quotation; no script contains it.
pub(super) const QUOTED: char = '\u{1}';
/// Redirections that keep nothing.
const NOWHERE: [&str; 8] = [
    "2>&1",
    ">&2",
    "&>/dev/null",
    "&> /dev/null",
    "2>/dev/null",
    "2> /dev/null",
    ">/dev/null",
    "> /dev/null",
];
/// Filters that show the end of what is printed, where programs say how they ended.
const KEEP_THE_END: [&str; 3] = ["cat", "tail", "tee"];
/// Filters that may leave out the end.
const HIDE_THE_END: [&str; 14] = [
    "awk", "column", "cut", "egrep", "fgrep", "grep", "head", "jq", "rg", "sed", "sort", "tr",
    "uniq", "wc",
];
/// Programs that only say something.
const SAY: [&str; 4] = ["echo", "printf", "true", ":"];
/// Options of tests that change what is printed, not what is tested.
const LOUD: [&str; 6] = ["-v", "-vv", "--verbose", "-q", "--quiet", "-count=1"];

/// Options that widen what is built or tested.
const WIDEN: [&str; 5] = [
    "--all",
    "--all-features",
    "--all-targets",
    "--tests",
    "--workspace",
];
/// Options that choose among tests, with a value and without.
const CHOOSE: [&str; 5] = ["-run", "-k", "-t", "--filter", "--grep"];
const CHOOSE_ALONE: [&str; 2] = ["-x", "--"];
/// Programs that run tests and do not say so.
const TESTERS: [&str; 5] = ["pytest", "vitest", "jest", "ctest", "nextest"];
/// Options of `git push` that leave it the same.
const PUSH: [&str; 5] = [
    "-f",
    "--force",
    "--force-with-lease",
    "-u",
    "--set-upstream",
];
/// Words of a shell that bind commands, so that none stands alone.
const BIND: [&str; 10] = [
    "!", "case", "for", "function", "if", "select", "set", "trap", "until", "while",
];
/// Commands in a chain that are not what it is for.
const PREPARE: [&str; 9] = [
    ".",
    "cd",
    "export",
    "git add",
    "git fetch",
    "mkdir",
    "popd",
    "pushd",
    "source",
];

/// The words of a command without filters: `go test ./...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bare {
    words: Vec<String>,
    place: ShellState,
    /// True for a merge that left conflicts, which a commit concludes.
    has_conflicts: bool,
}

/// The changes of folder and of settings in front of a command, each empty where there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellState {
    folder: String,
    settings: String,
}

/// The commands of a line: `go test ./...` for `cd app && go test ./... 2>&1 | tail -20`.
#[derive(Clone, Debug)]
pub(super) struct Core {
    whole: Bare,
    /// The commands of the chain that decides how the line ends, each with true if a failure of it would show.
    chain: Vec<(Bare, bool)>,
    /// True if something may hide how the line ended.
    pub hides: bool,
    is_filtered: bool,
}

impl Core {
    /// Reads a command line. A script of several lines, or one that binds its commands, is not taken apart.
    pub fn of(script: &str) -> Self {
        let (moves, behind) = moves(script);
        let (masked, is_whole) = without_quotes(behind);
        if !is_whole || masked.contains('\n') || binds(&masked) {
            let whole = Bare {
                words: vec![script.trim().to_owned()],
                place: ShellState::default(),
                has_conflicts: false,
            };
            return Self {
                chain: vec![(whole.clone(), true)],
                whole,
                hides: false,
                is_filtered: false,
            };
        }
        let mut place = ShellState::default();
        moves.into_iter().for_each(|it| place.enter(it));
        let script = behind;
        let masked = without_redirections(&masked);
        let (end, hides) = without_filters(&masked);
        let whole = masked.get(..end).unwrap_or_default();
        let start = whole.rfind(';').map_or(0, |at| at + 1);
        let last = whole.get(start..).unwrap_or_default();
        let mut chain = Vec::new();
        let mut is_filtered = end < masked.len();
        let whole_words = Bare::of((&place, script), &masked, 0..end);
        let before = masked.get(..start).unwrap_or_default();
        for part in parts(before) {
            place.enter(script.get(part).unwrap_or_default());
        }
        // Of `a || b`, one may never have run.
        if hides != Some(Hides::All) && !last.contains("||") {
            let mut at = start;
            for part in last.split("&&") {
                let (end, hidden) = without_filters(part);
                is_filtered |= end < part.len();
                let bare = Bare::of((&place, script), &masked, at..at + end);
                chain.push((bare, hidden.is_none()));
                place.enter(script.get(at..at + part.len()).unwrap_or_default());
                at += part.len() + 2;
            }
            if let Some((_, shows)) = chain.last_mut() {
                *shows &= hides.is_none();
            }
        }
        Self {
            whole: whole_words,
            chain,
            hides: hides.is_some(),
            is_filtered,
        }
    }

    /// The words, one space between them.
    pub fn text(&self) -> String {
        self.whole.words.join(" ")
    }

    /// Returns true if it is a script of several lines.
    pub fn is_whole_script(&self) -> bool {
        self.whole.words.iter().any(|word| word.contains('\n'))
    }

    /// The changes of folder and settings in front of all of it.
    pub const fn place(&self) -> &ShellState {
        &self.whole.place
    }

    /// The commands that have to work before a failure of this line is over, which may have left conflicts.
    pub fn open(&self, has_conflicts: bool) -> Vec<Bare> {
        let all = || self.chain.iter().map(|(it, _)| it);
        let mut open: Vec<Bare> = all().filter(|it| !it.prepares()).cloned().collect();
        if open.is_empty() {
            open.push(self.whole.clone());
        }
        let mut merges = open.iter_mut().filter(|it| it.begins(&["git", "merge"]));
        // Of several merges, a commit concludes one.
        if let (Some(merge), None) = (merges.next(), merges.next()) {
            merge.has_conflicts = has_conflicts;
        }
        open
    }

    /// Returns true if a filter may hide how its last command ended, and no other.
    pub fn hides_its_end(&self) -> bool {
        self.hides && !self.chain.is_empty()
    }

    /// Returns true if it does nothing but run tests.
    pub fn only_tests(&self) -> bool {
        matches!(self.chain.as_slice(), [(only, _)] if only.is_test())
    }

    /// The commands that worked if the line did not fail. A pipe hides the exit code of what stands in front of it, so that
    /// nothing behind one is taken to have worked where the output may report an error.
    pub fn worked(&self, may_have_failed: bool) -> Vec<&Bare> {
        let is_hidden = self.is_filtered && may_have_failed;
        let shown = self.chain.iter().filter(|(_, shows)| *shows && !is_hidden);
        shown.map(|(it, _)| it).collect()
    }
}

impl ShellState {
    /// Takes a command as a change of the place, if it is one.
    fn enter(&mut self, command: &str) {
        let command = command.trim();
        let (program, to) = command.split_once(' ').unwrap_or((command, ""));
        /// The most that is remembered, in bytes.
        const LONGEST: usize = 1_000;
        let (place, program) = match program {
            "cd" | "pushd" => (&mut self.folder, "cd"),
            "." => (&mut self.settings, "source"),
            "export" | "source" => (&mut self.settings, program),
            _ => return,
        };
        if program == "cd" && to.trim_start().starts_with(['/', '~']) {
            place.clear();
        }
        if place.len() + command.len() < LONGEST {
            place.push_str(&format!("{program} {to} && "));
        }
    }

    /// Returns true if two commands name different folders or settings. One that names none may run in any.
    pub fn is_apart(&self, other: &Self) -> bool {
        let is_apart = |it: &str, other: &str| it != other && !it.is_empty() && !other.is_empty();
        is_apart(&self.folder, &other.folder) || is_apart(&self.settings, &other.settings)
    }

    /// A command behind the changes.
    pub fn before(&self, command: &str) -> String {
        format!("{}{}{command}", self.folder, self.settings)
    }
}

impl Bare {
    /// The words in a part of a script, without what `masked` has as spaces.
    fn of((place, script): (&ShellState, &str), masked: &str, part: Range<usize>) -> Self {
        let is_blank = |at: usize| masked.as_bytes().get(at) == Some(&b' ');
        let letters = script.char_indices().filter(|(at, _)| part.contains(at));
        let letters = letters.map(|(at, it)| if is_blank(at) { ' ' } else { it });
        let text: String = letters.collect();
        let mut out = Self {
            words: text.split_whitespace().map(str::to_owned).collect(),
            place: place.clone(),
            has_conflicts: false,
        };
        out.simplify();
        if out.is_test() {
            out.words.retain(|word| !LOUD.contains(&word.as_str()));
        }
        out
    }

    /// Takes out words that change how a program is found, how much it prints and how many jobs it runs.
    fn simplify(&mut self) {
        if let [python, option, ..] = self.words.as_slice()
            && python.starts_with("python")
            && option == "-m"
        {
            self.words.drain(..2);
        }
        let is_of = |programs: &[&str]| {
            let first = self.words.first();
            first.is_some_and(|it| programs.contains(&it.as_str()))
        };
        if is_of(&["cargo", "cmake", "make", "ninja"]) {
            let mut is_number = false;
            self.words.retain(|word| {
                let jobs = word
                    .strip_prefix("--jobs=")
                    .or_else(|| word.strip_prefix("-j"));
                let is_jobs = word == "--jobs" || jobs.is_some();
                let is_value = is_number && word.bytes().all(|it| it.is_ascii_digit());
                let is_kept = !is_jobs && !is_value;
                is_number = word == "--jobs" || jobs == Some("");
                is_kept
            });
        } else if is_of(&["npm", "pnpm", "yarn"]) {
            self.words.retain(|word| word != "--silent" && word != "-s");
        }
    }

    /// Returns true if it runs tests: `go test`, `pytest`, `npm run test:unit`.
    fn is_test(&self) -> bool {
        /// Programs that take names of other things.
        const OTHERS: [&str; 4] = ["docker", "git", "kubectl", "podman"];
        if self
            .words
            .first()
            .is_some_and(|it| OTHERS.contains(&it.as_str()))
        {
            return false;
        }
        let is_test = |word: &String| {
            let mut parts = word.split(|it: char| !it.is_alphanumeric());
            TESTERS.contains(&word.as_str()) || parts.any(|it| it == "test" || it == "tests")
        };
        self.words.iter().take(3).any(is_test)
    }

    fn begins(&self, words: &[&str]) -> bool {
        let own = self.words.get(..words.len());
        own.is_some_and(|own| own.iter().eq(words))
    }

    /// Returns true if it is a merge that a commit may conclude.
    pub const fn has_conflicts(&self) -> bool {
        self.has_conflicts
    }

    /// Takes note of a script that gives merges up.
    pub fn follow(&mut self, script: &str) {
        let has = |words: &str| script.contains(words);
        let is_reset = has("git reset") && (has("--hard") || has("--merge"));
        self.has_conflicts &= !has("merge --abort") && !has("merge --quit") && !is_reset;
    }

    fn prepares(&self) -> bool {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let [first, ..] = words.as_slice() else {
            return true;
        };
        let two = words.get(..2).unwrap_or_default().join(" ");
        SAY.contains(first) || PREPARE.iter().any(|it| it == first || *it == two)
    }

    /// Returns true if success of this command ends a failure of `other`: the same command, the same tests or fewer, what
    /// this one goes on with, an earlier try to commit, one to push the same, or a merge that a commit concludes.
    pub fn covers(&self, other: &Self) -> bool {
        let (own, others) = (self.words.as_slice(), other.words.as_slice());
        if self.place.is_apart(&other.place) || own.first() != others.first() {
            return false;
        }
        let is_concluded = other.has_conflicts
            && self.begins(&["git", "commit"])
            && !own.iter().any(|it| it == "--dry-run");
        own == others
            || is_concluded
            || widens(own, others)
            || self.is_test() && chooses(own, others)
            || goes_on(own, others)
    }
}

/// Returns true if the command does the same for more parts of a project.
fn widens(own: &[String], others: &[String]) -> bool {
    let is_more = |word: &&String| WIDEN.contains(&word.as_str()) && !others.contains(word);
    let mut same = own.iter().filter(|word| !is_more(word));
    own.len() > others.len()
        && others.iter().all(|it| same.next() == Some(it))
        && same.next().is_none()
}

/// Returns true if the others run the same tests with options that choose among them.
fn chooses(own: &[String], others: &[String]) -> bool {
    let mut own = own.iter().peekable();
    let mut is_value = false;
    let has_only_options = others.iter().all(|word| {
        if std::mem::take(&mut is_value) {
            return true;
        }
        if own.next_if(|it| *it == word).is_some() {
            return true;
        }
        is_value = CHOOSE.contains(&word.as_str());
        let mut names = CHOOSE.iter().filter_map(|it| word.strip_prefix(it));
        is_value || CHOOSE_ALONE.contains(&word.as_str()) || names.any(|it| it.starts_with('='))
    });
    has_only_options && own.peek().is_none()
}

/// Returns true if the first command of `git` goes on with the other, or does the same again.
fn goes_on(own: &[String], others: &[String]) -> bool {
    let ([git, command, options @ ..], [_, other, ..]) = (own, others) else {
        return false;
    };
    let is_push = |words: &[String]| -> Vec<String> {
        let words = words.iter().filter(|it| !PUSH.contains(&it.as_str()));
        words.cloned().collect()
    };
    git == "git"
        && command == other
        && match command.as_str() {
            "commit" => !options.iter().any(|it| it == "--dry-run"),
            "push" => is_push(own) == is_push(others),
            _ => options == ["--continue"] || options == ["--skip"],
        }
}

/// The commands of a line.
fn parts(masked: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    masked.split([';', '&', '|']).map(move |part| {
        let start = at;
        at += part.len() + 1;
        start..start + part.len()
    })
}

/// Returns true if a command of a line stands inside something else.
pub(super) fn binds(masked: &str) -> bool {
    let mut commands = masked.split(['|', ';', '&']);
    commands.any(|command| {
        let first = command.split_whitespace().next().unwrap_or_default();
        first.starts_with(['(', '{']) || BIND.contains(&first)
    })
}

/// The outcomes that a filter may hide.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hides {
    /// How the command in front of it ended.
    Last,
    /// How any command of the line ended.
    All,
}

/// The end of a command line without the filters behind it, and what these may hide.
fn without_filters(masked: &str) -> (usize, Option<Hides>) {
    let (mut end, mut hides) = (masked.len(), None);
    while let Some((at, hidden)) = masked.get(..end).and_then(filter) {
        end = at;
        hides = match (hides, hidden) {
            (Some(Hides::All), _) | (_, Some(Hides::All)) => Some(Hides::All),
            (before, hidden) => before.or(hidden),
        };
    }
    (end, hides)
}

/// The place of the last filter behind a command, and what it may hide.
fn filter(masked: &str) -> Option<(usize, Option<Hides>)> {
    const ENDS: [char; 3] = ['|', ';', '&'];
    let at = masked.rfind(ENDS)?;
    let start = masked.get(..=at)?.trim_end_matches(ENDS).len();
    let (separator, last) = (masked.get(start..=at)?, masked.get(at + 1..)?);
    let program = last.split_whitespace().next();
    let is_one_of = |names: &[&str]| program.is_some_and(|it| names.contains(&it));
    let keeps = last.contains('>') || program == Some("sed") && last.contains(" -i");
    // Nothing would be left of a line that only shows something.
    if keeps || masked.get(..start)?.trim().is_empty() {
        return None;
    }
    let hides = match separator {
        "|" | "|&" if is_one_of(&KEEP_THE_END) => None,
        "|" | "|&" if is_one_of(&HIDE_THE_END) => Some(Hides::Last),
        "||" | ";" if is_one_of(&SAY) => Some(Hides::All),
        "&&" if is_one_of(&SAY) => None,
        ";" if program.is_none() => None,
        _ => return None,
    };
    Some((start, hides))
}

/// Returns true if a script is a search, or filters what one command prints: exit code 1 says that nothing was found.
pub(super) fn searches(script: &str) -> bool {
    let (masked, is_whole) = without_quotes(behind_moves(script));
    let masked = without_redirections(&masked);
    let last = masked.rsplit('|').next();
    let program = last.and_then(|last| last.split_whitespace().next());
    is_whole
        && !masked.contains([';', '&', '\n'])
        && !masked.contains("||")
        && program.is_some_and(|it| ["grep", "egrep", "fgrep", "rg", "ag"].contains(&it))
}

/// A script without redirections that keep nothing; each letter keeps its place.
pub(super) fn without_redirections(masked: &str) -> String {
    let blank = |text: String, it: &&str| text.replace(it, &" ".repeat(it.len()));
    NOWHERE.iter().fold(masked.to_owned(), blank)
}

/// The line of a command that says what it does: without a change of folder or environment in front, one line.
pub(super) fn shown(script: &str) -> String {
    let behind = behind_moves(script);
    let first = behind.lines().next().unwrap_or_default().trim();
    let shown = clipped(&first.replace(" 2>&1", ""));
    match first == behind {
        true => shown,
        false => format!("{} …", shown.trim_end_matches(" …")),
    }
}

/// A script without a change of folder or environment in front.
fn behind_moves(script: &str) -> &str {
    moves(script).1
}

/// The changes of folder or environment in front of a script, and the rest. A script that does nothing else has none.
fn moves(script: &str) -> (Vec<&str>, &str) {
    let script = script.trim();
    let (mut moves, mut behind) = (Vec::new(), script);
    while moves.len() < MOVES && ["cd ", "export "].iter().any(|it| behind.starts_with(it)) {
        let (masked, is_whole) = without_quotes(behind);
        // What stands in a command within another is not read.
        let end = masked.find("&&");
        let end = end.or_else(|| behind.find("&&").filter(|_| !is_whole));
        let Some((first, rest)) = end.and_then(|end| behind.split_at_checked(end)) else {
            break;
        };
        let own = masked.get(..first.len()).unwrap_or(&masked);
        if own.contains([';', '|', '&', '\n']) {
            break;
        }
        moves.push(first);
        behind = rest.trim_start_matches(['&', '\\', '\n', ' ']);
    }
    match behind {
        "" => (Vec::new(), script),
        behind => (moves, behind),
    }
}

/// A script with [`QUOTED`] for each byte of a quotation and of a letter behind a backslash, and true if that is all
/// of it: it is read up to a command within another, or to a quotation without an end.
pub(super) fn without_quotes(script: &str) -> (String, bool) {
    let mut out = String::with_capacity(script.len());
    let mut open = None;
    let mut letters = script.char_indices().peekable();
    let quoted = |out: &mut String, bytes: usize| out.extend(iter::repeat_n(QUOTED, bytes));
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        let is_nested = letter == '`' || letter == '$' && next == Some('(');
        match (open, letter) {
            (None | Some('"'), _) if is_nested => {
                let Some(text) = script.get(at..).and_then(here_text) else {
                    return (out, false);
                };
                quoted(&mut out, text);
                while letters.next_if(|&(it, _)| it < at + text).is_some() {}
            }
            (None | Some('"'), '\\') => {
                let next = letters.next().map_or(0, |(_, next)| next.len_utf8());
                quoted(&mut out, letter.len_utf8() + next);
            }
            (None, '\'' | '"') => {
                open = Some(letter);
                quoted(&mut out, 1);
            }
            (Some(quote), _) if letter == quote => {
                open = None;
                quoted(&mut out, 1);
            }
            (Some(_), _) => quoted(&mut out, letter.len_utf8()),
            (None, _) => out.push(letter),
        }
    }
    (out, open.is_none())
}

/// The length of a here-document that is taken as a text, in bytes: `$(cat <<'EOF'`, its lines, `EOF` and `)`.
fn here_text(script: &str) -> Option<usize> {
    let (line, mut rest) = script.split_once('\n')?;
    let (word, has_tabs) = here_documents::delimiter(line.strip_prefix("$(cat ")?)?;
    // Nothing stands behind the word that ends it.
    let is_plain = line
        .trim_end()
        .ends_with([word.chars().next_back()?, '\'', '"']);
    loop {
        let (line, behind) = rest.split_once('\n')?;
        rest = behind;
        let line = if has_tabs {
            line.trim_start_matches('\t')
        } else {
            line
        };
        if line == word {
            let behind = rest.trim_start();
            let is_closed = is_plain && behind.starts_with(')');
            return is_closed.then(|| script.len() - behind.len() + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Core;

    /// Checks what a command line runs, and if the end of it may be hidden.
    #[track_caller]
    fn check(script: &str, text: &str, hides: bool) {
        let core = Core::of(script);
        assert_eq!(
            (core.text().as_str(), core.hides),
            (text, hides),
            "{script}"
        );
    }

    #[test]
    fn filters_and_redirections_are_left_out() {
        check("make", "make", false);
        check("cd a && make  all 2>&1 | tail -20", "make all", false);
        check("make > /dev/null 2>&1", "make", false);
        check("make 2>&1 | tee log | tail -5;", "make", false);
        check("make |& grep -E 'a|b' | head -3", "make", true);
        check("make; echo \"exit $?\"", "make", true);
        check("make || true", "make", true);
        check("make && echo done", "make", false);
        check("make > log 2>&1", "make > log", false);
        check("a && b | wc -l", "a && b", true);
        check("go test -v ./a -count=1 | tail", "go test ./a", false);
    }

    #[test]
    fn a_search_is_known() {
        assert!(super::searches("grep -n 'a | b' c"));
        assert!(super::searches("cd a && make 2>/dev/null | grep \"x\" "));
        for script in [
            "grep a b | head",
            "grep `make`",
            "make && grep a b",
            "make; grep a b",
            "make || grep a b",
            "",
        ] {
            assert!(!super::searches(script), "{script}");
        }
    }

    #[test]
    fn what_does_more_than_filter_stays() {
        for script in [
            "echo 'a | tail' b",
            "cat a.sql | psql prod",
            "a; b",
            "make | sort > names",
            "| tail -3",
            "grep -v a b",
            "a & b",
            "for f in *; do ./a $f; done",
            "(make | tail)",
            "set -e; make; ./run | tail",
            "if make; then echo a; fi",
        ] {
            check(script, script, false);
        }
        check("a `b | tail`", "a `b | tail`", false);
        check(
            "a $(cat <<E | tail\nb\nE\n) | tail",
            "a $(cat <<E | tail\nb\nE\n) | tail",
            false,
        );
        check(
            "a $(cat <<E\nb\nE) | tail",
            "a $(cat <<E\nb\nE) | tail",
            false,
        );
        check("a $(cat <<E\nb\nE\n) | tail", "a $(cat <<E b E )", false);
        check("a\nb | tail", "a\nb | tail", false);
        check("cd a\nt && b | tail", "cd a\nt && b | tail", false);
    }

    #[track_caller]
    fn check_open(failed: &str, later: &str, expected: &[&str]) {
        let (failed, later) = (Core::of(failed), Core::of(later));
        let worked = later.worked(false);
        let open = failed.open(false).into_iter();
        let open = open.filter(|it| !worked.iter().any(|worked| worked.covers(it)));
        let open: Vec<String> = open.map(|it| it.words.join(" ")).collect();
        assert_eq!(open, expected);
    }

    #[test]
    fn a_failure_is_over_where_all_of_it_worked() {
        check_open("make", "make 2>&1", &[]);
        check_open("make", "make all", &["make"]);
        check_open("make && ./run", "make && ./run | tail -3", &[]);
        check_open("make && ./run", "./run", &["make"]);
        check_open(
            "git fetch origin && git rebase main",
            "git rebase main",
            &[],
        );
        check_open(
            "git add a && git rebase main",
            "rm -f b && git rebase --continue",
            &[],
        );
        check_open(
            "git rebase main",
            "git rebase --abort",
            &["git rebase main"],
        );
        check_open("a | grep x && b", "a && b", &[]);
        check_open("a && b", "a | grep x && b", &["a"]);
        check_open("a && b", "a && b | grep x", &["b"]);
        check_open("a && b", "a && b || true", &["a", "b"]);
        check_open("a && b", "a || b", &["a", "b"]);
        check_open("a; b", "b", &[]);
        check_open("cd a; make", "cd a && make", &[]);
        check_open("cd a; make", "cd b; make", &["make"]);
        check_open("cd a; make", "make", &[]);
        check_open("x && cd /a && make", "x; cd /b && make", &["x", "make"]);
        check_open("cd b && cd /a && make", "cd /a; make", &[]);
        check_open("pushd a && make && popd", "cd a && make", &[]);
        check_open(". e/activate && make", "source e/activate && make", &[]);
        check_open("cd a || exit 1; t && git push", "git push", &["t"]);
        check_open("cd 'R && D' && make", "cd 'R && S' && make", &["make"]);
        check_open(
            "export DB=prod && ./up",
            "export DB=test && ./up",
            &["./up"],
        );
        check_open("export DB=prod && ./up", "cd a && ./up", &[]);
        check_open(
            "docker run test -t b",
            "docker run test",
            &["docker run test -t b"],
        );
        check_open("a", "a; b", &["a"]);
    }

    #[test]
    fn a_wider_run_of_tests_covers_a_narrower_one() {
        check_open(
            "go test ./a -run 'TestX|TestY' -v | tail",
            "go test ./a",
            &[],
        );
        check_open("pytest -k name -x", "pytest", &[]);
        check_open("go test -run=TestX ./a", "go test ./a", &[]);
        check_open("go test -race ./b", "go test", &["go test -race ./b"]);
        check_open(
            "./deploy-latest --prod",
            "./deploy-latest",
            &["./deploy-latest --prod"],
        );
        check_open("go test ./a", "go test ./a -run TestX", &["go test ./a"]);
        check_open("go test ./b", "go test ./a", &["go test ./b"]);
        check_open("pytest a.py", "pytest", &["pytest a.py"]);
        check_open("go vet ./a", "go test ./a", &["go vet ./a"]);
    }
}
