//! The choice of units where not all words fit.

use std::collections::{HashMap, HashSet};

use super::message::{Message, REFUSING};
use super::unit::{Unit, units};
use super::{LeftOut, Said, UserWords};
use crate::counter::TokenCounter;
use crate::units::Tokens;

/// The mark where units are left out.
const GAP: &str = "[…]";
/// The bytes of a token, for the choice; the whole is counted exactly.
const PER_TOKEN: f64 = 3.2;
/// The tokens of a turn's number and of a mark.
const FRAME: f64 = 4.0;
/// The number of times the choice is made again with less room.
const TRIES: usize = 12;
/// The share of the room that output of programs may have, where something has to be left out.
const MATTER: f64 = 0.2;
/// In so many messages, sentences that differ in their digits alone are a formula.
const FORMULA: usize = 3;

/// A unit with its message and its rank.
struct Ranked {
    message: usize,
    unit: usize,
    rank: f64,
    tokens: f64,
}

/// A message with its text and units.
struct Divided<'m> {
    message: &'m Message,
    text: String,
    units: Vec<Unit>,
}

/// The words of `messages` within `room`. Words that were `missing` before are still told.
pub(super) fn within(
    messages: &[Message],
    missing: &[LeftOut],
    room: Tokens,
    counter: &dyn TokenCounter,
) -> UserWords {
    let divided: Vec<Divided<'_>> = messages.iter().map(divide).collect();
    let mut ranked = ranked(&divided);
    // Of equal rank, the newer stays.
    ranked.sort_by(|one, other| {
        let places = (other.message, one.unit).cmp(&(one.message, other.unit));
        other.rank.total_cmp(&one.rank).then(places)
    });
    let mut share = room.as_f64();
    for _ in 0..TRIES {
        let mut words = taken(&divided, &ranked, share);
        add(&mut words.left_out, missing);
        let tokens = words.tokens(counter);
        if tokens <= room {
            return words;
        }
        share *= (room.as_f64() / tokens.as_f64()).min(0.97) * 0.99;
    }
    UserWords::default()
}

/// Adds sizes turn by turn; the turns stay in order.
fn add(left_out: &mut Vec<LeftOut>, missing: &[LeftOut]) {
    for it in missing {
        match left_out.binary_search_by_key(&it.turn, |it| it.turn) {
            Ok(at) => {
                if let Some(known) = left_out.get_mut(at) {
                    known.units = known.units.saturating_add(it.units);
                    known.tokens = Tokens::new(known.tokens.get().saturating_add(it.tokens.get()));
                }
            }
            Err(at) => left_out.insert(at, *it),
        }
    }
}

fn divide(message: &Message) -> Divided<'_> {
    let text = message.whole().text;
    Divided {
        units: units(message, &text),
        message,
        text,
    }
}

fn ranked(divided: &[Divided<'_>]) -> Vec<Ranked> {
    let mut out = Vec::new();
    let count = divided.len();
    let mut said = HashSet::new();
    let forms = forms(divided);
    for (number, it) in divided.iter().enumerate() {
        let age = (count - number - 1) as f64 / count.max(1) as f64;
        for (at, unit) in it.units.iter().enumerate() {
            let text = it.text.get(unit.range.clone()).unwrap_or_default();
            // The same words stand there already.
            if !said.insert(text) {
                continue;
            }
            let mut rank = rank(unit, text, it) - age + place(number, count);
            // The same request for one part after the other: the newest tells of the others.
            if forms
                .get(&form(text))
                .is_some_and(|times| *times >= FORMULA)
            {
                rank -= 1.5;
            }
            out.push(Ranked {
                message: number,
                unit: at,
                rank,
                tokens: text.len() as f64 / PER_TOKEN + 1.0,
            });
        }
    }
    out
}

/// A sentence as it is said of something else: its digits are the same.
fn form(text: &str) -> String {
    let digit = |letter: char| if letter.is_ascii_digit() { '0' } else { letter };
    text.chars().map(digit).collect()
}

/// The number of messages in which each form of a sentence is said.
fn forms(divided: &[Divided<'_>]) -> HashMap<String, usize> {
    let mut forms = HashMap::new();
    for it in divided {
        let texts = it
            .units
            .iter()
            .filter_map(|unit| it.text.get(unit.range.clone()));
        let own: HashSet<String> = texts.map(form).collect();
        for form in own {
            *forms.entry(form).or_default() += 1;
        }
    }
    forms
}

/// The newest request is what the agent works on, the first is what it is all about.
fn place(number: usize, count: usize) -> f64 {
    match number {
        _ if number + 1 == count => 2.0,
        0 => 1.0,
        _ => 0.0,
    }
}

/// The rank of a unit by its size, by its place and by words that raise it.
fn rank(unit: &Unit, text: &str, of: &Divided<'_>) -> f64 {
    let mut rank = 0.0;
    if text.len() <= 160 {
        rank += 1.0;
    }
    if of.text.len() <= 400 {
        rank += 1.0;
    }
    if of.message.is_only_answered {
        rank += 0.5;
    }
    if text.trim_end().ends_with(['?', '？', '؟']) {
        rank -= 1.5;
    }
    if is_raised(text) {
        rank += 2.5;
    }
    match (unit.is_pasted, unit.is_prose) {
        (false, _) => rank,
        (true, true) => rank - 1.5,
        (true, false) if unit.is_head => 0.0,
        (true, false) => -4.0,
    }
}

/// Words that raise a sentence: it sets a rule, states a preference, or asks to be remembered. A sentence without
/// them loses nothing.
const RAISING: &[&str] = &[
    // English
    "never",
    "always",
    "must",
    "don't",
    "do not",
    "only",
    "prefer",
    "remember",
    "from now on",
    "except",
    "unless",
    "without",
    "instead",
    "decided",
    "forbidden",
    "not allowed",
    "make sure",
    "keep in mind",
    // German
    "nie",
    "niemals",
    "immer",
    "nicht",
    "kein",
    "keine",
    "muss",
    "müssen",
    "nur",
    "lieber",
    "bevorzug",
    "ab sofort",
    "merk dir",
    "außer",
    "ohne",
    "stets",
    "verboten",
    // French
    "jamais",
    "toujours",
    "ne pas",
    "n'",
    "doit",
    "dois",
    "seulement",
    "préfère",
    "désormais",
    "sauf",
    "sans",
    "retiens",
    "interdit",
    // Spanish, Portuguese, Italian
    "nunca",
    "siempre",
    "sempre",
    "debe",
    "deve",
    "solo",
    "sólo",
    "somente",
    "apenas",
    "prefiero",
    "prefiro",
    "preferisco",
    "recuerda",
    "lembre",
    "ricorda",
    "excepto",
    "exceto",
    "tranne",
    "sin ",
    "sem ",
    "senza",
    "mai ",
    "non ",
    "não",
    "prohibido",
    "vietato",
    // Dutch, Swedish, Polish, Czech
    "nooit",
    "altijd",
    "niet",
    "geen",
    "moet",
    "alleen",
    "onthoud",
    "aldrig",
    "alltid",
    "måste",
    "nigdy",
    "zawsze",
    "nie ",
    "tylko",
    "musi",
    "pamiętaj",
    "nikdy",
    "vždy",
    "pouze",
    // Russian, Ukrainian
    "никогда",
    "всегда",
    "нельзя",
    "не ",
    "только",
    "должен",
    "должны",
    "предпоч",
    "запомни",
    "кроме",
    "без ",
    "ніколи",
    "завжди",
    "тільки",
    // Turkish, Indonesian, Vietnamese
    "asla",
    "her zaman",
    "sadece",
    "unutma",
    "değil",
    "jangan",
    "selalu",
    "hanya",
    "không",
    "luôn",
    "đừng",
    // Arabic, Hebrew, Hindi, Bengali
    "أبدا",
    "أبدًا",
    "دائما",
    "دائمًا",
    "لا ",
    "فقط",
    "يجب",
    "לעולם",
    "תמיד",
    "רק",
    "कभी",
    "हमेशा",
    "मत ",
    "केवल",
    "नहीं",
    "কখনও",
    "সবসময়",
    // Chinese, Japanese, Korean, Thai
    "不要",
    "绝不",
    "永远",
    "必须",
    "总是",
    "只能",
    "只用",
    "请记住",
    "禁止",
    "絶対",
    "必ず",
    "決して",
    "しないで",
    "常に",
    "だけ",
    "覚えて",
    "절대",
    "항상",
    "반드시",
    "마세요",
    "말 것",
    "만 ",
    "기억",
    "ห้าม",
    "ต้อง",
    "เสมอ",
    "เท่านั้น",
];

fn is_raised(text: &str) -> bool {
    let lower = text.to_lowercase();
    RAISING.iter().any(|word| stands_in(&lower, word))
}

/// Returns true if a word stands in a text; where its script puts spaces, not inside another word's beginning.
fn stands_in(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        word.starts_with(|first: char| u32::from(first) > 0x0E00)
            || !before.is_some_and(char::is_alphanumeric)
    })
}

/// The words with the units that find room, best first.
fn taken(divided: &[Divided<'_>], ranked: &[Ranked], room: f64) -> UserWords {
    let mut kept: Vec<Vec<bool>> = divided
        .iter()
        .map(|it| vec![false; it.units.len()])
        .collect();
    let mut left = room - 40.0;
    let mut matter = room * MATTER;
    for it in ranked {
        let Some(units) = kept.get_mut(it.message) else {
            continue;
        };
        let of = divided.get(it.message);
        let unit = of.and_then(|of| of.units.get(it.unit));
        let is_matter = unit.is_some_and(Unit::is_matter);
        if is_matter && it.tokens > matter {
            continue;
        }
        let frame = if units.contains(&true) { 1.0 } else { FRAME };
        if it.tokens + frame > left {
            continue;
        }
        left -= it.tokens + frame;
        if is_matter {
            matter -= it.tokens + frame;
        }
        if let Some(unit) = units.get_mut(it.unit) {
            *unit = true;
        }
    }
    let mut words = UserWords::default();
    for (it, kept) in divided.iter().zip(&kept) {
        if kept.contains(&true) {
            words.said.push(Said {
                turn: it.message.turn,
                text: with_gaps(it, kept),
            });
        }
        let units = it.units.iter().zip(kept);
        let (mut out, mut bytes) = (0, 0);
        for (unit, _) in units.filter(|(_, kept)| !**kept) {
            out += 1;
            bytes += unit.range.len();
        }
        if out > 0 {
            words.left_out.push(LeftOut {
                turn: it.message.turn,
                units: out,
                tokens: Tokens::new(bytes as u64 / 4),
            });
        }
    }
    words
}

/// The kept units of a message, with what stands between two of them as it was, and a mark for what is left
/// out.
fn with_gaps(of: &Divided<'_>, kept: &[bool]) -> String {
    let mut out = String::new();
    let mut end = 0;
    let mut gap = false;
    for (unit, kept) in of.units.iter().zip(kept) {
        if !kept {
            gap = true;
            continue;
        }
        let between = of.text.get(end..unit.range.start).unwrap_or_default();
        let loses_mark = loses_mark(&of.text, end, unit.range.start);
        if loses_mark && out.is_empty() {
            out.push_str(REFUSING);
            out.push(' ');
        }
        match (gap, between.contains('\n') || out.is_empty()) {
            (false, _) => out.push_str(between),
            (true, true) if out.is_empty() => out.push_str("[…] "),
            (true, true) => {
                out.push('\n');
                out.push_str(GAP);
                out.push('\n');
                if loses_mark {
                    out.push_str(REFUSING);
                    out.push(' ');
                }
            }
            (true, false) => out.push_str(" […] "),
        }
        gap = false;
        out.push_str(of.text.get(unit.range.clone()).unwrap_or_default());
        end = unit.range.end;
    }
    if gap {
        out.push_str(" […]");
    }
    out
}

/// Returns true if a unit stands in a line that begins with the mark of a refused call, and the beginning of the line
/// is not shown: nothing behind `end` is.
fn loses_mark(text: &str, end: usize, start: usize) -> bool {
    let before = text.get(..start).unwrap_or_default();
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let is_marked = text.get(line..).is_some_and(|it| it.starts_with(REFUSING));
    is_marked && line < start && end <= line
}
