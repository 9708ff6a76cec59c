//! Behavior: what a model does when most of a conversation was replaced by a summary.
//!
//! In each case, the user says something first (a rule, a fact, that a task is closed), the work goes on for
//! long, and the user asks last. The interview asks for what only the runtime note tells: the time, the fullness
//! of the window, the number of compactions. The words of an answer decide, no model judges.

use context::Role;
use serde::Serialize;

const CASES: &str = include_str!("behaviour/cases.tsv");

/// The number of exchanges between what the user says first and what they ask last.
const EXCHANGES: usize = 40;

/// The ability that a case tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A rule is followed.
    Rule,
    /// A fact is known.
    Fact,
    /// A closed task stays closed.
    Closed,
    /// The model knows the state of its own memory.
    Interview,
}

/// The form in which the model sees the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// All of it.
    Whole,
    /// A summary and the newest part, with the note about its memory.
    Compacted,
    /// The same without the note.
    CompactedWithoutNote,
}

impl Kind {
    /// The name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rule => "rules followed",
            Self::Fact => "facts known",
            Self::Closed => "closed tasks left closed",
            Self::Interview => "interview",
        }
    }

    /// The memories that are compared.
    #[must_use]
    pub const fn memories(self) -> [Memory; 2] {
        match self {
            Self::Interview => [Memory::Compacted, Memory::CompactedWithoutNote],
            _ => [Memory::Whole, Memory::Compacted],
        }
    }
}

impl Memory {
    /// The name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Compacted => "compacted",
            Self::CompactedWithoutNote => "compacted, no note",
        }
    }
}

/// A case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The ability that it tests.
    pub kind: Kind,
    /// The user's first words; empty in the interview.
    pub said: &'static str,
    /// The user's last words.
    pub asks: &'static str,
    /// The content of a right answer: ` & ` between parts, `|` between alternatives, or the name of a fact.
    pub wants: &'static str,
    /// Content that makes it wrong, with `|` between.
    pub bars: &'static str,
}

/// The state of the conversation when the last question is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// The date, as YYYY-MM-DD.
    pub date: String,
    /// The whole hours since the message before.
    pub hours: u32,
    /// The part of the window that is in use, in percent.
    pub percent: f64,
    /// The number of compactions.
    pub compactions: u32,
}

/// All cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    CASES.lines().filter_map(case).collect()
}

fn case(line: &'static str) -> Option<Case> {
    let mut fields = line.split('\t');
    let kind = match fields.next()? {
        "rule" => Kind::Rule,
        "fact" => Kind::Fact,
        "closed" => Kind::Closed,
        "interview" => Kind::Interview,
        _ => return None,
    };
    Some(Case {
        kind,
        said: fields.next()?,
        asks: fields.next()?,
        wants: fields.next()?,
        bars: fields.next()?,
    })
}

impl Case {
    /// The conversation before the last question.
    #[must_use]
    pub fn conversation(&self) -> Vec<(Role, String)> {
        let opening = match self.said {
            "" => "Help me read these files.",
            said => said,
        };
        let mut said = vec![
            (Role::User, opening.to_owned()),
            (Role::Assistant, "Understood.".to_owned()),
        ];
        for n in 1..=EXCHANGES {
            said.push((Role::User, format!("Describe file {n}.")));
            said.push((Role::Assistant, description(n)));
        }
        said
    }

    /// Judges an answer.
    #[must_use]
    pub fn is_right(&self, answer: &str, truth: &Truth) -> bool {
        let answer = answer.to_lowercase();
        let near = |wanted: f64, by: f64| {
            number(&answer).is_some_and(|found| (found - wanted).abs() <= by)
        };
        match self.wants {
            "@date" => answer.contains(&truth.date),
            "@hours" => near(f64::from(truth.hours), 0.0),
            "@percent" => near(truth.percent, 3.0),
            "@compactions" => near(f64::from(truth.compactions), 0.0),
            "@yes" => {
                let wanted = if truth.compactions > 0 { "yes" } else { "no" };
                answer.trim_start().starts_with(wanted)
            }
            wants => {
                let mut parts = wants.split(" & ");
                parts.all(|part| any(part, &answer)) && !any(self.bars, &answer)
            }
        }
    }
}

/// True if one of the alternatives stands in a text.
fn any(alternatives: &str, text: &str) -> bool {
    let mut alternatives = alternatives.split('|').filter(|it| !it.is_empty());
    alternatives.any(|it| text.contains(it))
}

/// The first number in a text.
fn number(text: &str) -> Option<f64> {
    let from = text.find(|it: char| it.is_ascii_digit())?;
    let rest = text.get(from..)?;
    let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.');
    let found = rest.get(..end.unwrap_or(rest.len()))?;
    found.trim_end_matches('.').parse().ok()
}

/// Words of the assistant about a file; no case speaks of them.
fn description(n: usize) -> String {
    const PARTS: [&str; 4] = ["reader", "writer", "cache", "scheduler"];
    let part = PARTS.get(n % PARTS.len()).copied().unwrap_or_default();
    let line = |k: usize| {
        format!(
            "Function {part}_{n}_{k} takes a slice, checks its bounds and calls the next stage. "
        )
    };
    (0..12).map(line).collect()
}

/// Right answers among those that were given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Right answers.
    pub right: u32,
    /// All answers.
    pub asked: u32,
}

impl Share {
    /// Counts an answer.
    pub fn count(&mut self, is_right: bool) {
        self.right += u32::from(is_right);
        self.asked += 1;
    }

    /// The share; 0 without answers.
    #[must_use]
    pub fn of_all(self) -> f64 {
        if self.asked == 0 {
            return 0.0;
        }
        f64::from(self.right) / f64::from(self.asked)
    }

    /// The interval that holds the true share with 95 % confidence (Wilson 1927); all of it without answers.
    #[must_use]
    pub fn interval(self) -> (f64, f64) {
        const Z: f64 = 1.959_964;
        if self.asked == 0 {
            return (0.0, 1.0);
        }
        let (share, n) = (self.of_all(), f64::from(self.asked));
        let spread = (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt() * Z;
        let (middle, scale) = (share + Z * Z / (2.0 * n), 1.0 + Z * Z / n);
        let low = ((middle - spread) / scale).max(0.0);
        (low, ((middle + spread) / scale).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::{Case, Kind, Share, Truth, cases};

    fn truth() -> Truth {
        Truth {
            date: "2031-05-17".to_owned(),
            hours: 5,
            percent: 41.6,
            compactions: 2,
        }
    }

    #[test]
    fn every_kind_has_several_cases_and_no_question_gives_its_answer() {
        let cases = cases();
        for kind in [Kind::Rule, Kind::Fact, Kind::Closed, Kind::Interview] {
            let of_kind = cases.iter().filter(|case| case.kind == kind);
            assert!(of_kind.count() >= 5, "{kind:?}");
        }
        for case in cases {
            assert!(!case.wants.is_empty(), "{case:?}");
            for answer in ["", case.asks, "Understood.", "I do not know."] {
                assert!(!case.is_right(answer, &truth()), "{case:?} {answer}");
            }
            let work: Vec<_> = case.conversation().into_iter().skip(2).collect();
            let work = work.iter().map(|(_, text)| &**text).collect::<String>();
            assert!(!case.is_right(&work, &truth()), "{case:?}");
        }
    }

    fn check(asks: &str, right: &[&str], wrong: &[&str]) {
        let all: Vec<Case> = cases();
        let case = all.iter().find(|case| case.asks.contains(asks)).unwrap();
        for answer in right {
            assert!(case.is_right(answer, &truth()), "{answer}");
        }
        for answer in wrong {
            assert!(!case.is_right(answer, &truth()), "{answer}");
        }
    }

    #[test]
    fn words_decide() {
        check("two plus two", &["Four. KESTREL"], &["Four."]);
        check(
            "first program",
            &["PERSON did."],
            &["Ada Lovelace.", "PERSON (Lovelace)"],
        );
        check("capital", &["[[Paris]]"], &["Paris", "[[Paris", "[[Rome]]"]);
        check("budget", &["8450 euros", "EUR 8,450"], &["8,540"]);
        check(
            "left to do",
            &["The changelog."],
            &["The parser, then the changelog."],
        );
        check("date", &["It is 2031-05-17."], &["2031-05-18"]);
        check("hours", &["About 5 hours.", "5"], &["15", "none"]);
        check(
            "percentage",
            &["41.6 %", "42%", "Around 40."],
            &["45.1", "4"],
        );
        check("many compactions", &["2."], &["1", "12"]);
        check(
            "experienced",
            &["Yes, twice."],
            &["No.", "I think so, yes."],
        );
    }

    #[test]
    fn the_interval_is_wilsons() {
        let interval = |right, asked| {
            let (low, high) = Share { right, asked }.interval();
            format!("{low:.4} {high:.4}")
        };
        // Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        assert_eq!(interval(81, 263), "0.2553 0.3662");
        assert_eq!(interval(15, 148), "0.0624 0.1605");
        assert_eq!(interval(0, 20), "0.0000 0.1611");
        assert_eq!(interval(1, 29), "0.0061 0.1718");
        assert_eq!(interval(0, 0), "0.0000 1.0000");
    }
}
