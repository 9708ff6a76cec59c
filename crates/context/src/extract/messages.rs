//! Lines in the output of commands that tell how they ended, and lines that tell nothing of it.

use super::purposes::only_looks;

/// Returns true for a line that a client puts behind the output of a command: Claude Code, SWE-agent.
pub(super) fn is_trailer(line: &str) -> bool {
    const BEGINNINGS: [&str; 3] = [
        "Shell cwd was reset to ",
        "(Open file: ",
        "(Current directory: ",
    ];
    line == "bash-$" || BEGINNINGS.iter().any(|it| line.starts_with(it))
}

/// Returns true if a script ends with the list of commits, and nothing in front of it does more than show something.
pub(super) fn is_log(script: &str) -> bool {
    let mut commands = script.rsplit(['&', ';', '\n']);
    let last = commands.find(|it| !it.trim().is_empty());
    last.is_some_and(|it| it.trim_start().starts_with("git log")) && only_looks(script)
}

/// Returns true if a line is code that a linter shows, and not its message: `t.Fatalf("no error");`.
pub(super) fn is_code_line(line: &str) -> bool {
    let is_message = line.to_lowercase().contains("error:");
    !is_message && (line.ends_with(['{', ';']) || line.contains("(\"") && line.ends_with(')'))
}

/// Returns true if a line repeats a command, as runners of tasks do: `[lint] $ cargo clippy`.
pub(super) fn echoes(line: &str) -> bool {
    let behind = line.strip_prefix('[').and_then(|it| it.split_once("] "));
    let line = behind.map_or(line, |(_, line)| line);
    line.starts_with("$ ")
}

/// Returns true if a runner of tasks sums up there that one failed: `[lint] ERROR task failed`.
pub(super) fn sums_up(line: &str) -> bool {
    line.starts_with('[') && line.contains("] ERROR ")
}

/// Returns true if a line in lower case names an error.
pub(super) fn names_error(line: &str) -> bool {
    let words = [
        "error",
        "fail",
        "panic",
        "exception",
        "not found",
        "no such file",
        "invalid option",
        "denied",
        "cannot",
    ];
    words.iter().any(|word| line.contains(word))
}

/// Returns true if a line reports an error, other than that there are none.
pub(super) fn reports(line: &str) -> bool {
    const WORDS: [&str; 13] = [
        "***",
        "abort",
        "aborted",
        "cannot",
        "error",
        "errors",
        "fail",
        "failed",
        "failure",
        "fatal",
        "killed",
        "panic",
        "traceback",
    ];
    let lower = line.to_lowercase();
    let mut before = "";
    lower
        .split([' ', '\t', ':', '(', ')', '[', ']', ','])
        .any(|word| {
            let is_none = matches!(before, "0" | "no");
            if !word.is_empty() {
                before = word;
            }
            !is_none && WORDS.contains(&word)
        })
}

/// Returns true if a line begins with a place in a file, as compilers and linters report an error: `a.go:12:5: `.
pub(super) fn names_a_place(line: &str) -> bool {
    behind_line(line).is_some_and(|it| it.split(':').next().is_some_and(is_number))
}

/// Returns true if a line begins with a line of a file and words about it: `a.go:12: the rows are sorted`. Searches
/// print such lines too.
pub(super) fn names_a_line(line: &str) -> bool {
    behind_line(line).is_some_and(|it| it.starts_with(' '))
}

/// The text behind `a.go:12:` at the beginning of a line, unless it is a warning.
fn behind_line(line: &str) -> Option<&str> {
    let lower = line.to_lowercase();
    if ["warning", "note:"].iter().any(|it| lower.contains(it)) {
        return None;
    }
    let (file, rest) = line.trim_start().split_once(':')?;
    let (number, behind) = rest.split_once(':')?;
    (file.contains('.') && !file.contains(' ') && is_number(number)).then_some(behind)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}
