//! `ebbtide doctor`: checks that the gateway works and which clients use it.

mod finding;
mod gateway;
pub mod http;

use clap::Args;
use context::coded::{self, Coded};

use self::finding::{Finding, State};
use self::gateway::Traffic;
use crate::command::connect::address::Address;
use crate::command::connect::client::Client;
use crate::command::connect::error::ConnectError;
use crate::command::connect::standing::{Standing, standing};
use crate::command::runtime;
use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};

#[derive(Debug, Args)]
#[command(after_help = "\
The command checks that the gateway answers and can store conversations, that \
requests arrive, that the MCP server answers, and which clients are connected. \
It exits with 1 if it finds a problem. If the gateway requires an admin token, \
set EBBTIDE_ADMIN_TOKEN.

Examples:
  ebbtide doctor
  ebbtide doctor --url http://127.0.0.1:4100")]
pub struct DoctorArgs {
    /// URL of the gateway
    #[arg(
        long,
        value_name = "URL",
        default_value = "http://127.0.0.1:4000",
        value_parser = Address::parse
    )]
    pub url: Address,
}

context::error_codes! {
    /// The error codes of `ebbtide doctor`.
    pub CODES:
    STORE_FAILING = "E0030", "the gateway cannot store conversations",
        "Check the disk of the store for room and permissions. The gateway's log says more.";
    NO_MCP = "E0031", "the gateway has no MCP server at /mcp",
        "Update the gateway to the version of this command and restart it.";
    PARTLY = "E0032", "a client is connected in part",
        "Run `ebbtide connect` for that client.";
    UNUSED = "E0033", "no client is connected, and no request has arrived",
        "Run `ebbtide connect claude`, or the same with codex, opencode or pi.";
    OBSTACLE = "E0034", "a client is connected, but another setting makes it bypass the gateway",
        "Change that setting in the client's settings file.";
    DAMAGED = "E0035", "records of the gateway's store are damaged",
        "Stop the gateway and run `ebbtide store repair`, with the gateway's --store if it has one. \
         `ebbtide store check` says what the damage affects.";
    IN_MEMORY = "E0036", "the gateway could not open its store and keeps conversations in memory",
        "Solve that problem and restart the gateway.";
}

pub fn run(
    args: &DoctorArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let (mut findings, traffic) = runtime()?.block_on(gateway::examine(&args.url, environment));
    let folders = environment.client_folders.as_ref();
    let folders = folders.ok_or(ConnectError::NoHome)?;
    let mut connected = false;
    for client in Client::ALL {
        let standing = standing(client, folders, &args.url);
        connected |= matches!(
            standing,
            Ok(Standing::Connected { .. } | Standing::Partial(_))
        );
        findings.push(of_client(client, standing, &args.url));
    }
    if !connected && traffic == Traffic::None {
        let text = "none is connected, and no request has arrived";
        findings.push(bad("clients", UNUSED, text.to_owned()));
    }
    for finding in &findings {
        console.lines(finding.lines(console.palette, console.width))?;
    }
    let problems = findings.iter().filter(|finding| finding.is_bad()).count();
    if problems == 0 {
        console.note("No problems found.");
        return Ok(Exit::Success);
    }
    console.note(format!(
        "{} found.",
        lab::figures::plural(problems, "problem")
    ));
    Ok(Exit::Failed)
}

/// A problem with the remedy of its code.
fn bad(subject: &str, code: coded::ErrorCode, text: String) -> Finding {
    Finding {
        subject: subject.to_owned(),
        state: State::Bad(code),
        text,
        remedy: coded::remedy(CODES, code),
    }
}

fn of_client(client: Client, standing: Result<Standing, Failure>, address: &Address) -> Finding {
    let (product, word) = (client.product(), client.word());
    let open = |text: String| Finding::new(product, State::Open, text);
    match standing {
        Ok(Standing::Absent(folder)) => open(format!("not connected; {folder} does not exist")),
        Ok(Standing::Unconnected(others)) if others.is_empty() => open("not connected".to_owned()),
        Ok(Standing::Unconnected(others)) => {
            open(format!("not connected; it uses {}", others.join(", ")))
        }
        Ok(Standing::Partial(missing)) => {
            let text = format!("connected in part; missing: {}", missing.join(", "));
            Finding {
                remedy: Some(format!("Run `ebbtide connect {word} --url {address}`.")),
                ..bad(product, PARTLY, text)
            }
        }
        Ok(Standing::Connected { file, obstacle }) => match obstacle {
            None => Finding::new(product, State::Good, format!("connected by {file}")),
            Some(obstacle) => bad(product, OBSTACLE, obstacle),
        },
        Err(failure) => Finding {
            subject: product.to_owned(),
            state: State::Bad(failure.code()),
            text: failure.to_string(),
            remedy: failure.hint(),
        },
    }
}
