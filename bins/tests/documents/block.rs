//! The fenced blocks of a document.

use std::fmt;
use std::path::Path;
use std::process::Command;

/// What a block is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// `sh`: commands.
    Shell,
    /// `console`: commands and what they print.
    Console,
    /// `text`: printed by a command above.
    Output,
    /// Nothing to run.
    Other,
}

/// What a block needs that not every machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// `needs-torch`: a Python with PyTorch.
    Torch,
    /// `needs-npu`: an Ascend NPU with its tools.
    Npu,
    /// `needs-cluster`: several machines.
    Cluster,
    /// `needs-clone`: builds perfdb, or changes the machine.
    Clone,
    /// `needs-own-files`: files of the reader's own.
    OwnFiles,
}

impl Need {
    fn find(word: &str) -> Option<Need> {
        Some(match word {
            "needs-torch" => Need::Torch,
            "needs-npu" => Need::Npu,
            "needs-cluster" => Need::Cluster,
            "needs-clone" => Need::Clone,
            "needs-own-files" => Need::OwnFiles,
            _ => return None,
        })
    }

    /// Whether this machine has it.
    pub(crate) fn is_met(self) -> bool {
        let torch = || Command::new("/usr/bin/python3").args(["-c", "import torch"]).output();
        match self {
            Need::Torch => torch().is_ok_and(|output| output.status.success()),
            // A device alone is not enough, and its times would not be those of the document.
            Need::Npu | Need::Cluster | Need::Clone | Need::OwnFiles => false,
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Need::Torch => "PyTorch for /usr/bin/python3",
            Need::Npu => "an Ascend NPU",
            Need::Cluster => "several machines",
            Need::Clone => "a clone to build in",
            Need::OwnFiles => "files of the reader's own",
        })
    }
}

/// A fenced block.
#[derive(Debug)]
pub(crate) struct Block {
    /// The line of its first line of text, from 1.
    pub(crate) line: usize,
    pub(crate) language: Language,
    pub(crate) needs: Vec<Need>,
    /// The file that it is to be written to.
    pub(crate) file: Option<String>,
    pub(crate) text: String,
}

/// A command of a `console` block.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) shown: Vec<String>,
}

impl Block {
    /// The commands of a `console` block and what they show.
    pub(crate) fn commands(&self) -> Vec<Shown> {
        let mut commands: Vec<Shown> = Vec::new();
        let mut goes_on = false;
        for (at, line) in self.text.lines().enumerate() {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (_, Some(last)) if goes_on => {
                    last.text.push('\n');
                    last.text.push_str(line);
                }
                (Some(command), _) => {
                    commands.push(Shown { line: self.line + at, text: command.to_owned(), shown: Vec::new() });
                }
                (None, Some(last)) => last.shown.push(line.to_owned()),
                (None, None) => {}
            }
            goes_on = line.ends_with('\\') && commands.last().is_some_and(|last| last.shown.is_empty());
        }
        commands
    }
}

/// All fenced blocks. The error begins with the line.
pub(crate) fn read(document: &str) -> Result<Vec<Block>, String> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (at, line) in document.lines().enumerate() {
        if open {
            open = line != "```";
            if let Some(block) = blocks.last_mut().filter(|_| open) {
                block.text.push_str(line);
                block.text.push('\n');
            }
        } else if let Some(information) = line.strip_prefix("```") {
            open = true;
            blocks.push(block(at + 2, information)?);
        }
    }
    if open { Err(format!("{}: the last block does not end", document.lines().count())) } else { Ok(blocks) }
}

fn block(line: usize, information: &str) -> Result<Block, String> {
    let mut words = information.split_whitespace();
    let language = words.next().ok_or_else(|| format!("{line}: a block needs a language: sh, console, text, …"))?;
    let mut block = Block { line, language: Language::Other, needs: Vec::new(), file: None, text: String::new() };
    let mut is_figure = false;
    for word in words {
        match (word.strip_prefix("file="), Need::find(word)) {
            (Some(file), _) if !Path::new(file).is_absolute() => block.file = Some(file.to_owned()),
            (_, Some(need)) => block.needs.push(need),
            _ if word == "figure" => is_figure = true,
            _ => return Err(format!("{line}: '{word}' is not known")),
        }
    }
    block.language = match language {
        "sh" => Language::Shell,
        "console" => Language::Console,
        "text" if !is_figure => Language::Output,
        "bash" | "shell" => return Err(format!("{line}: commands are 'sh' or 'console'")),
        _ => Language::Other,
    };
    Ok(block)
}
