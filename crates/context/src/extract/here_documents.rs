//! Files that a shell script writes by here-documents: `cat > fix.py << 'EOF'`.
//!
//! Only plain scripts are read. Where quotes, pipes or variables may change what happens, a here-document is no file.

/// A file that a here-document writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Document {
    /// The path, in the folder that the script changed to.
    pub path: String,
    pub text: String,
    /// True if the text is put behind what the file holds.
    pub appends: bool,
}

/// The files that a script writes by here-documents, and the script without them: empty where it does nothing else. A
/// here-document that a program reads stays where it is.
pub(super) fn split(script: &str) -> (Vec<Document>, String) {
    /// The most lines with `<<` that begin none. A program that shifts bits is no shell script.
    const SHIFTS: usize = 16;
    if !script.contains("<<") {
        return (Vec::new(), script.to_owned());
    }
    let lines: Vec<&str> = script.lines().collect();
    let (mut found, mut rest, mut shifts) = (Vec::new(), Vec::new(), 0);
    let mut folder = Some(String::new());
    let mut open = lines.as_slice();
    while let [line, behind @ ..] = open {
        // Two on one line follow each other: what is whose text is not read.
        if line.matches("<<").count() > 1 || shifts > SHIFTS {
            rest.extend(open.iter().map(|&it| it.to_owned()));
            break;
        }
        let end = delimiter(line).and_then(|(word, has_tabs)| {
            let is_end = |it: &&str| match has_tabs {
                true => it.trim_start_matches('\t') == word,
                false => **it == *word,
            };
            let end = behind.iter().position(is_end);
            shifts += usize::from(end.is_none());
            end
        });
        let (text, after) = behind.split_at(end.map_or(0, |end| end + 1));
        open = after;
        let target = end.and_then(|end| Some((target(line, &mut folder)?, text.get(..end)?)));
        match target {
            Some((target, text)) => {
                rest.push(target.beside);
                found.push(Document {
                    path: target.path,
                    text: text.join("\n"),
                    appends: target.appends,
                });
            }
            None => {
                follow(line, &mut folder);
                rest.extend([line].into_iter().chain(text).map(|&it| it.to_owned()));
            }
        }
    }
    if rest.iter().all(|line| is_idle(line)) {
        rest.clear();
    }
    rest.retain(|line| !line.is_empty());
    (found, rest.join("\n"))
}

/// Returns true if a line of a script leaves nothing behind.
fn is_idle(line: &str) -> bool {
    let line = line.trim_start();
    let is_one = !line.contains(['&', ';', '|']);
    let idle = ["cd ", "set ", "export ", "mkdir -p "];
    line.is_empty() || line.starts_with('#') || is_one && idle.iter().any(|it| line.starts_with(it))
}

/// The word that ends the here-document of a line, `EOF` in `cat > a.txt <<- 'EOF'`, and true if tabs may stand in
/// front of it.
pub(super) fn delimiter(line: &str) -> Option<(&str, bool)> {
    let (_, behind) = line.split_once("<<")?;
    let (has_tabs, word) = match behind.strip_prefix('-') {
        Some(word) => (true, word),
        None => (false, behind),
    };
    let word = word.trim_start().trim_start_matches('\\');
    let quote = word.chars().next().filter(|it| matches!(it, '\'' | '"'));
    let word = match quote {
        Some(quote) => word.get(1..)?.split(quote).next()?,
        None => {
            let end = word.find(|it: char| !it.is_alphanumeric() && !"_-.".contains(it));
            word.get(..end.unwrap_or(word.len()))?
        }
    };
    (!word.is_empty()).then_some((word, has_tabs))
}

/// Follows the changes of folder in a line: `None` where it is not known any more.
fn follow(line: &str, folder: &mut Option<String>) {
    for command in line.split(['&', ';', '|']).map(str::trim) {
        let to = match command.strip_prefix("cd ") {
            Some(to) => plain(to.trim()).filter(|to| !to.starts_with('-')),
            None if command == "cd" => None,
            None => continue,
        };
        *folder = match (to, folder.take()) {
            (Some(to), _) if to.starts_with(['/', '~']) => Some(to.to_owned()),
            (Some(to), Some(from)) if from.is_empty() => Some(to.to_owned()),
            (Some(to), Some(from)) => Some(format!("{from}/{to}")),
            _ => None,
        };
    }
}

/// A word of a script without its quotes, if the shell takes it as it stands.
fn plain(word: &str) -> Option<&str> {
    let quoted = |quote| word.strip_prefix(quote)?.strip_suffix(quote);
    let inside = quoted('"').or_else(|| quoted('\'')).unwrap_or(word);
    let is_plain =
        !inside.contains(|it: char| it.is_whitespace() || "\"'`$<>&|;()*?{}[]\\".contains(it));
    (is_plain && !inside.is_empty()).then_some(inside)
}

/// A file to which a line writes its here-document, and what the line does besides.
struct Target {
    path: String,
    appends: bool,
    beside: String,
}

/// The file to which a line writes its here-document by `cat` or `tee`. `folder` is where the script is.
fn target(line: &str, folder: &mut Option<String>) -> Option<Target> {
    let at = line.find("<<")?;
    let start = line.get(..at)?.rfind([';', '&']).map_or(0, |it| it + 1);
    let (before, from) = line.split_at_checked(start)?;
    let end = from.find(['&', ';']).unwrap_or(from.len());
    let (command, behind) = from.split_at_checked(end)?;
    // Inside quotes it is another program's script, and behind a condition it may not run.
    let is_open = |quote| before.matches(quote).count() % 2 == 1;
    let is_condition = |it: &str| it.trim_start().starts_with(['[', '!']) || it.contains("test ");
    if is_open('"') || is_open('\'') || before.split("&&").any(is_condition) {
        return None;
    }
    let (path, appends) = written(command)?;
    follow(before, folder);
    let path = match folder.as_deref() {
        _ if path.starts_with(['/', '~']) => path,
        Some("") => path,
        Some(folder) => format!("{folder}/{}", path.trim_start_matches("./")),
        None => return None,
    };
    let before = before.trim_end().trim_end_matches(['&', ';']).trim_end();
    let behind = behind.trim_start_matches(['&', ';']).trim();
    // A change of folder does nothing by itself.
    let is_move = before.starts_with("cd ") && is_idle(before);
    let before = if is_move { "" } else { before };
    let parts = [before, behind].into_iter().filter(|it| !it.is_empty());
    Some(Target {
        path,
        appends,
        beside: parts.collect::<Vec<_>>().join(" && "),
    })
}

/// The path that a command writes its here-document to, and true if it appends.
fn written(command: &str) -> Option<(String, bool)> {
    let quiet = command
        .replace("2>/dev/null", "")
        .replace("> /dev/null", "")
        .replace(">/dev/null", "");
    let spaced = quiet
        .replace(">>", " \u{1} ")
        .replace('>', " > ")
        .replace('\u{1}', ">>")
        .replace("<<", " <<");
    let mut words = spaced.split_whitespace();
    let (path, appends) = match words.next()? {
        "cat" => {
            // With a file of its own, it writes more than the here-document.
            let first = words.clone().next()?;
            if !first.starts_with(['>', '<']) {
                return None;
            }
            let arrow = words.find(|it| matches!(*it, ">" | ">>"))?;
            (words.next()?, arrow == ">>")
        }
        "tee" => {
            let appends = spaced.contains(" -a ") || spaced.contains(" --append ");
            (words.find(|it| !it.starts_with('-'))?, appends)
        }
        _ => return None,
    };
    // A pipe makes another text of it.
    let is_one = !quiet.contains(['|', '(']) && quiet.matches('>').count() <= 2;
    let path = plain(path).filter(|path| is_one && !path.starts_with("/dev/"))?;
    Some((path.to_owned(), appends))
}

#[cfg(test)]
mod tests {
    use super::{Document, split};
    use crate::counter::Heuristic;
    use crate::extract::extract;
    use crate::extract::tests::{call, placed, result};
    use crate::summary::Field;
    use crate::turn::{Outcome, Role, TurnDraft};
    use crate::units::Tokens;

    fn wrote(path: &str, text: &str, appends: bool) -> Document {
        Document {
            path: path.to_owned(),
            text: text.to_owned(),
            appends,
        }
    }

    #[test]
    fn a_file_is_taken_out_of_the_script() {
        let script = "cat > /tmp/fix.py << 'EOF'\nimport sys\n\ncat > x <<EOF2\n\tEOF\nEOF\npython3 /tmp/fix.py\n";
        let (found, rest) = split(script);
        let text = "import sys\n\ncat > x <<EOF2\n\tEOF";
        assert_eq!(found, [wrote("/tmp/fix.py", text, false)]);
        assert_eq!(rest, "python3 /tmp/fix.py");
    }

    #[test]
    fn every_way_to_write_one_is_read() {
        for (line, path, appends, rest) in [
            ("cat <<EOF >a.txt", "a.txt", false, ""),
            ("cat > a.txt<<EOF", "a.txt", false, ""),
            ("cat 2>/dev/null > 'a.txt' <<\\EOF", "a.txt", false, ""),
            ("cat >>\"a.txt\" <<\"EOF\"", "a.txt", true, ""),
            ("tee -a a.txt > /dev/null <<EOF", "a.txt", true, ""),
            ("cd /srv && cat > a.txt <<EOF", "/srv/a.txt", false, ""),
            (
                "cd /srv; make; cat > a.txt <<EOF",
                "/srv/a.txt",
                false,
                "cd /srv; make",
            ),
            (
                "cd sub; make\ncat > a.txt <<EOF",
                "sub/a.txt",
                false,
                "cd sub; make",
            ),
            (
                "rm -f a.txt && cat > a.txt <<EOF",
                "a.txt",
                false,
                "rm -f a.txt",
            ),
            (
                "# Notes\nset -eu\ncd /srv\nmkdir -p b\ncat > ./b/a.txt <<EOF",
                "/srv/b/a.txt",
                false,
                "",
            ),
            (
                "mkdir -p b && cat > b/a.txt <<EOF && ls",
                "b/a.txt",
                false,
                "mkdir -p b && ls",
            ),
            (
                "echo \"a; b\"; cat > a.txt <<EOF",
                "a.txt",
                false,
                "echo \"a; b\"",
            ),
        ] {
            let (found, left) = split(&format!("{line}\none\nEOF"));
            assert_eq!(found, [wrote(path, "one", appends)], "{line}");
            assert_eq!(left, rest, "{line}");
        }
        let (found, _) = split("cat > a.txt <<-EOF\n\tone\n\tEOF");
        assert_eq!(found, [wrote("a.txt", "\tone", false)]);
    }

    #[test]
    fn what_a_program_reads_is_no_file() {
        for script in [
            "python3 - <<'EOF'\nopen('a').read()\nEOF",
            "git commit -m \"$(cat <<'EOF'\nMend it\nEOF\n)\"",
            "cat > \"$OUT\" <<EOF\none\nEOF",
            "cat > \"my file\" <<EOF\none\nEOF",
            "cat > /dev/null <<EOF\none\nEOF",
            "cat <<EOF | sort > a.txt\none\nEOF",
            "ssh host \"cd /srv && cat > a.conf <<EOF\none\nEOF\n\"",
            "paste - <<A <<B > a.txt\none\nA\ncat > b <<C\nC\nB",
            "echo $((1 << 2)) > a.txt",
            "cat > a.txt <<EOF\nnever ended",
            "cat head.txt - > a.txt <<EOF\none\nEOF",
            "[ -f a.txt ] && cat > a.txt <<EOF\none\nEOF",
            "cd \"$HOME\"\ncat > a.txt <<EOF\none\nEOF",
            "cd - && cat > a.txt <<EOF\none\nEOF",
            "cat <<< one > a.txt",
        ] {
            let (found, rest) = split(script);
            assert_eq!(found, [], "{script}");
            assert_eq!(rest, script);
        }
    }

    #[test]
    fn it_is_told_under_what_was_done() {
        let script =
            "cat > /tmp/fix.py << 'EOF'\ndef fix_rows(path):\n    pass\nEOF\npython3 /tmp/fix.py";
        let command = serde_json::json!({ "command": script }).to_string();
        let write = r#"{"command":"cat > src/rows.rs <<EOF\nfn sort() {}\nEOF"}"#;
        let refused = r#"{"command":"cat > /etc/rows.conf <<EOF\na\nEOF\ncat /etc/rows.conf"}"#;
        let run = r#"{"command":"cat > /tmp/run.sh <<EOF\nfoo\nEOF\nbash /tmp/run.sh"}"#;
        let lost = r#"{"command":"cat > /nodir/x <<EOF\na\nEOF\necho ok"}"#;
        let turns = placed([
            TurnDraft::text(Role::User, "Mend the rows."),
            call("Bash", &command),
            result("KeyError: 'rows'\nexit code 1", Outcome::Failed),
            call("Bash", write),
            result("", Outcome::Succeeded),
            call("Bash", refused),
            result("bash: /etc/rows.conf: Permission denied", Outcome::Failed),
            call("Bash", run),
            result(
                "/tmp/run.sh: line 1: foo: command not found\nexit code 127",
                Outcome::Failed,
            ),
            call("Bash", lost),
            result(
                "bash: line 3: /nodir/x: No such file or directory\nok",
                Outcome::Succeeded,
            ),
        ]);
        let summary = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
        let done = summary.entries(Field::Done).join("\n");
        for line in [
            "/tmp/fix.py: written (2 lines): fix_rows",
            "src/rows.rs: written (1 line): sort",
            "`python3 /tmp/fix.py` failed: KeyError: 'rows'",
            "/etc/rows.conf: not changed; the last change failed",
            "/tmp/run.sh: written (1 line)",
            "`bash /tmp/run.sh` failed",
            "/nodir/x: not changed; the last change failed",
        ] {
            assert!(done.contains(line), "{line} in {done}");
        }
    }
}
