//! The checks of the gateway itself.

use bytes::Bytes;
use context::coded::Coded;
use gateway::config::Secret;
use gateway::{Remote, RemoteError};
use jiff::{SignedDuration, Timestamp};
use lab::figures;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::finding::{Finding, State};
use super::http::{PATIENCE, ask};
use super::{DAMAGED, IN_MEMORY, NO_MCP, STORE_FAILING, bad};
use crate::command::connect::address::Address;
use crate::environment::Environment;

/// The known traffic of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    None,
    Some,
    Unknown,
}

/// Checks the gateway, its conversations and its MCP server.
pub async fn examine(address: &Address, environment: &Environment) -> (Vec<Finding>, Traffic) {
    let token = environment.setting("EBBTIDE_ADMIN_TOKEN");
    let (mut findings, answers) = health(address).await;
    if !answers {
        return (findings, Traffic::Unknown);
    }
    let (requests, traffic) = requests(address, token, environment.now).await;
    findings.extend([requests, mcp(address, token).await]);
    (findings, traffic)
}

/// The gateway's health, and whether a gateway answers at all.
async fn health(address: &Address) -> (Vec<Finding>, bool) {
    let answer = ask(&address.below("/ebbtide/health"), None).await;
    let health = answer.and_then(|answer| value(&answer)).unwrap_or_default();
    let told = |name: &str| health.get(name)?.as_str();
    let (Some(status), Some(version)) = (told("status"), told("version")) else {
        let url = address.to_string();
        let error = RemoteError::NoAnswer { url };
        return (vec![reported(&error, "gateway")], false);
    };
    if status != "ok" {
        return (degraded(&health), true);
    }
    let finding = match told("mode") {
        Some("observe") => {
            let text = format!("version {version} at {address}; it observes and changes nothing");
            Finding::new("gateway", State::Good, text)
        }
        _ => {
            let text = format!("version {version} at {address}");
            Finding::new("gateway", State::Good, text)
        }
    };
    (vec![finding], true)
}

/// The problems of a gateway whose health is degraded, at least one.
fn degraded(health: &Value) -> Vec<Finding> {
    let problem = |code, text| bad("gateway", code, text);
    let mut problems = Vec::new();
    if let Some(reason) = health.get("instead_of_file").and_then(Value::as_str) {
        let text = format!("it keeps conversations in memory and loses them on exit: {reason}");
        problems.push(problem(IN_MEMORY, text));
    }
    let damaged = health.get("damaged").and_then(Value::as_object);
    let damaged = damaged.into_iter().flatten();
    let damaged: Vec<String> = damaged
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    if !damaged.is_empty() {
        let text = format!(
            "records of its store are damaged: {} (turns read as gaps, other records are left out)",
            damaged.join(", ")
        );
        problems.push(problem(DAMAGED, text));
    }
    let is_failing = health.get("store").is_some_and(|store| store == "failing");
    // An older gateway does not tell why it is degraded.
    if is_failing || problems.is_empty() {
        let text = "it cannot store conversations".to_owned();
        problems.push(problem(STORE_FAILING, text));
    }
    problems
}

/// Asks for the number of conversations and the time of the last request.
async fn requests(address: &Address, token: Option<&str>, now: Timestamp) -> (Finding, Traffic) {
    let url = address.to_string();
    let no_answer = RemoteError::NoAnswer { url };
    let answer = ask(&address.below("/ebbtide/api/overview"), token).await;
    let overview = answer.as_ref().and_then(value).unwrap_or_default();
    let listed = overview.get("conversations").and_then(Value::as_array);
    let Some(conversations) = listed else {
        let error = refusal(&overview).unwrap_or(no_answer);
        return (reported(&error, "requests"), Traffic::Unknown);
    };
    // The list begins with the conversation that was seen last.
    let seen = conversations.first().and_then(|first| first.get("seen"));
    let seen = seen.and_then(|seen| seen.as_str()?.parse::<Timestamp>().ok());
    let Some(seen) = seen else {
        let text = "none has arrived yet".to_owned();
        let mut finding = Finding::new("requests", State::Open, text);
        finding.remedy =
            Some("Send a message in a connected client, and run this again.".to_owned());
        return (finding, Traffic::None);
    };
    let counted = figures::plural(conversations.len(), "conversation");
    let ago = ago(now.duration_since(seen));
    let text = format!("{counted}; the last request came {ago}");
    (Finding::new("requests", State::Good, text), Traffic::Some)
}

/// Asks the MCP server to initialize, which changes nothing.
async fn mcp(address: &Address, token: Option<&str>) -> Finding {
    let client = json!({"name": "ebbtide-doctor", "version": env!("CARGO_PKG_VERSION")});
    let request = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client},
    });
    let remote = match Remote::new(address.base(), token.map(Secret::new)) {
        Ok(remote) => remote,
        Err(error) => return reported(&error, "MCP"),
    };
    let asked = timeout(
        PATIENCE,
        remote.mcp(Bytes::from(request.to_string()), &[], None),
    )
    .await;
    let url = address.mcp();
    match asked {
        // An answer of any kind shows that a server is there, even if it refuses the version.
        Ok(Ok(Some(message))) if message.get("jsonrpc") == Some(&json!("2.0")) => {
            Finding::new("MCP", State::Good, format!("a server answers at {url}"))
        }
        Ok(Err(error)) if is_own(&error) => reported(&error, "MCP"),
        _ => bad("MCP", NO_MCP, format!("no server answers at {url}")),
    }
}

/// Says if an error is the gateway's. A gateway without the route passes the request on to a provider.
fn is_own(error: &RemoteError) -> bool {
    let RemoteError::Refused { code, .. } = error else {
        return false;
    };
    gateway::CODES
        .iter()
        .any(|entry| entry.code.as_str() == code)
}

fn value(body: &Bytes) -> Option<Value> {
    serde_json::from_slice(body).ok()
}

/// The error that the control API answered with.
fn refusal(answer: &Value) -> Option<RemoteError> {
    let error = answer.get("error")?;
    let told = |name: &str| Some(error.get(name)?.as_str()?.to_owned());
    Some(RemoteError::Refused {
        code: told("code")?,
        message: told("message").unwrap_or_default(),
        hint: told("hint"),
    })
}

fn reported(error: &RemoteError, subject: &str) -> Finding {
    Finding {
        subject: subject.to_owned(),
        state: State::Bad(error.code()),
        text: error.to_string(),
        remedy: error.hint(),
    }
}

/// A time span in words, in its largest unit.
fn ago(span: SignedDuration) -> String {
    let seconds = span.as_secs().max(0);
    let (number, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    format!("{} ago", figures::plural(number, unit))
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use jiff::SignedDuration;
    use serde_json::{Value, json};

    use super::super::{DAMAGED, IN_MEMORY, STORE_FAILING, State};
    use super::{ago, degraded};

    #[test]
    fn each_reason_of_a_degraded_gateway_is_a_problem_of_its_own() {
        let damaged = json!({"turns": 2});
        let degraded = |store: &str, damaged: Value, instead_of_file: Value| {
            let health =
                json!({"store": store, "damaged": damaged, "instead_of_file": instead_of_file});
            let found = degraded(&health);
            found
                .into_iter()
                .map(|finding| (finding.state, finding.text))
                .collect::<Vec<_>>()
        };
        let failing = (
            State::Bad(STORE_FAILING),
            "it cannot store conversations".to_owned(),
        );
        assert_eq!(
            degraded("failing", json!({}), Value::Null),
            from_ref(&failing)
        );
        // A gateway that tells nothing more.
        assert_eq!(degraded("ok", json!({}), Value::Null), from_ref(&failing));
        let left_out = (
            State::Bad(DAMAGED),
            "records of its store are damaged: 2 turns (turns read as gaps, other records are left out)".to_owned(),
        );
        assert_eq!(
            degraded("ok", damaged.clone(), Value::Null),
            from_ref(&left_out)
        );
        assert_eq!(
            degraded("failing", damaged, Value::Null),
            [left_out, failing]
        );
        let in_memory = (
            State::Bad(IN_MEMORY),
            "it keeps conversations in memory and loses them on exit: no space left".to_owned(),
        );
        assert_eq!(
            degraded("ok", json!({}), json!("no space left")),
            [in_memory]
        );
    }

    #[test]
    fn spans_in_words() {
        for (seconds, expected) in [
            (-5, "0 seconds ago"),
            (1, "1 second ago"),
            (150, "2 minutes ago"),
            (7_200, "2 hours ago"),
            (900_000, "10 days ago"),
        ] {
            assert_eq!(ago(SignedDuration::from_secs(seconds)), expected);
        }
    }
}
