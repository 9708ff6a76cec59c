//! The kinds of text that differ in tokens per byte.

/// The kinds of text that Claude's tokenizers and `o200k_base` treat differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContentKind {
    /// English and other unaccented prose, logs, file listings.
    Prose,
    /// Program text: many symbols.
    Code,
    /// JSON and other quoted data, tool arguments above all.
    Json,
    /// European languages with accents.
    Accented,
    /// Cyrillic and Greek.
    Cyrillic,
    /// Chinese and Japanese.
    EastAsian,
    /// Korean.
    Korean,
    /// Arabic, Hebrew, the scripts of India, Thai and everything else.
    OtherScript,
}

/// The most bytes of a text that are looked at: from its front, its middle and its back.
const SAMPLE: usize = 12 * 1024;

/// Shares of all characters above which a text is taken for a kind. Set between the averages of the
/// measured kinds.
const SCRIPT_SHARE: f64 = 0.25;
const ACCENT_SHARE: f64 = 0.007;
const QUOTE_SHARE: f64 = 0.02;
const SYMBOL_SHARE: f64 = 0.125;

impl ContentKind {
    /// The kind of `text`, from its characters alone. Long texts are sampled.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut tally = Tally::default();
        for piece in sample(text) {
            tally.add(piece);
        }
        tally.kind()
    }
}

/// The whole text where it is short, else three pieces of it that end at character boundaries.
fn sample(text: &str) -> [&str; 3] {
    if text.len() <= SAMPLE {
        return [text, "", ""];
    }
    let third = SAMPLE / 3;
    let piece = |start: usize| {
        let start = text.ceil_char_boundary(start);
        let end = text.floor_char_boundary(start + third);
        text.get(start..end).unwrap_or_default()
    };
    [
        piece(0),
        piece((text.len() - third) / 2),
        piece(text.len() - third),
    ]
}

#[derive(Default)]
struct Tally {
    all: u32,
    symbols: u32,
    quotes: u32,
    accented: u32,
    cyrillic: u32,
    east_asian: u32,
    korean: u32,
    other_script: u32,
}

impl Tally {
    fn add(&mut self, text: &str) {
        let mut rest = text;
        loop {
            let plain = rest.bytes().position(|byte| !byte.is_ascii());
            let plain = plain.unwrap_or(rest.len());
            let (ascii, other) = rest.split_at_checked(plain).unwrap_or((rest, ""));
            self.add_ascii(ascii.as_bytes());
            let mut characters = other.chars();
            let Some(character) = characters.next() else {
                return;
            };
            self.add_other(character);
            rest = characters.as_str();
        }
    }

    /// Most of nearly every text, so it is counted without a branch a byte.
    fn add_ascii(&mut self, bytes: &[u8]) {
        let count = |is: fn(u8) -> bool| -> u32 {
            // Counted in bytes first, of which a register holds many.
            let counted = bytes.chunks(255).map(|chunk| {
                let count: u8 = chunk.iter().map(|&byte| u8::from(is(byte))).sum();
                u32::from(count)
            });
            counted.sum()
        };
        self.all += u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.quotes += count(|byte| byte == b'"');
        self.symbols += count(|byte| byte.is_ascii_punctuation());
    }

    fn add_other(&mut self, character: char) {
        self.all += 1;
        match character {
            '\u{c0}'..='\u{24f}' => self.accented += 1,
            '\u{370}'..='\u{52f}' => self.cyrillic += 1,
            '\u{530}'..='\u{1fff}' => self.other_script += 1,
            '\u{ac00}'..='\u{d7af}' => self.korean += 1,
            '\u{2e80}'..='\u{9fff}' | '\u{20000}'..='\u{323af}' => self.east_asian += 1,
            _ => {}
        }
    }

    fn kind(&self) -> ContentKind {
        let share = |count: u32| f64::from(count) / f64::from(self.all.max(1));
        if share(self.other_script) >= SCRIPT_SHARE {
            ContentKind::OtherScript
        } else if share(self.korean) >= SCRIPT_SHARE {
            ContentKind::Korean
        } else if share(self.east_asian) >= SCRIPT_SHARE {
            ContentKind::EastAsian
        } else if share(self.cyrillic) >= SCRIPT_SHARE {
            ContentKind::Cyrillic
        } else if share(self.accented) >= ACCENT_SHARE {
            ContentKind::Accented
        } else if share(self.quotes) >= QUOTE_SHARE {
            ContentKind::Json
        } else if share(self.symbols) >= SYMBOL_SHARE {
            ContentKind::Code
        } else {
            ContentKind::Prose
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ContentKind;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: ContentKind) {
        assert_eq!(ContentKind::of(text), expected, "{text}");
    }

    #[test]
    fn kinds() {
        check("", ContentKind::Prose);
        check(
            "The build fails when the cache folder is missing. Please look at the log first.",
            ContentKind::Prose,
        );
        check(
            "fn main() { let x: Vec<u32> = (0..9).map(|n| n * 2).collect(); }",
            ContentKind::Code,
        );
        check(
            r#"{"path": "src/main.rs", "lines": [1, 2], "text": "hello"}"#,
            ContentKind::Json,
        );
        check(
            "Die Prüfung schlägt fehl, weil der Ordner fehlt.",
            ContentKind::Accented,
        );
        check("Сборка не проходит: нет папки кэша.", ContentKind::Cyrillic);
        check("缺少缓存文件夹时构建失败。", ContentKind::EastAsian);
        check("빌드가 실패했습니다", ContentKind::Korean);
        check("فشل البناء لأن المجلد مفقود", ContentKind::OtherScript);
        check("ไม่พบโฟลเดอร์แคช", ContentKind::OtherScript);
    }

    #[test]
    fn a_long_text_is_judged_by_its_parts() {
        let code = "if (a[i] != b[j]) { return f(x, y); }\n".repeat(2_000);
        check(&code, ContentKind::Code);
        check(&"漢字かな交じり文。".repeat(3_000), ContentKind::EastAsian);
    }

    proptest! {
        #[test]
        fn any_text_has_a_kind(text in "\\PC{0,200}", times in 1_usize..200) {
            let _ = ContentKind::of(&text.repeat(times));
        }
    }
}
