//! The weight of a line, by the class of its text. Higher is kept first; 0 only where there is room.

use super::class::{ContentClass, unnumbered};

/// The weight of a line of this class, 0 to 100.
pub(super) fn of(line: &str, class: ContentClass) -> u8 {
    match class {
        ContentClass::Log | ContentClass::Grep => log(line),
        ContentClass::Diff => diff(line),
        ContentClass::Code => code(unnumbered(line).unwrap_or(line)),
        ContentClass::Json | ContentClass::Plain => plain(line),
    }
}

/// The verdict of a test runner on one test or on all: what a reader looks for first.
pub(super) fn is_verdict(line: &str) -> bool {
    let text = line.trim();
    let starts = [
        "FAILED ",
        "FAIL ",
        "FAIL:",
        "ERROR:",
        "ERROR ",
        "--- FAIL",
        "not ok ",
        "FAILURE:",
        "Failed tests:",
        "Tests:",
        "test result:",
        "Ran ",
        "FAILED (",
        "Test Suites:",
        "failures:",
        "INTERNALERROR>",
        "XPASS ",
        "DO *NOT* COMMIT",
    ];
    let ends = [
        " ... FAILED",
        " ... FAIL",
        " ... ERROR",
        " FAILED",
        " ERROR",
    ];
    let per_test = text
        .rsplit_once(' ')
        .is_some_and(|(name, verdict)| verdict == "F" || (verdict == "E" && !name.is_empty()))
        && text.starts_with("test_");
    starts.iter().any(|start| text.starts_with(start))
        || ends.iter().any(|end| text.ends_with(end))
        || text.starts_with(['✗', '✘', '✕', '×', '❌', '●'])
        || per_test
}

/// A line between rules, such as `==== 3 failed, 10 passed ====` or `____ test_name ____`.
fn is_ruled(text: &str) -> bool {
    let rule = |pair: &str| text.starts_with(pair) && text.ends_with(pair);
    let worded = text.contains(char::is_alphabetic);
    let closed = rule("__") || rule("==") || rule("!!");
    // sympy rules off names that are too long on one side only.
    let named = text.starts_with("____ ") || text.ends_with(" ____");
    worded && (closed || named)
}

/// `3 failed, 10 passed`, `2 errors`, `5 passing`: a number and what it counts.
fn is_tally(text: &str) -> bool {
    let counted = [
        "passed",
        "failed",
        "failing",
        "passing",
        "errors",
        "error",
        "failures",
        "skipped",
        "exceptions",
        "warnings",
    ];
    let words: Vec<&str> = text.split_whitespace().take(24).collect();
    text.len() < 200
        && words.windows(2).any(|pair| match pair {
            [number, what] => {
                number.parse::<u32>().is_ok()
                    && counted.contains(&what.trim_end_matches([',', '.', ':', ';', ')']))
            }
            _ => false,
        })
}

/// Returns true if a line is one that only test runners and compilers write.
pub(super) fn is_runner_line(line: &str) -> bool {
    let text = line.trim();
    is_tally(text)
        || text.contains("test session starts")
        || text.starts_with("test result:")
        || text.starts_with("--- FAIL")
        || text.starts_with("=== RUN")
        || text.starts_with("Traceback (most recent call last)")
        || (text.starts_with("Ran ") && text.contains(" tests in "))
}

/// Returns true if a line looks like program output: a level, a time, a test's verdict.
pub(super) fn is_log_line(line: &str) -> bool {
    let text = line.trim_start();
    let levels = [
        "INFO", "WARN", "ERROR", "DEBUG", "TRACE", "FATAL", "[INFO", "[WARN", "[ERROR", "[DEBUG",
        "info:", "warning:", "error:", "error[", "note:", "PASS", "FAIL", "ok ", "--- ",
    ];
    let timed = text
        .trim_start_matches('[')
        .split_once([':', '-'])
        .is_some_and(|(digits, rest)| {
            matches!(digits.len(), 2 | 4)
                && digits.bytes().all(|byte| byte.is_ascii_digit())
                && rest.starts_with(|character: char| character.is_ascii_digit())
        });
    timed
        || levels.iter().any(|level| text.starts_with(level))
        || text.ends_with("... ok")
        || text.ends_with(" PASSED")
}

/// Returns true if a line looks like source code.
pub(super) fn is_code_line(line: &str) -> bool {
    let text = line.trim();
    definition(text)
        || text.ends_with([';', '{', '}'])
        || text.ends_with(");")
        || text.ends_with("):")
        || text.starts_with("//")
        || text.starts_with("return ")
        || text.starts_with("import ")
        || text.starts_with("from ")
}

/// Returns true if a line reports something that went wrong: `error`, `failed`, `panicked` and their like
/// as words of their own or as the end of a type's name.
pub(super) fn is_error(line: &str) -> bool {
    let signs = [
        "error",
        "exception",
        "fatal",
        "panic",
        "fail",
        "traceback",
        "cannot",
        "could not",
        "undefined",
        "not found",
        "no such file",
        "denied",
        "refused",
        "timed out",
        "segmentation",
        "abort",
        "unresolved",
        "mismatch",
        "invalid",
    ];
    let lower = line.to_ascii_lowercase();
    // "0 errors" and "no failures" are good news.
    let good = ["0 error", "0 fail", "no error", "no fail", "0 exception"];
    let good_news = good.iter().any(|news| {
        lower.find(news).is_some_and(|at| {
            !lower
                .as_bytes()
                .get(at.wrapping_sub(1))
                .is_some_and(u8::is_ascii_digit)
        })
    });
    signs.iter().any(|sign| lower.contains(sign)) && !good_news
}

fn log(line: &str) -> u8 {
    let text = line.trim_start();
    if is_verdict(line) {
        100
    } else if is_tally(text) {
        92
    } else if is_ruled(text.trim_end()) {
        // The heading of one failure; with many of them the verdicts name the tests in fewer words.
        85
    } else if text.starts_with("E  ")
        || text.starts_with("E\t")
        || raised(text)
        || text.contains("panicked at ")
    {
        90
    } else if is_error(text) && !text.ends_with("ok") && !text.starts_with("PASS") {
        70
    } else if text.starts_with("> ") || text.starts_with("--> ") || text.starts_with("assert") {
        60
    } else if text.to_ascii_lowercase().contains("warn") {
        40
    } else if text.starts_with("File \"") || text.starts_with("at ") {
        20
    } else {
        0
    }
}

/// `SomethingError: text` or `package.SomethingException`, the last line of a stack trace.
fn raised(text: &str) -> bool {
    let name = text.split([':', ' ']).next().unwrap_or_default();
    let ends = ["Error", "Exception", "Warning", "Failure", "Interrupt"];
    name.len() > 5
        && !name.contains(['/', '(', '"'])
        && ends.iter().any(|end| name.ends_with(end))
        && text.starts_with(|character: char| character.is_alphabetic())
}

fn diff(line: &str) -> u8 {
    if line.starts_with("diff --git") || line.starts_with("+++ ") || line.starts_with("--- ") {
        100
    } else if line.starts_with("@@") {
        90
    } else if line.starts_with("rename ")
        || line.starts_with("new file")
        || line.starts_with("deleted file")
    {
        80
    } else if line.starts_with(['+', '-']) {
        if definition(line.trim_start_matches(['+', '-']).trim()) {
            70
        } else {
            50
        }
    } else {
        0
    }
}

fn code(line: &str) -> u8 {
    let text = line.trim_start();
    let depth = u8::try_from(line.len() - text.len()).unwrap_or(u8::MAX) / 4;
    if definition(text.trim_end()) {
        90_u8.saturating_sub(depth.saturating_mul(5)).max(50)
    } else if is_heading(text) || text.contains("TODO") || text.contains("FIXME") {
        45
    } else if text.starts_with("import ")
        || text.starts_with("use ")
        || text.starts_with("from ")
        || text.starts_with("#include")
    {
        30
    } else if text.starts_with("//")
        || text.starts_with('#')
        || text.starts_with("/*")
        || text.starts_with('*')
        || text.starts_with("\"\"\"")
    {
        20
    } else {
        0
    }
}

/// Returns true if a line defines something with a name: a function, a type, a constant, a class.
fn definition(text: &str) -> bool {
    let modifiers = [
        "pub",
        "pub(crate)",
        "pub(super)",
        "export",
        "default",
        "async",
        "static",
        "public",
        "private",
        "protected",
        "final",
        "abstract",
        "const",
        "unsafe",
        "extern",
        "inline",
        "virtual",
        "override",
        "declare",
        "readonly",
        "@staticmethod",
        "open",
        "internal",
        "sealed",
        "data",
    ];
    let keywords = [
        "fn",
        "def",
        "class",
        "struct",
        "enum",
        "trait",
        "impl",
        "interface",
        "type",
        "func",
        "function",
        "module",
        "mod",
        "namespace",
        "macro_rules!",
        "record",
        "protocol",
        "extension",
        "package",
        "sub",
        "fun",
        "object",
        "let",
        "var",
        "const",
        "static",
    ];
    // A constant is a definition on the outermost level only.
    let mut words = text.split_whitespace().peekable();
    let mut modified = false;
    while words
        .next_if(|word| modifiers.contains(word) && *word != "const" && *word != "static")
        .is_some()
    {
        modified = true;
    }
    let Some(keyword) = words.next() else {
        return false;
    };
    let named = words.next().is_some();
    let loose = matches!(
        keyword,
        "let"
            | "var"
            | "const"
            | "static"
            | "type"
            | "object"
            | "data"
            | "package"
            | "sub"
            | "record"
    );
    keywords.contains(&keyword) && named && (!loose || modified || text.contains(['=', ':', '{']))
        || (keyword.starts_with("function(") || keyword.starts_with("impl<"))
        || (modified && text.ends_with('{') && text.contains('('))
}

fn is_heading(text: &str) -> bool {
    let level = text.len() - text.trim_start_matches('#').len();
    (1..=6).contains(&level) && text.chars().nth(level) == Some(' ')
}

fn plain(line: &str) -> u8 {
    let text = line.trim_start();
    if is_heading(text) {
        80
    } else if raised(text) || is_verdict(line) {
        75
    } else if is_error(text) {
        60
    } else if text.ends_with(':') && text.len() < 120 {
        40
    } else if text.contains("://") || text.contains(['/', '_']) {
        20
    } else {
        0
    }
}
