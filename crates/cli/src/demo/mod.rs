//! The demo: an agent works with the gateway and without, against a simulated provider, over HTTP.
//!
//! The agent reviews a source tree with tools that really run. A script plays the model. The simulated
//! provider rejects what real providers reject and has their response times, on a faster clock. All
//! reported figures come from the provider's side: its accounts, and the requests that it received.

mod agent;
mod audit;
mod definitions;
mod http;
pub mod picture;
mod report;
mod screen;
mod script;
mod servers;
pub mod text;
mod timing;
mod tools;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use context::Tokens;
use conversation::homunculus::hosted::StrategyProgram;
use gateway::config::RouteChoice;
use sim::Clock;

use self::agent::{Agent, Compactor, Exchange};
use self::audit::{Pinned, examine};
use self::http::client;
use self::report::{Measured, Other, Report, SCHEMA, Side};
use self::script::{HTTP_PIN, Script, Task};
use self::servers::Servers;
use self::timing::Timing;
use self::tools::Workspace;
use self::tree::Tree;
use crate::failure::Failure;

pub use self::screen::Screen;

/// Passes over the tree before the demo gives up because it is too small.
const PASSES: usize = 4;

/// The parameters of a demo.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The folder whose files the agent reads.
    pub folder: PathBuf,
    /// The model that the provider simulates.
    pub model: String,
    pub window: Tokens,
    pub route: RouteChoice,
    pub strategy: Arc<StrategyProgram>,
    /// Strategies that repeat the same tasks, to compare.
    pub others: Vec<Arc<StrategyProgram>>,
    /// The provider's speed, relative to a real one.
    pub speed: f64,
    /// The compactions to reach with the gateway.
    pub boundaries: usize,
    /// The folder for conversations, store and requests; `None` saves nothing.
    pub keep: Option<PathBuf>,
}

/// Runs the agent with the gateway and without. The servers of the first run stay up.
pub async fn run(
    plan: &Plan,
    clock: &Clock,
    screen: &mut Screen<'_>,
) -> Result<(Report, Servers), Failure> {
    let tree = Tree::read(&plan.folder)?;
    // The gateway acts far above a quarter of the window.
    if tree.tokens_at_most() * (PASSES as u64) < plan.window.get() / 4 {
        return Err(tree.too_little());
    }
    let workspace = Workspace::of(&tree);
    let client = client();
    // Loads the tokenizer now, so that its load time is not measured as a wait.
    tokens::counter_for(&plan.model).count("ready");
    let agent = |servers: &Servers, compactor| {
        Agent::new(&client, &workspace, &servers.url(), &plan.model, compactor)
    };

    screen.begin("With Ebbtide between the agent and its provider");
    let servers = Servers::with_gateway(plan, clock).await?;
    let mut with = AgentRun::new(&servers, agent(&servers, Compactor::Gateway)?);
    let tasks = review(plan, &tree, &mut with, screen).await;
    // Saved even if the run failed, since the log shows why.
    with.keep(plan, "with")?;
    let tasks = tasks?;
    let with = with.figures(plan)?;
    screen.end();

    let mut others = Vec::new();
    for strategy in &plan.others {
        let plan = Plan {
            strategy: Arc::clone(strategy),
            // The first run's store serves `--stay`.
            keep: None,
            ..plan.clone()
        };
        screen.begin(&format!("The same tasks under {}", strategy.name()));
        screen.under(&plan);
        let servers = Servers::with_gateway(&plan, clock).await?;
        let mut run = AgentRun::new(&servers, agent(&servers, Compactor::Gateway)?);
        run.repeat(&tasks, screen).await?;
        others.push(Other {
            strategy: strategy.name().to_string(),
            strategy_failed: servers.strategy_failed(),
            side: run.figures(&plan)?,
        });
        servers.shutdown().await;
        screen.end();
    }

    screen.begin("Without Ebbtide: the agent summarizes for itself");
    screen.under(plan);
    let alone = Servers::without_gateway(plan, clock).await?;
    let window = plan.window;
    let mut without = AgentRun::new(&alone, agent(&alone, Compactor::Agent { window })?);
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
        strategy_failed: servers.strategy_failed(),
        speed: plan.speed,
        tasks: tasks.len(),
        with,
        others,
        without,
    };
    Ok((report, servers))
}

/// Reviews area after area until the window was crossed often enough. Returns the tasks performed.
async fn review(
    plan: &Plan,
    tree: &Tree,
    with: &mut AgentRun<'_>,
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
            if with.boundaries().count() >= plan.boundaries {
                break 'passes;
            }
        }
    }
    if with.boundaries().count() < plan.boundaries {
        return Err(tree.too_little());
    }
    let task = script.close();
    with.perform(&task, screen).await?;
    tasks.push(task);
    Ok(tasks)
}

/// One of the two runs: an agent, its servers, and the pins set so far.
struct AgentRun<'a> {
    servers: &'a Servers,
    agent: Agent<'a>,
    pinned: Vec<Pinned>,
}

impl<'a> AgentRun<'a> {
    const fn new(servers: &'a Servers, agent: Agent<'a>) -> Self {
        Self {
            servers,
            agent,
            pinned: Vec::new(),
        }
    }

    /// The exchanges that compacted the conversation.
    fn boundaries(&self) -> impl Iterator<Item = &Exchange> {
        self.agent.sent.iter().filter(|sent| sent.is_boundary())
    }

    /// Performs the tasks of another run, with the pin over HTTP at the same place.
    async fn repeat(&mut self, tasks: &[Task], screen: &mut Screen<'_>) -> Result<(), Failure> {
        for (index, task) in tasks.iter().enumerate() {
            self.perform(task, screen).await?;
            if index == 1 {
                self.pin_over_http(screen).await?;
            }
        }
        Ok(())
    }

    async fn perform(&mut self, task: &Task, screen: &mut Screen<'_>) -> Result<(), Failure> {
        let from = self.agent.sent.len() + 1;
        let pins = task.pins.iter().map(|text| Pinned { text, from });
        self.pinned.extend(pins);
        screen.task(task);
        self.servers.rehearse(task);
        self.agent
            .task(&task.ask, &mut |sent: &Exchange| screen.request(sent))
            .await?;
        screen.done();
        Ok(())
    }

    /// Pins a text through the gateway's control API, as a user would outside the conversation.
    async fn pin_over_http(&mut self, screen: &mut Screen<'_>) -> Result<(), Failure> {
        let from = self.agent.sent.len() + 1;
        self.agent.pin(&self.servers.url(), HTTP_PIN).await?;
        let text = HTTP_PIN;
        self.pinned.push(Pinned { text, from });
        screen.aside("a text is pinned over HTTP");
        Ok(())
    }

    /// Saves the request log and the conversation, if the plan names a folder.
    fn keep(&self, plan: &Plan, name: &str) -> Result<(), Failure> {
        let Some(folder) = &plan.keep else {
            return Ok(());
        };
        let log = self.servers.received();
        write(&folder.join(format!("{name}-requests.jsonl")), &log)?;
        let session = self.agent.messages();
        write(
            &folder.join(format!("{name}-session.json")),
            session.as_bytes(),
        )
    }

    fn figures(&self, plan: &Plan) -> Result<Side, Failure> {
        // A swap changes its own request; a summary of the agent's own changes the next one.
        let changed = self
            .boundaries()
            .map(|sent| sent.number + usize::from(sent.summary));
        let changed: Vec<usize> = changed.collect();
        let measured = Measured {
            sent: &self.agent.sent,
            account: self.servers.account(),
            audit: examine(&self.servers.received(), &self.pinned, &changed)?,
            pins: self.pinned.len(),
            timing: Timing::new(plan.speed).under(&plan.strategy),
            window: plan.window,
        };
        Ok(measured.side())
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(Failure::unwritable(path))
}

#[cfg(test)]
mod tests;
