//! Files that hold secrets, by their names. Nothing is quoted from them.

use super::steps::{Action, Step};

/// How the names of such files begin.
const BEGIN: [&str; 12] = [
    ".env",
    ".npmrc",
    ".netrc",
    ".pgpass",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    "kubeconfig",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
];
/// How they end.
const END: [&str; 11] = [
    ".env",
    ".pem",
    ".key",
    ".p8",
    ".p12",
    ".pfx",
    ".ppk",
    ".jks",
    ".keystore",
    ".kdbx",
    ".tfvars",
];
/// Words in the names of such files of data. Code that handles secrets has them in its name too.
const WORDS: [&str; 4] = ["credential", "secret", "service-account", "service_account"];
/// The ends of files of data.
const DATA: [&str; 9] = [
    "json",
    "yaml",
    "yml",
    "toml",
    "ini",
    "cfg",
    "conf",
    "txt",
    "properties",
];

/// Returns true if the file at this path is likely to hold passwords or keys.
pub(super) fn holds_secrets(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let name = name.to_ascii_lowercase();
    let is_data = name
        .rsplit_once('.')
        .is_none_or(|(_, end)| DATA.contains(&end));
    BEGIN.iter().any(|it| name.starts_with(it))
        || END.iter().any(|it| name.ends_with(it))
        || is_data && WORDS.iter().any(|it| name.contains(it))
}

/// Returns true if a call reads or changes such a file.
pub(super) fn handles_secrets(step: &Step<'_>) -> bool {
    step.actions().iter().any(|action| match action {
        Action::Wrote(path, _)
        | Action::Changed(path)
        | Action::Deleted(path)
        | Action::Read(path) => holds_secrets(path),
        Action::Ran(_) | Action::Other => false,
    })
}

#[cfg(test)]
mod tests {
    use super::holds_secrets;
    use crate::counter::Heuristic;
    use crate::extract::extract;
    use crate::extract::tests::{call, placed, result};
    use crate::turn::{Outcome, Role, TurnDraft};
    use crate::units::Tokens;

    #[test]
    fn files_are_known_by_their_names() {
        for path in [
            "/p/.env",
            ".env.local",
            "prod.env",
            r"C:\p\.ENV",
            "credentials.json",
            "client_secret_7.json",
            "secrets.yaml",
            "secrets",
            "service-account-dev.json",
            "/home/me/.ssh/id_ed25519",
            "tls.pem",
        ] {
            assert!(holds_secrets(path), "{path}");
        }
        for path in [
            "credentials.rs",
            "secrets_controller.rb",
            "environment.md",
            "keys.rs",
        ] {
            assert!(!holds_secrets(path), "{path}");
        }
    }

    #[test]
    fn nothing_is_quoted_from_them() {
        let new = "# The key of the importer in production.\nAPI_KEY=sk_live_9f8e7d";
        let edit =
            serde_json::json!({"file_path": "/p/.env", "old_string": "a", "new_string": new});
        let read = r#"{"file_path":"/p/.env"}"#;
        let steps = [
            call("Edit", &edit.to_string()),
            result("ok", Outcome::Succeeded),
            call("Read", read),
            result(new, Outcome::Succeeded),
        ];
        let later = (0..40).flat_map(|n| {
            let input = format!(r#"{{"command":"cargo test -p part_{n}"}}"#);
            [
                call("Bash", &input),
                result("test result: ok", Outcome::Succeeded),
            ]
        });
        for turns in [
            steps.clone().to_vec(),
            steps.into_iter().chain(later).collect(),
        ] {
            let asks = TurnDraft::text(Role::User, "Set the key of the importer, please.");
            let turns = placed(std::iter::once(asks).chain(turns));
            let summary = extract(&turns, &[], Tokens::new(3_000), &Heuristic).render();
            assert!(summary.contains(".env"), "{summary}");
            assert!(
                !summary.contains("sk_live") && !summary.contains("API_KEY"),
                "{summary}"
            );
        }
    }
}
