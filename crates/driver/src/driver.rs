//! A checked program with all that surrounds it.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use plumb::check::Checked;
use plumb::graph::{External, Graph};
use plumb::types::Type;

use crate::error::Unfit;
use crate::network::{Log, Network};
use crate::provider::{Eliza, Provider, Script};
use crate::settings::{Settings, read, unreadable};

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What surrounds a program.
#[derive(Clone)]
pub struct Surroundings {
    /// The folder that the files are looked for in which agents name: usually the program's own.
    pub folder: PathBuf,
    /// Tells the time.
    pub clock: Clock,
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
    /// The scripts that are being read from, by the name of the agent.
    scripts: Mutex<HashMap<Arc<str>, Arc<Script>>>,
}

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
            checked,
            surroundings,
            scripts: Mutex::default(),
        }))
    }

    /// The program.
    #[must_use]
    pub fn checked(&self) -> &Checked {
        &self.0.checked
    }

    /// A network of a process, ready to run. Agents in it remember nothing yet.
    ///
    /// # Errors
    /// Where there is no such process, the program has mistakes, or a setting of an agent cannot be
    /// carried out.
    pub fn network(&self, process: &str) -> Result<Network, Unfit> {
        Network::new(self, &self.graph(process)?, None)
    }

    /// A network of a process that stands for a tool.
    ///
    /// # Errors
    /// As for [`Driver::network`].
    pub(crate) fn network_within(&self, process: &str, tool: &Log) -> Result<Network, Unfit> {
        Network::new(self, &self.graph(process)?, Some(tool))
    }

    fn graph(&self, process: &str) -> Result<Graph, Unfit> {
        let graph = self.checked().graph(process);
        graph.ok_or_else(|| Unfit::NoProcess {
            name: process.to_owned(),
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0.surroundings.folder
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0.surroundings.clock)()
    }

    /// What the answers of an agent or a tool are: the type of its output, whether the network reads it or
    /// not.
    pub(crate) fn answers(&self, declared: &External) -> Type {
        let signature = self.checked().signature(&declared.name);
        let output = signature.and_then(|signature| signature.outputs.into_iter().next());
        output.map_or(Type::Json, |port| port.kind)
    }

    /// Who answers for an agent.
    ///
    /// # Errors
    /// Where its settings do not say, or say something that cannot be carried out.
    pub(crate) fn provider(
        &self,
        declared: &External,
        settings: &Settings,
    ) -> Result<Provider, Unfit> {
        let unfit = |why: &str| Unfit::Setting {
            agent: declared.name.clone(),
            why: why.to_owned(),
        };
        match settings.provider.as_deref() {
            Some("script") => {
                let file = settings.model.as_deref();
                let file = file.ok_or_else(|| unfit("has no `model`, which names its script"))?;
                Ok(Provider::Script(self.script(declared, file)?))
            }
            Some("eliza") => Ok(Provider::Eliza(Box::<Eliza>::default())),
            Some(other) => Err(unfit(&format!("has a provider that is not here: {other}"))),
            None if &*declared.name == "Mem.compressor" => Ok(Provider::Extract),
            None => Err(unfit("has no `provider`")),
        }
    }

    fn script(&self, declared: &External, file: &str) -> Result<Arc<Script>, Unfit> {
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
