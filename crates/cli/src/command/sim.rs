//! `ebbtide sim`: the strict provider on a socket.

use std::fs::OpenOptions;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use context::Tokens;
use sim::{Binding, Config, Latency, Log, Running, Signatures, Threads};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::console::Console;
use crate::environment::clock;
use crate::failure::{Exit, Failure};
use crate::interrupt::interrupted;

/// What `ebbtide sim` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide sim
  ebbtide sim --listen 127.0.0.1:0 --window 64000 --log requests.jsonl
  ANTHROPIC_BASE_URL=http://127.0.0.1:4010 ANTHROPIC_API_KEY=any my-agent

Speaks Anthropic Messages, OpenAI Chat Completions and OpenAI Responses, takes any key, and
refuses what the documented rules refuse. It answers by echo; a user's line `@sim say TEXT`,
`@sim think TEXT` or `@sim call TOOL {ARGUMENTS}` puts words into the next answer. The header
x-sim-fault makes one request fail: 429[:SECONDS], 500, 529, reset, cut[:EVENTS],
summary-empty, summary-garbage, summary-late[:SECONDS], summary-never, summary-unavailable.")]
pub struct SimArgs {
    /// The address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4010")]
    pub listen: SocketAddr,
    /// The window of every model, in tokens, instead of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub window: Option<u64>,
    /// Take as long as a large hosted model does
    #[arg(long)]
    pub latency: bool,
    /// Append each request as it was received to this file, a JSON line each, without keys
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// What happens to message threads
    #[arg(long, value_enum, default_value_t = OnThreads::Hold)]
    pub threads: OnThreads,
    /// Report thinking that does not fit its prefix, as for old accounts, instead of refusing it
    #[arg(long)]
    pub report_thinking: bool,
    /// Do not check signatures that another provider made: for recorded sessions
    #[arg(long)]
    pub trust_foreign_signatures: bool,
}

/// What happens to message threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnThreads {
    /// They are held.
    Hold,
    /// They are refused with `thread_unsupported_request`.
    Refuse,
}

impl SimArgs {
    fn config(&self) -> Config {
        Config {
            window: self.window.map(Tokens::new),
            latency: self.latency.then(Latency::default),
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
            ..Config::default()
        }
    }
}

/// Serves until it is interrupted.
pub fn run(args: &SimArgs, console: &mut Console) -> Result<Exit, Failure> {
    let log = args.log.as_ref().map(open).transpose()?;
    let unusable = |source| Failure::Unlistenable {
        address: args.listen,
        source,
    };
    let runtime = Runtime::new().map_err(unusable)?;
    runtime.block_on(async {
        let listener = TcpListener::bind(args.listen).await.map_err(unusable)?;
        let running = sim::serve(listener, args.config(), clock(), log).map_err(unusable)?;
        console.line(format!("listening on {}", running.url()))?;
        console.flush()?;
        interrupted().await;
        let total = totals(&running);
        running.shutdown().await;
        console.remark(total);
        Ok(Exit::Done)
    })
}

fn open(path: &PathBuf) -> Result<Log, Failure> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.map_err(|source| Failure::Unwritable {
        path: path.clone(),
        source,
    })?;
    Ok(Log::new(Box::new(file)))
}

fn totals(running: &Running) -> String {
    let total = running.provider().total();
    format!(
        "{} requests answered, {} refused, {} summaries; {} tokens in ({} from the cache), {} out, {}",
        total.requests,
        total.refused,
        total.summaries,
        total.used.input(),
        total.used.cache_read,
        total.used.output,
        total.cost
    )
}
