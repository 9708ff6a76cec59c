//! A checked program with all that surrounds it.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use model::{Client, Endpoint, ModelError};
use plumb::check::Checked;
use plumb::graph::{External, Graph};
use plumb::types::Type;
use plumb::value::Value;
use tokio::net::TcpListener;
use wire::api::Dialect;

use crate::account::Account;
use crate::error::{FailureReason, SetupError};
use crate::mcp::Supervised;
use crate::memory::{Dumps, Originals};
use crate::network::{Log, Network, Plan};
use crate::provider::{Eliza, Model, ModelEndpoint, Provider, Script};
use crate::settings::{Command, Settings, read, unreadable};

/// The model of agents of provider `sim` that name none.
const SIM_MODEL: &str = "claude-opus-5-5";

/// The simulated provider takes any key, and tells accounts apart by it.
const SIM_KEY: &str = "sim";

/// The dialect in which agents talk to the simulated provider.
pub(crate) const SIM_DIALECT: Dialect = Dialect::Anthropic;

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The environment of a program: files, clock and accounts.
#[derive(Clone)]
pub struct Surroundings {
    /// The folder that the files are looked for in which agents name: usually the program's own.
    pub folder: PathBuf,
    /// Tells the time.
    pub clock: Clock,
    /// The account for models of provider `anthropic`.
    pub anthropic: Account,
    /// The account for models of provider `openai`.
    pub openai: Account,
    /// Timeouts and retries of model calls.
    pub calling: model::Settings,
    /// The maximum number of model calls by all agents together; `None` is unlimited. Nothing else bounds a
    /// loop of agents.
    pub max_calls: Option<u64>,
    /// The maximum number of commands in a row that the agents of a network carry out without anything between
    /// them: an input, an answer, or a timer of a second or more.
    pub max_commands: u64,
}

/// The usual maximum of commands in a row.
pub const COMMANDS: u64 = 10_000;

impl Surroundings {
    /// A folder and a clock, without keys.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, clock: Clock) -> Self {
        Self {
            folder: folder.into(),
            clock,
            anthropic: Account::default(),
            openai: Account::default(),
            calling: model::Settings::default(),
            max_calls: None,
            max_commands: COMMANDS,
        }
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// Runs the processes of one checked program. Clones are one and the same.
#[derive(Clone)]
pub struct Driver(Arc<Inner>);

struct Inner {
    checked: Checked,
    surroundings: Surroundings,
    /// The number of model calls so far; counted only if `max_calls` is set.
    calls: AtomicU64,
    /// Made when it is first needed: it reads the system's root certificates.
    client: OnceLock<Client>,
    /// The scripts that are being read from, by the name of the agent.
    scripts: Mutex<HashMap<Arc<str>, Arc<Script>>>,
    /// The original turns behind the dumps of agents.
    dumps: Mutex<Dumps>,
    /// The processes that have been called as tools.
    called: Mutex<HashMap<Arc<str>, Arc<Plan>>>,
    /// The simulated provider, once it has been asked.
    sim: tokio::sync::Mutex<Option<sim::Running>>,
    /// The programs that serve tools, once they have been asked.
    servers: Mutex<HashMap<Command, Serving>>,
}

/// A program that serves tools. Who asks it waits for those who asked before.
pub(crate) type Serving = Arc<tokio::sync::Mutex<Supervised>>;

/// The time that a program that serves tools gets to exit after its input ends.
const GRACE: Duration = Duration::from_secs(2);

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("surroundings", &self.0.surroundings)
            .finish_non_exhaustive()
    }
}

impl Driver {
    /// A driver for a program.
    #[must_use]
    pub fn new(checked: Checked, surroundings: Surroundings) -> Self {
        Self(Arc::new(Inner {
            client: OnceLock::new(),
            checked,
            surroundings,
            calls: AtomicU64::new(0),
            scripts: Mutex::default(),
            dumps: Mutex::default(),
            called: Mutex::default(),
            sim: tokio::sync::Mutex::default(),
            servers: Mutex::default(),
        }))
    }

    /// The program.
    #[must_use]
    pub fn checked(&self) -> &Checked {
        &self.0.checked
    }

    /// Makes a network of a process, ready to run, whose agents remember nothing yet.
    ///
    /// # Errors
    /// If there is no such process, the program has mistakes, or a setting of an agent cannot be carried out.
    pub fn network(&self, process: &str) -> Result<Network, SetupError> {
        Network::new(self, &Plan::new(self.graph(process)?)?, None)
    }

    /// A network of a process that stands for a tool. The parts that all calls share are made once.
    ///
    /// # Errors
    /// The same as for [`Driver::network`].
    pub(crate) fn network_within(
        &self,
        process: &Arc<str>,
        tool: &Log,
    ) -> Result<Network, SetupError> {
        let plan = {
            let called = self.0.called.lock();
            let mut called = called.unwrap_or_else(PoisonError::into_inner);
            match called.get(process) {
                Some(plan) => Arc::clone(plan),
                None => {
                    let plan = Arc::new(Plan::new(self.graph(process)?)?);
                    called.insert(process.clone(), Arc::clone(&plan));
                    plan
                }
            }
        };
        Network::new(self, &plan, Some(tool))
    }

    fn graph(&self, process: &str) -> Result<Graph, SetupError> {
        let graph = self.checked().graph(process);
        graph.ok_or_else(|| SetupError::NoProcess {
            name: process.to_owned(),
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0.surroundings.folder
    }

    /// Counts a call of a model.
    ///
    /// # Errors
    /// If there have been as many as there may be.
    pub(crate) fn count_call(&self) -> Result<(), FailureReason> {
        let Some(most) = self.0.surroundings.max_calls else {
            return Ok(());
        };
        let one_more = |calls: u64| (calls < most).then_some(calls + 1);
        let order = Ordering::Relaxed;
        let counted = self.0.calls.fetch_update(order, order, one_more);
        counted
            .map(|_| ())
            .map_err(|_| FailureReason::CallsSpent { most })
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0.surroundings.clock)()
    }

    /// Holds the original turns behind a dump of an agent, for the agents that it may be handed to.
    pub(crate) fn dumped(&self, memory: &Value, originals: Originals) {
        let mut dumps = self.0.dumps.lock().unwrap_or_else(PoisonError::into_inner);
        dumps.put(memory, originals);
    }

    /// The original turns behind a memory, if it is a dump that an agent gave lately.
    pub(crate) fn originals(&self, memory: &Value) -> Option<Arc<Originals>> {
        let dumps = self.0.dumps.lock().unwrap_or_else(PoisonError::into_inner);
        dumps.get(memory)
    }

    /// The type of the answers of an agent or a tool, even if nothing in the network reads its output.
    pub(crate) fn answers(&self, declared: &External) -> Type {
        let signature = self.checked().signature(&declared.name);
        let output = signature.and_then(|signature| signature.outputs.into_iter().next());
        output.map_or(Type::Json, |port| port.kind)
    }

    /// The `description` of a tool, if it has one.
    ///
    /// # Errors
    /// If there is no such process.
    pub(crate) fn description(&self, process: &str) -> Result<Option<String>, SetupError> {
        let graph = self.graph(process)?;
        let own = graph.externals.iter().find(|it| *it.name == *process);
        let mut settings = own.into_iter().flat_map(|tool| &tool.settings);
        let found = settings.find(|(key, _)| &**key == "description");
        Ok(found.and_then(|(_, value)| Some(value.as_text()?.to_owned())))
    }

    /// The provider of an agent's answers.
    ///
    /// # Errors
    /// If its settings do not say, or say something that cannot be carried out.
    pub(crate) fn provider(
        &self,
        declared: &External,
        settings: &Settings,
    ) -> Result<Provider, SetupError> {
        let unfit = |why: &str| SetupError::Setting {
            agent: declared.name.clone(),
            why: why.to_owned(),
        };
        let named = settings.model.as_deref();
        let surroundings = &self.0.surroundings;
        Ok(match settings.provider.as_deref() {
            Some("script") => {
                let file = named.ok_or_else(|| unfit("has no `model`, which names its script"))?;
                Provider::Script(self.script(declared, file)?)
            }
            Some("eliza") => Provider::Eliza(Box::<Eliza>::default()),
            Some("sim") => {
                let reach = match settings.endpoint.as_deref() {
                    None => ModelEndpoint::Sim(self.clone()),
                    Some(_) => {
                        let account = Account {
                            key: Some(SIM_KEY.to_owned()),
                            base: None,
                        };
                        self.reach(declared, settings, &account, SIM_DIALECT)?
                    }
                };
                self.model(reach, named.unwrap_or(SIM_MODEL), settings)
            }
            Some(provider @ ("anthropic" | "openai")) => {
                let name = named.ok_or_else(|| unfit("has no `model`"))?;
                let (account, dialect) = match provider {
                    "anthropic" => (&surroundings.anthropic, Dialect::Anthropic),
                    _ => (&surroundings.openai, Dialect::Chat),
                };
                let reach = self.reach(declared, settings, account, dialect)?;
                self.model(reach, name, settings)
            }
            Some(other) => {
                return Err(unfit(&format!("names an unknown provider: {other}")));
            }
            None if &*declared.name == "Mem.compressor" => Provider::Extract,
            None => return Err(unfit("has no `provider`")),
        })
    }

    fn model(&self, reach: ModelEndpoint, name: &str, settings: &Settings) -> Provider {
        let calling = self.0.surroundings.calling;
        let client = self.0.client.get_or_init(|| Client::new(calling)).clone();
        Provider::Model(Box::new(Model::new(client, reach, name, settings)))
    }

    fn reach(
        &self,
        declared: &External,
        settings: &Settings,
        account: &Account,
        dialect: Dialect,
    ) -> Result<ModelEndpoint, SetupError> {
        let place = account.place(dialect, settings.endpoint.as_deref());
        let place = place.map_err(|source| SetupError::Model {
            agent: declared.name.clone(),
            source,
        })?;
        if !place.keyed && settings.endpoint.is_none() {
            return Err(SetupError::Setting {
                agent: declared.name.clone(),
                why: format!("needs a key for {}", place.endpoint.host()),
            });
        }
        Ok(ModelEndpoint::At(Box::new(place.endpoint)))
    }

    /// The simulated provider, started on first use.
    ///
    /// # Errors
    /// If nothing can be listened on.
    pub(crate) async fn sim(&self) -> Result<Endpoint, ModelError> {
        let mut running = self.0.sim.lock().await;
        let url = match &*running {
            Some(running) => running.url(),
            None => {
                let unreachable = |error: std::io::Error| ModelError::Unreachable {
                    host: "the simulated provider".to_owned(),
                    why: error.to_string(),
                };
                let listener = TcpListener::bind(("127.0.0.1", 0)).await;
                let clock = self.0.surroundings.clock.clone();
                let started = listener
                    .and_then(|listener| sim::serve(listener, sim::Config::default(), clock, None))
                    .map_err(unreachable)?;
                let url = started.url();
                *running = Some(started);
                url
            }
        };
        Endpoint::new(SIM_DIALECT, &url)?.with_key(SIM_KEY)
    }

    /// A program that serves tools, started on first use.
    pub(crate) fn server(&self, command: &Command) -> Serving {
        let mut servers = self
            .0
            .servers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let server = servers.entry(command.clone());
        let new = || {
            Arc::new(tokio::sync::Mutex::new(Supervised::new(
                command,
                self.folder(),
            )))
        };
        Arc::clone(server.or_insert_with(new))
    }

    pub(crate) fn max_commands(&self) -> u64 {
        self.0.surroundings.max_commands
    }

    /// Ends what runs beside the networks: the simulated provider, and programs that serve tools, which get two
    /// seconds. To be called when the networks have ended or been dropped.
    pub async fn shutdown(&self) {
        self.shutdown_within(GRACE).await;
    }

    /// The same, with so much time for the programs that serve tools.
    pub async fn shutdown_within(&self, grace: Duration) {
        let servers = {
            let mut servers = self
                .0
                .servers
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *servers)
        };
        // A server in use ends when its last user drops it.
        let servers = servers.into_values().filter_map(Arc::into_inner);
        let ends = servers.map(|server| server.into_inner().shutdown(grace));
        futures_util::future::join_all(ends).await;
        if let Some(running) = self.0.sim.lock().await.take() {
            running.shutdown().await;
        }
    }

    fn script(&self, declared: &External, file: &str) -> Result<Arc<Script>, SetupError> {
        let scripts = &self.0.scripts;
        let mut scripts = scripts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(script) = scripts.get(&declared.name) {
            return Ok(Arc::clone(script));
        }
        let path = self.folder().join(file);
        let text = read(declared, &path)?;
        let script = Script::parse(&text).map_err(|why| unreadable(declared, path, why))?;
        let script = Arc::new(script);
        scripts.insert(declared.name.clone(), Arc::clone(&script));
        Ok(script)
    }
}
