//! The first messages after ten compactions of a memory.

use std::fs;
use std::path::Path;

use plumb::value::Value;
use proptest::prelude::*;

use crate::{block_on_sockets, driver, ran};

/// The folder of the crate `plumb`, whose module `mem` has two strategies, and that of the examples.
const MODULE: &str = "../plumb/src/modules/mem.plumb";
const EXAMPLE: &str = "../../examples/compaction.plumb";

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(path).unwrap()
}

/// A strategy of the module `mem` over an agent, with every threshold at 0.
fn of_module(name: &str) -> String {
    let (module, example) = (text(MODULE), text(EXAMPLE));
    let (_, strategies) = module.split_once("protocol Compaction").unwrap();
    let strategies = strategies.replace(" compressor ;", " Mem.compressor ;");
    let at_0 = strategies.replace("> 0.8", "> 0").replace("> 0.6", "> 0");
    assert_eq!(at_0.matches("pressure > 0)").count(), 3, "{at_0}");
    let (_, rest) = example.split_once("use mem").unwrap();
    let (bot, rest) = rest.split_once("let compressor").unwrap();
    let (_, main) = rest.split_once("let main").unwrap();
    let main = main.replace("spawn compact(", &format!("spawn {name}("));
    format!("use mem{bot}protocol Compaction{at_0}let main{main}")
}

#[derive(Clone, Debug)]
struct Said {
    demand: String,
    names: Vec<String>,
    dates: Vec<String>,
}

fn said() -> impl Strategy<Value = Said> {
    let date = (1..=12_u8, 1..=28_u8).prop_map(|(month, day)| format!("2027-{month:02}-{day:02}"));
    let names = prop::collection::vec("[A-Z][a-z]{4,8}[0-9]{2}", 12);
    let dates = prop::collection::vec(date, 12);
    (names, dates, "[a-z]{3,8}-[0-9]{2}").prop_map(|(names, dates, host)| {
        let first = names.first().zip(dates.first());
        let (name, date) = first.unwrap();
        Said {
            demand: format!("Never deploy to {host} before {date} without {name}."),
            names,
            dates,
        }
    })
}

/// Lets an agent hear messages while a program compacts its memory, and checks what is left.
fn check(program: &str, said: &Said) -> Result<(), TestCaseError> {
    let rest = said.names.iter().zip(&said.dates).skip(1);
    let rest = rest.map(|(name, date)| format!("{name} moved the review to {date}."));
    let messages = std::iter::once(said.demand.clone()).chain(rest);
    let messages = messages.map(|text| Value::from(text.as_str())).collect();
    let folder = crate::folder(&[]);
    let driver = driver(program, folder.path());
    let state = block_on_sockets(async {
        let mut network = driver.network("main").unwrap();
        ran(&mut network, messages).await;
        driver.shutdown().await;
        network.state().unwrap()
    });
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    let memory = state.pointer("/agents/bot/memory").unwrap();
    let field = |name| memory.get(name).unwrap();
    let compactions = field("compactions").as_u64().unwrap();
    prop_assert!(compactions >= 10, "{compactions}");
    // A summary that is swapped in later leaves the newest turns in view.
    let hidden = usize::try_from(field("hidden").as_u64().unwrap()).unwrap();
    let turns = field("turns").as_array().unwrap();
    let shown = turns.get(hidden..).unwrap();
    prop_assert!(shown.len() <= 4, "{shown:?}");
    let summary = field("summary").as_str().unwrap();
    prop_assert!(summary.contains(&said.demand), "{summary}");
    let seen = format!("{summary}{shown:?}");
    for part in said.names.iter().chain(&said.dates) {
        prop_assert!(seen.contains(part.as_str()), "{part}: {seen}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    /// After ten compactions and more, the first demand stands in the summary word for word, with all names and
    /// dates.
    #[test]
    fn ten_compactions_in_a_row_keep_demands_names_and_dates(said in said()) {
        check(&text(EXAMPLE), &said)?;
        check(&of_module("stop_the_world"), &said)?;
        check(&of_module("prepared"), &said)?;
    }
}
