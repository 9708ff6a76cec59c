//! Runs a program by the driver: tools that are processes, and commands that lead to commands.

use std::sync::Arc;
use std::time::Duration;

use driver::{Driver, FailureReason, Network, Report, Surroundings};
use jiff::Timestamp;
use plumb::check::check as checked;
use plumb::modules::BuiltIn;
use plumb::value::Value;

use crate::dice::Dice;
use crate::text::Generated;

/// The longest time of a run, which is virtual where nothing is computed.
const LONGEST: Duration = Duration::from_secs(30);

/// An agent that answers its own acknowledgements.
const CIRCLE: &str = "use mem
let bot : (!string, !CtrlCmd) -> (!string, !CtrlResp) = agent { provider: \"eliza\" }
let main : !string -> !string = plumb(input, output) {
  input ; bot ; output
  input ; map({ resume: true }) ; bot@ctrl_in
  bot@ctrl_out ; map({ resume: true }) ; bot@ctrl_in
}
";

/// Checks what a driver makes of a program.
///
/// # Errors
/// The law that is broken.
pub fn check(dice: &mut Dice) -> Result<(), String> {
    if dice.once_in(8) {
        let reports = run(CIRCLE, vec![Value::from("I need rest")])?;
        let spent = |report: &Report| {
            matches!(report, Report::Problem(problem)
                if matches!(problem.why, FailureReason::CommandsSpent { .. }))
        };
        return match reports.iter().any(spent) {
            true => Ok(()),
            false => Err("a circle of commands was not stopped".to_owned()),
        };
    }
    let program = Generated::of_tools(dice);
    let told = |why: String| format!("{why}\n{}", program.text);
    let inputs = i64::try_from(1 + dice.below(8)).unwrap_or(1);
    let messages: Result<Vec<Value>, _> = (0..inputs)
        .map(|id| {
            Value::parse(&format!(
                "{{\"id\":{id},\"v\":{},\"hops\":0}}",
                dice.below(6)
            ))
        })
        .collect();
    let messages = messages.map_err(|error| error.to_string())?;
    let reports = run(&program.text, messages).map_err(told)?;
    account(&reports, inputs, program.exact).map_err(told)
}

fn account(reports: &[Report], inputs: i64, exact: bool) -> Result<(), String> {
    let (mut ids, mut troubles) = (Vec::new(), 0);
    for report in reports {
        match report {
            Report::Output { port: 0, message } => {
                ids.extend(match message.get("id") {
                    Some(Value::Int(id)) => Some(*id),
                    _ => None,
                });
            }
            Report::Output { .. } | Report::Fault(_) | Report::Problem(_) => troubles += 1,
            _ => {}
        }
    }
    if let Some(wrong) = ids.iter().find(|id| !(0..inputs).contains(*id)) {
        return Err(format!("mispaired: an output has the id {wrong}"));
    }
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    let lost = usize::try_from(inputs).unwrap_or_default() - ids.len();
    match exact && (ids.len() < count || lost > troubles) {
        true => Err(format!(
            "{lost} inputs were lost, and {troubles} failures told"
        )),
        false => Ok(()),
    }
}

/// Runs `main` to its end.
fn run(text: &str, messages: Vec<Value>) -> Result<Vec<Report>, String> {
    let found = checked("storm", text, &BuiltIn);
    if let Some(wrong) = found.diagnostics.first() {
        return Err(format!("it does not check: {wrong:?}"));
    }
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    let surroundings = Surroundings {
        max_commands: 100,
        ..Surroundings::new("", clock)
    };
    let driver = Driver::new(found, surroundings);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let mut network = driver.network("main").map_err(|error| error.to_string())?;
        let reports = tokio::time::timeout(LONGEST, drive(&mut network, messages)).await;
        reports.map_err(|_| "it does not end".to_owned())?
    })
}

async fn drive(network: &mut Network, messages: Vec<Value>) -> Result<Vec<Report>, String> {
    let mut reports = Vec::new();
    for message in messages {
        network
            .push(0, message)
            .map_err(|error| error.to_string())?;
        while let Some(report) = network.next().await {
            reports.push(report);
        }
    }
    network.close(0);
    while let Some(report) = network.next().await {
        reports.push(report);
    }
    match network.ended() {
        true => Ok(reports),
        false => Err("it has not ended".to_owned()),
    }
}
