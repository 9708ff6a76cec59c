//! `ebbtide completions`: prints a shell completion script.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::console::Console;
use crate::failure::{Exit, Failure};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide completions bash > ~/.local/share/bash-completion/completions/ebbtide
  ebbtide completions zsh > ~/.zfunc/_ebbtide
  ebbtide completions fish > ~/.config/fish/completions/ebbtide.fish")]
pub struct CompletionsArgs {
    /// Shell to complete in
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

pub fn run(args: &CompletionsArgs, console: &mut Console) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ebbtide", &mut script);
    console.data(&script)?;
    Ok(Exit::Success)
}
