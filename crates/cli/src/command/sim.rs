//! `ebbtide sim`: serves the simulated provider.

use std::fs::OpenOptions;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use context::Tokens;
use sim::{Binding, Compaction, Config, Latency, Log, Running, Signatures, Threads};
use tokio::net::TcpListener;

use crate::command::runtime;
use crate::console::Console;
use crate::environment::clock;
use crate::failure::{Exit, Failure};
use crate::interrupt::interrupted;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide sim
  ebbtide sim --listen 127.0.0.1:0 --window 64000 --log requests.jsonl
  ANTHROPIC_BASE_URL=http://127.0.0.1:4010 ANTHROPIC_API_KEY=any my-agent

Serves Anthropic Messages, OpenAI Chat Completions and OpenAI Responses, \
accepts any key, and rejects what the documented rules reject. It echoes the \
user, unless a user line `@sim say TEXT`, `@sim think TEXT` or `@sim call TOOL \
{ARGUMENTS}` scripts the next response. The header x-sim-fault makes one \
request fail: 429[:SECONDS], 500, 529, reset, cut[:EVENTS], summary-empty, \
summary-garbage, summary-late[:SECONDS], summary-never, summary-unavailable.")]
pub struct SimArgs {
    /// Address to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4010")]
    pub listen: SocketAddr,
    /// Context window in tokens for every model, instead of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub window: Option<u64>,
    /// Simulate the response times of a large hosted model
    #[arg(long)]
    pub latency: bool,
    /// Answer only N requests at a time, as a local model server does; others wait (with --latency)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub slots: Option<u16>,
    /// Append each received request to this file as a JSON line, without keys
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Handling of message threads
    #[arg(long, value_enum, default_value_t = OnThreads::Hold)]
    pub threads: OnThreads,
    /// Report thinking that does not match its prefix, as for old accounts, instead of rejecting it
    #[arg(long)]
    pub report_thinking: bool,
    /// Accept signatures made by another provider, for recorded sessions
    #[arg(long)]
    pub trust_foreign_signatures: bool,
    /// Act as a provider without compaction: reject its endpoint, fields, items, blocks and betas
    #[arg(long)]
    pub no_compaction: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnThreads {
    /// Keep threads on the server
    Hold,
    /// Reject threads with `thread_unsupported_request`
    Refuse,
}

impl SimArgs {
    fn config(&self) -> Config {
        Config {
            window: self.window.map(Tokens::new),
            latency: self.latency.then(Latency::default),
            slots: self.slots.map(usize::from),
            threads: match self.threads {
                OnThreads::Hold => Threads::Hold,
                OnThreads::Refuse => Threads::Refuse,
            },
            binding: if self.report_thinking {
                Binding::Reported
            } else {
                Binding::Enforced
            },
            signatures: if self.trust_foreign_signatures {
                Signatures::ForeignTrusted
            } else {
                Signatures::Verified
            },
            compaction: if self.no_compaction {
                Compaction::Unknown
            } else {
                Compaction::Known
            },
            ..Config::default()
        }
    }
}

pub fn run(args: &SimArgs, console: &mut Console) -> Result<Exit, Failure> {
    let log = args.log.as_ref().map(open).transpose()?;
    let unusable = |source| Failure::Unlistenable {
        address: args.listen,
        source,
    };
    runtime()?.block_on(async {
        let listener = TcpListener::bind(args.listen).await.map_err(unusable)?;
        let running = sim::serve(listener, args.config(), clock(), log).map_err(unusable)?;
        // A reader of the address may stop this immediately.
        let interrupt = interrupted();
        console.line(format!("listening on {}", running.url()))?;
        console.flush()?;
        interrupt.await;
        let total = totals(&running);
        running.shutdown().await;
        console.note(total);
        Ok(Exit::Success)
    })
}

fn open(path: &PathBuf) -> Result<Log, Failure> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.map_err(Failure::unwritable(path))?;
    Ok(Log::new(Box::new(file)))
}

fn totals(running: &Running) -> String {
    let total = running.provider().total();
    format!(
        "{} requests answered, {} rejected, {} summaries; {} tokens in ({} from cache), {} out, {}",
        total.requests,
        total.refused,
        total.summaries,
        total.used.input(),
        total.used.cache_read,
        total.used.output,
        total.cost
    )
}
