//! Completion scripts, for `perfdb TOOL` and for the tools under their own names.

use super::command_with_tools;
use crate::all_tools::TOOLS;
use clap::{Command, ValueEnum};
use clap_complete::generate;
use clap_complete::shells::{Bash, Fish, Zsh};

pub(super) const EXAMPLES: &str = "\
Examples:
  perfdb completions bash > ~/.local/share/bash-completion/completions/perfdb
  echo 'source <(perfdb completions bash)' >> ~/.bashrc   # links as well
  perfdb completions zsh > \"${fpath[1]}/_perfdb\"
  perfdb completions fish > ~/.config/fish/completions/perfdb.fish";

/// Shells that scripts are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// One script for `perfdb` and for every tool.
pub(super) fn script(shell: Shell) -> String {
    let commands = std::iter::once(command_with_tools()).chain(TOOLS.iter().map(|tool| (tool.command)()));
    let scripts: Vec<(String, String)> =
        commands.map(|command| (command.get_name().to_owned(), one(shell, command))).collect();
    match shell {
        Shell::Bash | Shell::Fish => scripts.into_iter().map(|(_, text)| text).collect(),
        Shell::Zsh => joined_for_zsh(&scripts),
    }
}

fn one(shell: Shell, mut command: Command) -> String {
    let name = command.get_name().to_owned();
    let mut out = Vec::new();
    match shell {
        Shell::Bash => generate(Bash, &mut command, name, &mut out),
        Shell::Zsh => generate(Zsh, &mut command, name, &mut out),
        Shell::Fish => generate(Fish, &mut command, name, &mut out),
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// zsh loads a file of completions for the names of its first line, calls it for one of them (`$service`), and has it define
/// the others. A generated script does both for one name alone: its first line and its end are said once for all.
fn joined_for_zsh(scripts: &[(String, String)]) -> String {
    let names: Vec<&str> = scripts.iter().map(|(name, _)| name.as_str()).collect();
    let mut out = format!("#compdef {}\n", names.join(" "));
    for (name, text) in scripts {
        let body = text.strip_prefix(&format!("#compdef {name}\n")).unwrap_or(text);
        let end = body.rfind("if [ \"$funcstack[1]\" =").unwrap_or(body.len());
        out.push_str(&body[..end]);
    }
    out.push_str("if [ \"$funcstack[1]\" = \"_perfdb\" ]; then\n    \"_${service}\" \"$@\"\nelse\n");
    for name in names {
        out.push_str(&format!("    compdef _{name} {name}\n"));
    }
    out.push_str("fi\n");
    out
}
