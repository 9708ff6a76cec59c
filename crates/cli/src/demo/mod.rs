//! The demo: a scripted model behind the strict provider, a real agent, real HTTP between them.
//!
//! An agent reviews a source tree with tools that it really runs. It talks to the gateway, the gateway
//! to a simulated provider that refuses what real ones refuse and takes as long as they do, on a faster
//! clock. Then the same agent does the same work without the gateway. What is reported comes from the
//! provider's side: its accounts, and the requests as it received them.

mod agent;
pub mod closing;
mod evidence;
mod findings;
mod http;
mod pace;
mod report;
mod screen;
mod script;
mod stage;
mod tools;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use context::Tokens;
use conversation::homunculus::hosted::StrategyProgram;
use gateway::config::RouteChoice;
use sim::Clock;

use self::agent::{Agent, Keeper, Sent, Who};
use self::evidence::{Pinned, examine};
use self::http::Http;
use self::pace::Pace;
use self::report::{Run, SCHEMA};
use self::script::{HTTP_PIN, Script, Task};
use self::tools::Workspace;
use self::tree::Tree;
use crate::failure::Failure;

pub use self::report::{Report, Side};
pub use self::screen::Screen;
pub use self::stage::Stage;

/// The agent reads everything at most this often; then a tree is too small.
const PASSES: usize = 4;

/// What is to be played.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The folder whose files the agent reads.
    pub folder: PathBuf,
    /// The model that the provider plays.
    pub model: String,
    /// Its window.
    pub window: Tokens,
    /// How the gateway makes summaries.
    pub route: RouteChoice,
    /// When it does.
    pub strategy: Arc<StrategyProgram>,
    /// How many times as fast as a real provider it answers.
    pub speed: f64,
    /// How often the window is to be crossed.
    pub boundaries: usize,
    /// The folder in which conversations, store and requests are kept. `None`: nowhere.
    pub keep: Option<PathBuf>,
}

/// What was played.
pub struct Played {
    /// What was found.
    pub report: Report,
    /// The gateway and the provider behind it; they still run.
    pub stage: Stage,
}

/// Plays both runs.
pub async fn play(plan: &Plan, clock: &Clock, screen: &mut Screen<'_>) -> Result<Played, Failure> {
    let tree = Tree::read(&plan.folder)?;
    let workspace = Workspace::of(&tree);
    let http = Http::new();
    // The vocabulary is read now, so that no request waits for it.
    tokens::counter_for(&plan.model).count("ready");
    let agent = |stage: &Stage, keeper| {
        let who = Who {
            name: "demo",
            model: &plan.model,
            keeper,
        };
        Agent::new(&http, &workspace, stage.url(), who)
    };

    screen.begin("With Ebbtide between the agent and its provider");
    let stage = Stage::with(plan, clock).await?;
    let mut with = Performance::new(&stage, agent(&stage, Keeper::Gateway));
    let tasks = review(plan, &tree, &mut with, screen).await;
    // Kept whatever happened, because it says why.
    with.keep(plan, "with")?;
    let tasks = tasks?;
    let with = with.figures(plan)?;
    screen.end();

    screen.begin("The same without: the agent summarises for itself");
    let alone = Stage::without(plan, clock).await?;
    let window = plan.window;
    let mut without = Performance::new(&alone, agent(&alone, Keeper::Agent { window }));
    for task in &tasks {
        without.perform(task, screen).await?;
    }
    without.keep(plan, "without")?;
    let without = without.figures(plan)?;
    alone.shutdown().await;
    screen.end();

    let report = Report {
        schema: SCHEMA,
        folder: plan.folder.display().to_string(),
        model: plan.model.clone(),
        window: plan.window.get(),
        strategy: plan.strategy.name().to_string(),
        strategy_failed: stage.strategy_failed(),
        speed: plan.speed,
        tasks: tasks.len(),
        with,
        without,
    };
    Ok(Played { report, stage })
}

/// Reviews area after area until the window was crossed often enough. The tasks that it took.
async fn review(
    plan: &Plan,
    tree: &Tree,
    with: &mut Performance<'_>,
    screen: &mut Screen<'_>,
) -> Result<Vec<Task>, Failure> {
    let mut script = Script::new(tree);
    let mut tasks = vec![script.greet()];
    with.perform(&script.greet(), screen).await?;
    'passes: for pass in 1..=PASSES {
        for area in tree.areas() {
            let task = script.review(&area, pass);
            with.perform(&task, screen).await?;
            tasks.push(task);
            if tasks.len() == 2 {
                with.pin_over_http(screen).await?;
            }
            if with.boundaries() >= plan.boundaries {
                break 'passes;
            }
        }
    }
    if with.boundaries() < plan.boundaries {
        return Err(tree.too_little());
    }
    let task = script.close();
    with.perform(&task, screen).await?;
    tasks.push(task);
    Ok(tasks)
}

/// An agent at work, and what was pinned meanwhile.
struct Performance<'a> {
    stage: &'a Stage,
    agent: Agent<'a>,
    pinned: Vec<Pinned>,
}

impl<'a> Performance<'a> {
    const fn new(stage: &'a Stage, agent: Agent<'a>) -> Self {
        Self {
            stage,
            agent,
            pinned: Vec::new(),
        }
    }

    fn boundaries(&self) -> usize {
        self.agent
            .sent
            .iter()
            .filter(|sent| sent.is_boundary())
            .count()
    }

    /// Does one task.
    async fn perform(&mut self, task: &Task, screen: &mut Screen<'_>) -> Result<(), Failure> {
        let from = self.agent.sent.len() + 1;
        let pins = task.pins.iter().map(|text| Pinned { text, from });
        self.pinned.extend(pins);
        screen.task(task);
        self.stage.rehearse(task);
        self.agent
            .task(&task.ask, &mut |sent: &Sent| screen.request(sent))
            .await?;
        screen.done();
        Ok(())
    }

    /// Pins a text as somebody beside the agent does: through the gateway's control interface.
    async fn pin_over_http(&mut self, screen: &mut Screen<'_>) -> Result<(), Failure> {
        let from = self.agent.sent.len() + 1;
        self.agent.pin(HTTP_PIN).await?;
        let text = HTTP_PIN;
        self.pinned.push(Pinned { text, from });
        screen.aside("a text is pinned by HTTP");
        Ok(())
    }

    /// Keeps the log and the conversation where that is wanted.
    fn keep(&self, plan: &Plan, name: &str) -> Result<(), Failure> {
        let Some(folder) = &plan.keep else {
            return Ok(());
        };
        let log = self.stage.received();
        write(&folder.join(format!("{name}-requests.jsonl")), &log)?;
        let session = self.agent.messages();
        write(
            &folder.join(format!("{name}-session.json")),
            session.as_bytes(),
        )
    }

    /// Its figures.
    fn figures(&self, plan: &Plan) -> Result<Side, Failure> {
        let evidence = examine(&self.stage.received(), &self.pinned, &self.breaks())?;
        let run = Run {
            sent: &self.agent.sent,
            account: self.stage.account(),
            evidence,
            pins: self.pinned.len(),
            pace: Pace::new(plan.speed).under(&plan.strategy),
            window: plan.window,
        };
        Ok(run.side())
    }

    /// The requests before which the conversation was made smaller: those with a swap, and those that
    /// follow a summary.
    fn breaks(&self) -> Vec<usize> {
        let boundaries = self.agent.sent.iter().filter(|sent| sent.is_boundary());
        boundaries
            .map(|sent| sent.number + usize::from(sent.summary))
            .collect()
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|source| Failure::Unwritable {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests;
