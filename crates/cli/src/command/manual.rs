//! The manual page `ebbtide(1)`: the program, then each command under a heading of its own.

use std::io;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::Cli;

/// The page, in the language of `man`.
pub fn page() -> io::Result<String> {
    let mut program = Cli::command();
    program.build();
    let mut page = Vec::new();
    Man::new(program.clone())
        .manual("Ebbtide")
        .render(&mut page)?;
    let mut page = text(&page);
    for command in program.get_subcommands() {
        // The commands have no pages of their own.
        let name = command.get_name().replace('-', "\\-");
        page = page.replace(&format!("ebbtide\\-{name}(1)"), &format!("ebbtide {name}"));
        add(&mut page, command)?;
    }
    Ok(page)
}

/// Adds a command and those under it.
fn add(page: &mut String, command: &Command) -> io::Result<()> {
    if command.is_hide_set() || command.get_name() == "help" {
        return Ok(());
    }
    let name = command.get_bin_name().unwrap_or_default();
    let about = command.get_about().map(ToString::to_string);
    let about = about.unwrap_or_default();
    page.push_str(&format!(
        "\n.SH \"{}\"\n{about}.\n.P\n",
        name.to_uppercase()
    ));
    let man = Man::new(command.clone().disable_help_flag(true));
    let mut part = Vec::new();
    man.render_synopsis_section(&mut part)?;
    man.render_options_section(&mut part)?;
    // Parts of a command are sections below its own.
    let part = text(&part).replace(".SH SYNOPSIS\n", "");
    page.push_str(&part.replace("\n.SH ", "\n.SS "));
    for command in command.get_subcommands() {
        add(page, command)?;
    }
    Ok(())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn every_command_has_a_section() {
        let page = page().unwrap();
        for name in ["SERVE", "REPLAY", "STORE CHECK", "PLUMB RUN"] {
            assert!(
                page.contains(&format!(".SH \"EBBTIDE {name}\"")),
                "{name} is missing"
            );
        }
        assert_eq!(page.matches(".SH OPTIONS").count(), 1);
    }
}
