//! Tests of merging the sources.

use context::coded::Coded;

use super::{Effective, Flag, Sources};
use crate::config::{Config, ConfigError, Setting};

fn of(
    file: &str,
    environment: &[(&str, &str)],
    flags: &[(&'static str, &str)],
) -> Result<Effective, ConfigError> {
    let sources = Sources {
        file: Some(("ebbtide.toml".to_owned(), file.to_owned())),
        environment: environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        flags: flags
            .iter()
            .map(|(key, value)| Flag {
                key,
                name: "--flag",
                value: (*value).to_owned(),
            })
            .collect(),
    };
    Effective::of(Config::default(), &sources)
}

#[track_caller]
fn check(file: &str, environment: &[(&str, &str)], key: &str, shown: &str) {
    let effective = of(file, environment, &[]).unwrap();
    let toml = effective.as_toml();
    let line = toml
        .lines()
        .find(|line| line.starts_with(&format!("{key} = ")));
    assert_eq!(line, Some(shown), "{toml}");
}

#[track_caller]
fn refused(file: &str, environment: &[(&str, &str)], said: &str) {
    let error = of(file, environment, &[]).unwrap_err();
    let place = error.origin().map_or_else(String::new, ToString::to_string);
    let hint = error.hint().unwrap_or_default();
    assert_eq!(format!("{} {place} | {error} | {hint}", error.code()), said);
}

#[test]
fn each_source_is_stronger_than_the_one_before() {
    let file = "[policy]\nwindow = 64_000\nroute = \"readable\"\n";
    let variables = [("EBBTIDE_POLICY_WINDOW", "32k"), ("HOME", "/h")];
    check("", &[], "window", "window = \"none\"  # default");
    check(file, &[], "window", "window = 64000  # ebbtide.toml:2:10");
    check(
        file,
        &variables,
        "window",
        "window = 32000  # EBBTIDE_POLICY_WINDOW",
    );
    check(
        file,
        &variables,
        "route",
        "route = \"readable\"  # ebbtide.toml:3:9",
    );
    let flagged = of(file, &variables, &[("policy.window", "16k")]).unwrap();
    assert!(flagged.as_toml().contains("window = 16000  # --flag\n"));
}

#[test]
fn what_is_shown_says_the_same_when_it_is_read() {
    let file = "store = \"/a b/c\"\notlp = 'http://h:1'\n[limits]\nbody = '1MiB'\nidle = '90s'\n\
                [summariser]\nmodel = 'm'\ndialect = 'chat'\n[policy]\nsoft = 0.5\nhard = 0.75\n";
    let first = of(file, &[], &[]).unwrap();
    let second = of(&first.as_toml(), &[], &[]).unwrap();
    assert_eq!(first.config, second.config);
    assert_ne!(first.config, Config::default());
    let json = first.as_json();
    assert_eq!(json["limits.body"]["value"], 1 << 20);
    assert_eq!(json["policy.soft"]["origin"], "ebbtide.toml:10:8");
}

#[test]
fn secrets_are_never_shown() {
    let variables = [
        ("EBBTIDE_ADMIN_TOKEN", "0123456789abcdef-secret"),
        ("EBBTIDE_SUMMARISER_KEY", "sk-secret"),
        ("EBBTIDE_SUMMARISER_MODEL", "m"),
    ];
    let effective = of("", &variables, &[]).unwrap();
    let all = format!(
        "{}{}{effective:?}",
        effective.as_toml(),
        effective.as_json()
    );
    assert!(!all.contains("secret"), "{all}");
    assert!(all.contains("# admin_token is set  # EBBTIDE_ADMIN_TOKEN\n"));
    assert_eq!(effective.as_json()["summariser.key"]["value"], "set");
    assert_eq!(
        of("", &[], &[]).unwrap().as_json()["admin_token"]["value"],
        "not set"
    );
}

#[test]
fn mistakes_have_a_place_and_a_hint() {
    refused(
        "[policy]\nwindo = 1",
        &[],
        "E0813 ebbtide.toml:2:1 | `policy.windo` is not a configuration key | did you mean `policy.window`?",
    );
    refused(
        "window = 1",
        &[],
        "E0813 ebbtide.toml:1:1 | `window` is not a configuration key | did you mean `policy.window`?",
    );
    refused(
        "mode = \"off\"",
        &[],
        "E0814 ebbtide.toml:1:8 | invalid value for `mode`: expected `on` or `observe` | \
         `ebbtide config` shows the effective values; docs/settings.md lists every key.",
    );
    refused(
        "listen = [1]",
        &[],
        "E0814 ebbtide.toml:1:10 | invalid value for `listen`: expected address and port | \
         `ebbtide config` shows the effective values; docs/settings.md lists every key.",
    );
    refused(
        "",
        &[("EBBTIDE_LIMITS_READ", "never")],
        "E0814 EBBTIDE_LIMITS_READ | invalid value for `limits.read`: expected a duration such as `10s` | \
         `ebbtide config` shows the effective values; docs/settings.md lists every key.",
    );
}

#[test]
fn broken_files_and_contradictions() {
    let code = |file| of(file, &[], &[]).unwrap_err().code().to_string();
    assert_eq!(code("mode = "), "E0812");
    assert_eq!(code("mode = 'on'\nmode = 'on'"), "E0812");
    assert_eq!(code("[policy]\nsoft = 0.9\nhard = 0.8"), "E0815");
    assert_eq!(code("[summariser]\nurl = 'http://h'"), "E0815");
    assert_eq!(code("[limits]\nbodies = 5"), "E0815");
    // An agent's key is not for another server.
    let elsewhere = "[summariser]\nmodel = 'm'\nurl = 'https://h/v1'";
    assert_eq!(code(elsewhere), "E0815");
    assert!(of(&format!("{elsewhere}\nkey = 'k'"), &[], &[]).is_ok());
    let beside = "[summariser]\nmodel = 'm'\nurl = 'https://api.openai.com/v1'";
    assert!(of(beside, &[], &[]).is_ok());
    assert_eq!(code("policy = 1"), "E0813");
}

#[test]
fn a_variable_that_sets_nothing_is_remarked() {
    let variables = [
        ("EBBTIDE_POLICY_WINDW", "1k"),
        ("EBBTIDE_LOG", "debug"),
        // The key of `ebbtide mcp`.
        ("EBBTIDE_KEY", "a-key"),
        ("EBBTIDE_MODE", ""),
    ];
    let effective = of("", &variables, &[]).unwrap();
    let meant = "EBBTIDE_POLICY_WINDW is not a setting; did you mean EBBTIDE_POLICY_WINDOW?";
    assert_eq!(effective.remarks, [meant]);
    assert_eq!(
        Setting::named("mode").map(|mode| effective.origin(mode)),
        Some(super::Origin::Default)
    );
}
