//! The title of a conversation: the folder that its client works in, and the user's first words.

use crate::spoken::lines_of_parts;
use crate::standing::Standing;
use crate::turn::{Role, Turn};
use crate::units::Tokens;

/// The longest title, in characters.
const LONGEST: usize = 72;
/// The turns in which the user's first words are looked for.
const FIRST: usize = 40;
/// The fewest letters and digits of a first line that says something.
const LETTERS: usize = 2;
/// Words in front of a folder, as clients write their environment.
const FOLDERS: [&str; 2] = ["working directory: ", "<cwd>"];

/// The title of a conversation, on one line: `folder: first words`, either part alone where the other is missing.
#[must_use]
pub fn title(turns: &[Turn]) -> Option<String> {
    let answered = turns.iter().position(|turn| turn.role() == Role::Assistant);
    let first = turns.get(..answered.unwrap_or(turns.len()))?;
    let folder = first.iter().flat_map(Turn::texts).find_map(folder);
    match (folder, first_words(turns)) {
        (None, None) => None,
        (Some(folder), None) => Some(folder.to_owned()),
        (folder, Some(words)) => Some(titled(folder, &words)),
    }
}

/// A title of these words, with the name of a folder in front.
#[must_use]
pub fn titled(folder: Option<&str>, words: &str) -> String {
    let mut title: String = words.chars().take(LONGEST).collect();
    if title.len() < words.len() {
        title.push('…');
    }
    match folder {
        Some(folder) => format!("{folder}: {title}"),
        None => title,
    }
}

/// The first line that the user typed, without what the client put beside it. Commands such as `/model` say nothing
/// about the task.
#[must_use]
pub fn first_words(turns: &[Turn]) -> Option<String> {
    let first = turns.get(..FIRST.min(turns.len()))?;
    let standing = Standing::of(first, Tokens::new(u64::MAX)).apart();
    let turns = first.iter().enumerate();
    let mut lines = turns.flat_map(|(index, turn)| {
        let elsewhere = &standing.elsewhere;
        lines_of_parts(turn, move |part| !elsewhere.contains(&(index, part)))
    });
    let says = |line: &&str| {
        let letters = line.chars().filter(|it| it.is_alphanumeric());
        letters.count() >= LETTERS && !line.trim_start().starts_with('/')
    };
    let line = lines.find(says)?;
    Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The name of the folder at the end of a path.
#[must_use]
pub fn folder_name(path: &str) -> Option<&str> {
    let mut parts = path.split(['/', '\\']).filter(|part| !part.is_empty());
    parts.next_back()
}

/// The name of the folder that a client's environment names.
fn folder(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let after = FOLDERS.iter().find_map(|words| {
        let at = lower.find(words)? + words.len();
        text.get(at..)
    })?;
    let path = after.split(['\n', '<']).next()?.trim();
    let is_path = path.starts_with(['/', '~', '\\']) || path.get(1..3) == Some(":\\");
    is_path.then(|| folder_name(path)).flatten()
}

#[cfg(test)]
mod tests {
    use crate::counter::Heuristic;
    use crate::turn::{Part, Role, Turn, TurnDraft, TurnId};

    use super::title;

    fn check(drafts: &[(Role, &[&str])], expected: Option<&str>) {
        let mut parent = TurnId::ROOT;
        let placed = drafts.iter().map(|(role, texts)| {
            let parts = texts.iter().map(|text| Part::Text((*text).into()));
            let turn = TurnDraft::said(*role, parts.collect()).after(parent, &Heuristic);
            parent = turn.id();
            turn
        });
        let turns: Vec<Turn> = placed.collect();
        assert_eq!(title(&turns).as_deref(), expected);
    }

    #[test]
    fn titles_name_the_folder_and_the_first_words() {
        let claude = "<system-reminder>\n# Environment\n - Primary working directory: /home/ada/shop\n - Platform: linux\n</system-reminder>";
        let codex = "<environment_context>\n  <cwd>C:\\work\\mint</cwd>\n</environment_context>";
        check(
            &[(
                Role::User,
                &[claude, "  Mend the   importer.\nIt loses rows."],
            )],
            Some("shop: Mend the importer."),
        );
        check(
            &[
                (Role::User, &[codex]),
                (Role::User, &["/model\nAdd a test."]),
            ],
            Some("mint: Add a test."),
        );
        check(&[(Role::User, &["Hello there!"])], Some("Hello there!"));
        check(&[(Role::User, &[claude])], Some("shop"));
        check(&[(Role::User, &["…"]), (Role::Assistant, &["Yes?"])], None);
        check(&[], None);
        let long = "word ".repeat(60);
        let short = format!("{}…", long.trim_end().chars().take(72).collect::<String>());
        check(&[(Role::User, &[&long])], Some(&short));
    }

    #[test]
    fn a_relative_folder_is_none() {
        check(
            &[(Role::User, &["My working directory: build"])],
            Some("My working directory: build"),
        );
    }
}
