//! A running gateway and the conversations in it, for the commands that ask it about one.

use std::future::Future;

use context::coded::Coded as _;
use context::figures;
use gateway::config::Secret;
use gateway::dashboard::one_line;
use gateway::{Remote, RemoteError};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::command::runtime;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};

/// The conversations that a hint lists.
const LISTED: usize = 8;

/// A connection to a gateway.
pub struct Gateway {
    remote: Remote,
    runtime: Runtime,
}

impl Gateway {
    /// Connects with the admin token of the environment.
    pub fn at(url: &str, environment: &Environment) -> Result<Self, Failure> {
        let token = environment.setting("EBBTIDE_ADMIN_TOKEN").map(Secret::new);
        let remote = Remote::new(url, token).map_err(|error| failure(&error))?;
        let runtime = runtime()?;
        Ok(Self { remote, runtime })
    }

    /// Asks it. If it has no such conversation, or several, the hint says which it has.
    pub fn ask<'a, T, F>(&'a self, question: impl FnOnce(&'a Remote) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, RemoteError>> + 'a,
    {
        self.runtime
            .block_on(question(&self.remote))
            .map_err(|error| match error.code().as_str() {
                "E0820" => failure(&error).hinting(self.conversations()),
                "E0831" => failure(&error).hinting("Pass more of the ID.".to_owned()),
                _ => failure(&error),
            })
    }

    /// The hint for a conversation that is not there: no other command lists those that are.
    fn conversations(&self) -> String {
        let known = self.runtime.block_on(self.remote.overview());
        let known = known.unwrap_or_default();
        let known = known.get("conversations").and_then(Value::as_array);
        match known.map(Vec::as_slice).unwrap_or_default() {
            [] => "The gateway has no conversation yet; its first request begins one.".to_owned(),
            known => {
                let mut hint = "Pass the ID of one of these, or its first digits:".to_owned();
                for line in known.iter().take(LISTED) {
                    hint.push_str(&format!("\n  {}", listed(line)));
                }
                if let Some(more) = known.len().checked_sub(LISTED).filter(|more| *more > 0) {
                    hint.push_str(&format!("\n  and {more} more: the dashboard lists all"));
                }
                hint
            }
        }
    }
}

/// The ID, the turns, and the title or the client's name.
fn listed(line: &Value) -> String {
    let text = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default();
    let turns = line.get("turns").and_then(Value::as_u64).unwrap_or(0);
    let turns = figures::plural(usize::try_from(turns).unwrap_or(usize::MAX), "turn");
    let title = [text("title"), text("name")]
        .into_iter()
        .find(|it| !it.is_empty());
    let title = one_line(title.unwrap_or_default(), 60);
    format!("{}  {turns}  {title}", text("id"))
        .trim_end()
        .to_owned()
}

fn failure(error: &RemoteError) -> Failure {
    Failure::of(error).exiting(Exit::Failed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::listed;

    #[test]
    fn a_conversation_is_listed_on_one_line() {
        let line = json!({"id": "3058d555", "turns": 1, "title": "shop: fix\nit", "name": "s"});
        assert_eq!(listed(&line), "3058d555  1 turn  shop: fix it");
        assert_eq!(listed(&json!({"id": "3058d555"})), "3058d555  0 turns");
    }
}
