//! The model table: names, patterns, what users add, and errors with their places.

use std::time::Duration;

use context::Tokens;
use context::coded::Coded as _;
use proptest::prelude::*;

use super::{CODES, ModelTable};
use crate::model::{Capability, Known, Provider};
use crate::price::Basis;
use crate::tokenizer::Tokenizer;

#[track_caller]
fn check(name: &str, expected: &str, known: Known) {
    let model = ModelTable::shipped().find(name);
    assert_eq!(
        (model.name.as_str(), model.known),
        (expected, known),
        "{name}"
    );
}

#[test]
fn names_as_they_are_written() {
    check("claude-opus-4-5-20251101", "claude-opus-4-5", Known::Listed);
    check(
        "claude-haiku-4-5-20251001",
        "claude-haiku-4-5",
        Known::Listed,
    );
    check("claude-opus-4-1-20250805", "claude-opus-4", Known::Listed);
    check(
        "anthropic/claude-sonnet-4.6",
        "claude-sonnet-4-6",
        Known::Listed,
    );
    check(
        "us.anthropic.claude-opus-4-6-v1:0",
        "claude-opus-4-6",
        Known::Listed,
    );
    check("claude-fable-5-1", "claude-fable-5-1", Known::Listed);
    check("haiku", "claude-haiku-5-5", Known::Listed);
    check("gpt-5.1-codex", "gpt-5", Known::Similar);
    check("gpt-4o-2024-08-06", "gpt-4o", Known::Listed);
    check("gpt-5.6-terra", "gpt-5.6-terra", Known::Listed);
    check("o3-2025-04-16", "o3", Known::Listed);
}

#[test]
fn relatives_of_listed_models() {
    check("claude-opus-6", "claude-opus-5-5", Known::Similar);
    check("claude-opus-5-7", "claude-opus-5-5", Known::Similar);
    check("claude-next", "claude", Known::Similar);
    check("gpt-7", "gpt", Known::Similar);
    check("gpt-4-0613", "gpt-4", Known::Similar);
}

#[test]
fn an_unknown_model_gets_careful_values() {
    for name in ["llama-4-70b", "", "<synthetic>"] {
        check(name, "unknown", Known::Unknown);
    }
    let model = ModelTable::shipped().find("llama-4-70b");
    assert_eq!(model.tokenizer, Tokenizer::Unknown);
    assert_eq!(model.price.basis, Basis::Estimated);
    assert_eq!(model.price.cache_read, model.price.input);
    assert!(model.capabilities.is_empty());
}

#[test]
fn documented_facts() {
    let table = ModelTable::shipped();
    let opus = table.find("claude-opus-5-5");
    assert_eq!(opus.provider, Provider::Anthropic);
    assert_eq!(opus.window, Tokens::new(1_000_000));
    assert_eq!(opus.cache.minimum, Tokens::new(512));
    assert_eq!(opus.cache.lifetime, Duration::from_secs(300));
    assert_eq!(opus.cache.lifetime_long, Some(Duration::from_secs(3_600)));
    assert_eq!(opus.price.cache_read / opus.price.input, 0.05);
    assert_eq!(opus.price.cache_write / opus.price.input, 1.25);
    assert_eq!(opus.price.cache_write_long / opus.price.input, 2.0);
    assert!(opus.can(Capability::NativeCompaction) && opus.can(Capability::ThinkingBinding));

    let sonnet = table.find("claude-sonnet-5");
    assert!(!sonnet.can(Capability::MidConversationSystem));
    assert!(!sonnet.can(Capability::ThinkingBinding));

    let fable = table.find("claude-fable-5-1");
    assert_eq!(fable.price.cache_read / fable.price.input, 0.025);

    let four_six = table.find("claude-opus-4-6");
    assert_eq!(four_six.tokenizer, Tokenizer::Claude3);
    assert_eq!(four_six.cache.minimum, Tokens::new(4_096));
    assert_eq!(table.find("claude-opus-4-7").tokenizer, Tokenizer::Claude47);

    assert_eq!(table.find("gpt-5.5").cache.minimum, Tokens::new(1_024));
    assert_eq!(table.find("gpt-4").tokenizer, Tokenizer::Cl100k);
    assert_eq!(
        table.find("gpt-4-turbo-2024-04-09").tokenizer,
        Tokenizer::Cl100k
    );
}

#[test]
fn the_tokenizer_of_a_listed_model_is_what_its_name_suggests() {
    for model in ModelTable::shipped().models() {
        assert_eq!(
            Tokenizer::guess(&model.name),
            model.tokenizer,
            "{}",
            model.name
        );
    }
}

#[test]
fn every_listed_model_is_found_by_its_own_name() {
    for model in ModelTable::shipped().models() {
        assert_eq!(ModelTable::shipped().find(&model.name), *model);
        assert!(model.max_output <= model.window, "{}", model.name);
        assert!(
            model.price.input > 0.0 && model.price.output >= model.price.input,
            "{}",
            model.name
        );
    }
}

#[test]
fn a_suffix_sets_the_window() {
    let model = ModelTable::shipped().find("claude-sonnet-4-5[1m]");
    assert_eq!(model.window, Tokens::new(1_000_000));
    assert_eq!(model.known, Known::Listed);
}

#[test]
fn a_user_changes_a_model() {
    let table = ModelTable::shipped()
        .extended("[[model]]\nname = \"claude-opus-4-5\"\ninput = 4\n")
        .unwrap();
    let model = table.find("claude-opus-4-5-20251101");
    assert_eq!(model.price.input, 4.0);
    assert_eq!(model.price.cache_read, 0.4);
    assert_eq!(model.price.output, 25.0);
    assert_eq!(model.window, Tokens::new(200_000));
    assert_eq!(
        ModelTable::shipped().find("claude-opus-4-5").price.input,
        5.0
    );
}

#[test]
fn a_user_adds_models() {
    let text = "
        [[model]]
        name = 'House'
        like = 'gpt-4o'
        match = ['house-*', 'claude-opus-4-5']
        window = 32_000

        [[model]]
        name = 'plain'
    ";
    let table = ModelTable::shipped().extended(text).unwrap();
    let house = table.find("house-7b");
    assert_eq!(
        (house.name.as_str(), house.window),
        ("house", Tokens::new(32_000))
    );
    assert_eq!(house.price.input, 2.5);
    assert_eq!(table.find("claude-opus-4-5").name, "house");
    assert_eq!(table.find("gpt-4o").name, "gpt-4o");
    assert_eq!(
        table.find("plain").window,
        ModelTable::shipped().find("nobody").window
    );
    assert_eq!(table.find("plain").known, Known::Listed);
}

#[test]
fn a_longer_cache_entry_costs_no_less_than_a_short_one() {
    let text =
        "[[model]]\nname = 'own'\ninput = 4.0\ncache_write = 1.25\ncache_lifetime_long = 3600";
    let price = ModelTable::shipped()
        .extended(text)
        .unwrap()
        .find("own")
        .price;
    assert_eq!((price.cache_write, price.cache_write_long), (5.0, 5.0));
}

#[track_caller]
fn check_error(text: &str, code: &str, message: &str) {
    let error = ModelTable::shipped().extended(text).unwrap_err();
    assert_eq!(
        (error.code().as_str(), error.to_string().as_str()),
        (code, message),
        "{text}"
    );
    assert!(error.hint().is_some());
}

#[test]
fn errors_say_what_and_where() {
    check_error(
        "[[model]]\nname = ",
        "E0201",
        "line 2, column 8: string values must be quoted, expected literal string",
    );
    check_error(
        "[model]\nname = 'a'",
        "E0201",
        "line 1, column 1: invalid type: map, expected a sequence",
    );
    check_error(
        "[[models]]\nname = 'a'",
        "E0201",
        "line 1, column 3: unknown field `models`, expected `default` or `model`",
    );
    check_error(
        "[[model]]\nname = 'a'\nwindows = 1",
        "E0202",
        "line 3, column 1: there is no key `windows` in a model",
    );
    check_error(
        "[[model]]\nname = 'a'\nwindow = 0",
        "E0203",
        "line 3, column 10: `window` must be a whole number of tokens from 1 to 1,000,000,000,000",
    );
    check_error(
        "[[model]]\nname = 'a'\ninput = -1",
        "E0203",
        "line 3, column 9: `input` must be a number from 0 to 1,000,000",
    );
    check_error(
        "[[model]]\nname = 'a'\ninput = nan",
        "E0203",
        "line 3, column 9: `input` must be a number from 0 to 1,000,000",
    );
    check_error(
        "[[model]]\nname = 'a'\ntokenizer = 'gpt'",
        "E0203",
        "line 3, column 13: `tokenizer` must be one of o200k, cl100k, claude-3, claude-4.7, unknown",
    );
    check_error(
        "[[model]]\nname = 'a'\nlong_context = { above = 1 }",
        "E0203",
        "line 3, column 16: `long_context` must be a table with `above`, `input` and `output`",
    );
    check_error(
        "[[model]]\nname = 1",
        "E0203",
        "line 2, column 8: `name` must be a text that is not empty",
    );
    check_error(
        "[[model]]\nwindow = 1",
        "E0204",
        "line 1, column 1: a model needs a `name`",
    );
    check_error(
        "[[model]]\nname = 'a'\nlike = 'b'",
        "E0205",
        "line 3, column 8: no model `b` above this entry",
    );
    check_error(
        "[[model]]\nname = 'a'\n[[model]]\nname = 'A'",
        "E0206",
        "line 3, column 1: the model `a` is defined twice",
    );
}

#[test]
fn codes_are_listed_once_each_and_in_order() {
    assert!(CODES.windows(2).all(|pair| pair[0].code < pair[1].code));
    assert!(
        CODES
            .iter()
            .all(|entry| entry.code.as_str().starts_with("E02"))
    );
}

proptest! {
    #[test]
    fn any_name_has_an_answer(name in "\\PC{0,40}") {
        let model = ModelTable::shipped().find(&name);
        prop_assert!(model.window.get() > 0);
    }

    #[test]
    fn decoration_does_not_change_the_answer(
        at in 0_usize..20,
        prefix in prop::sample::select(vec!["", "anthropic/", "openrouter/x/", "us.anthropic."]),
        suffix in prop::sample::select(vec!["", "-20251101", "@20251101", "-latest", "-v1:0", "-2025-11-01"]),
    ) {
        let table = ModelTable::shipped();
        let name = table.models().nth(at).map(|model| model.name.clone()).unwrap();
        prop_assert_eq!(table.find(&format!("{prefix}{name}{suffix}")), table.find(&name));
    }

    #[test]
    fn any_text_is_a_table_or_an_error(text in "(\\[\\[model\\]\\]\n|name = 'a'\n|like = 'gpt'\n|window = [0-9]{1,20}\n|[a-z_]{1,9} = ['a-z0-9.\\[\\]-]{0,9}\n|\\PC){0,12}") {
        let _ = ModelTable::shipped().extended(&text);
    }
}
