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

/// The first line that the user typed, without what the client put beside it. A command such as `/model` says little
/// about the task, so it counts only if the user typed nothing else.
#[must_use]
pub fn first_words(turns: &[Turn]) -> Option<String> {
    let first = turns.get(..FIRST.min(turns.len()))?;
    let standing = Standing::of(first, Tokens::new(u64::MAX)).apart();
    let turns = first.iter().enumerate();
    let mut lines = turns.flat_map(|(index, turn)| {
        let elsewhere = &standing.elsewhere;
        lines_of_parts(turn, move |part| !elsewhere.contains(&(index, part)))
    });
    let mut command: Option<&str> = None;
    let says = |line: &&str| {
        let letters = line.chars().filter(|it| it.is_alphanumeric());
        letters.count() >= LETTERS
    };
    let words = lines.by_ref().filter(says).find(|line| {
        let is_command = line.trim_start().starts_with('/');
        // One with arguments says more.
        let has_more = |line: &str| line.trim().contains(' ');
        if is_command && command.is_none_or(|known| has_more(line) && !has_more(known)) {
            command = Some(*line);
        }
        !is_command
    });
    let line = words.or(command)?;
    // "Implement the following plan:" says it with the next line.
    let goes_on = line.trim_end().ends_with(':');
    let next = lines.find(says).filter(|_| goes_on).unwrap_or_default();
    let words = line.split_whitespace();
    let next = next.trim_start().trim_start_matches('#').split_whitespace();
    Some(words.chain(next).collect::<Vec<_>>().join(" "))
}

/// Returns true for a name that begins with a long number in hexadecimal, such as a UUID, and for no name.
#[must_use]
pub fn is_session_id(name: &str) -> bool {
    const DIGITS: usize = 32;
    let first = name.split([' ', '.', '#']).next().unwrap_or_default();
    let mut digits = first.chars().filter(|it| *it != '-');
    name.is_empty() || (first.len() >= DIGITS && digits.all(|it| it.is_ascii_hexdigit()))
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

    use super::{is_session_id, title};

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
        check(
            &[
                (Role::User, &["/clear"]),
                (Role::User, &["/review 12"]),
                (Role::Assistant, &["Done."]),
            ],
            Some("/review 12"),
        );
        check(
            &[(
                Role::User,
                &["Carry out this plan:\n\n## Mend the importer"],
            )],
            Some("Carry out this plan: Mend the importer"),
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
    fn ids_are_no_names() {
        let ids = [
            "",
            "61cb3ba8-484b-4a21-bf99-34f7dc361170",
            "2026-01-06-f6833005-7be4-4178-bb37-a0e9feadc36b",
            "61cb3ba8-484b-4a21-bf99-34f7dc361170 · agent 2",
        ];
        assert!(ids.into_iter().all(is_session_id));
        assert!(
            !["large-session", "deadbeef", "session 3"]
                .into_iter()
                .any(is_session_id)
        );
    }

    #[test]
    fn a_relative_folder_is_none() {
        check(
            &[(Role::User, &["My working directory: build"])],
            Some("My working directory: build"),
        );
    }
}
