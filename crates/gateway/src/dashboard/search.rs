//! The part of the list that a visitor wants to see.

use std::collections::BTreeSet;

use super::text::one_line;
use crate::report::Line;

/// The states that can be chosen.
pub const STATES: [&str; 6] = [
    "idle",
    "preparing",
    "ready",
    "backing-off",
    "stopped",
    "observing",
];
/// The most models to choose from; others can be searched for.
const MODELS: usize = 60;

/// The part of the list to show, according to the address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// Shows only conversations whose title, name, model or id contains this text.
    pub find: String,
    /// Shows only conversations in this state; empty for all.
    pub state: String,
    /// Shows only conversations of this model, as the pages show its name; empty for all.
    pub model: String,
    /// The index of the first row, from 0.
    pub from: usize,
}

impl Search {
    /// Returns true if every conversation is wanted.
    pub(super) fn is_empty(&self) -> bool {
        self.find.trim().is_empty() && self.state.is_empty() && self.model.is_empty()
    }

    /// Returns the conversations that are wanted, ignoring case in what is searched for.
    pub(super) fn of<'a>(&self, lines: &'a [Line]) -> Vec<&'a Line> {
        let find = self.find.trim().to_lowercase();
        let is_found = |line: &Line| {
            let texts = [&line.title, &line.name, &line.model, &line.id];
            find.is_empty() || texts.iter().any(|text| text.to_lowercase().contains(&find))
        };
        lines
            .iter()
            .filter(|line| self.state.is_empty() || line.state == self.state)
            .filter(|line| self.model.is_empty() || shown(&line.model) == self.model)
            .filter(|line| is_found(line))
            .collect()
    }

    /// The query of an address with the same filters.
    pub(super) fn query(&self) -> String {
        let fields = [
            ("find", &self.find),
            ("state", &self.state),
            ("model", &self.model),
        ];
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(fields.iter().filter(|(_, value)| !value.is_empty()));
        query.finish()
    }
}

/// The name of a model as the pages show it.
fn shown(model: &str) -> String {
    one_line(model, 60)
}

/// A value to choose.
pub struct Choice {
    pub value: String,
    pub is_chosen: bool,
}

impl Choice {
    fn of(value: String, chosen: &str) -> Self {
        Self {
            is_chosen: value == chosen,
            value,
        }
    }

    /// The states, as chosen.
    pub(super) fn states(search: &Search) -> Vec<Self> {
        let choice = |state: &str| Self::of(state.to_owned(), &search.state);
        STATES.into_iter().map(choice).collect()
    }

    /// The models of these conversations in order, as chosen.
    pub(super) fn models(lines: &[Line], search: &Search) -> Vec<Self> {
        let models: BTreeSet<&str> = lines.iter().map(|line| line.model.as_str()).collect();
        let models: BTreeSet<String> = models.into_iter().map(shown).collect();
        let models = models.into_iter().filter(|model| !model.is_empty());
        let choices = models.take(MODELS);
        choices
            .map(|model| Self::of(model, &search.model))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, Search};
    use crate::dashboard::tests::sample::line;
    use crate::report::Line;

    fn lines() -> Vec<Line> {
        let mut lines = vec![line(1, None), line(2, None), line(3, None)];
        lines[1].state = "ready";
        lines[2].model = "gpt-6 <b>".to_owned();
        lines
    }

    fn search(find: &str, state: &str, model: &str) -> Search {
        Search {
            find: find.to_owned(),
            state: state.to_owned(),
            model: model.to_owned(),
            from: 0,
        }
    }

    #[test]
    fn filters_hold_together() {
        let names = |search: &Search| -> Vec<String> {
            let lines = lines();
            let found = search.of(&lines).into_iter();
            found.map(|line| line.name.clone()).collect()
        };
        let all = ["session 1", "session 2", "session 3"];
        assert_eq!(names(&Search::default()), all);
        assert_eq!(names(&search("", "ready", "")), ["session 2"]);
        assert_eq!(names(&search("", "idle", "gpt-6 <b>")), ["session 3"]);
        assert_eq!(
            names(&search("SESSION", "idle", "claude-sonnet-5")),
            ["session 1"]
        );
        assert!(names(&search("", "no such", "")).is_empty());
    }

    #[test]
    fn addresses_and_choices_repeat_the_filters() {
        let chosen = search("a&b", "", "gpt-6 <b>");
        assert_eq!(chosen.query(), "find=a%26b&model=gpt-6+%3Cb%3E");
        assert!(Search::default().is_empty() && !chosen.is_empty());
        let models = Choice::models(&lines(), &chosen);
        let models: Vec<_> = models.iter().map(|it| (&*it.value, it.is_chosen)).collect();
        assert_eq!(models, [("claude-sonnet-5", false), ("gpt-6 <b>", true)]);
    }
}
