//! Runs what README and guides tell people to type, in order, in a copy of the shipped inputs, and compares what they show.
//!
//! One test per document in a clone of its own, and one of all documents in one clone, which must be as before after each. In a document
//!
//! - a `sh` block is run whole and must succeed;
//! - in a `console` block lines that begin with `$ ` are commands (a `\` at the end goes on in the next line), and the lines
//!   below are what a command prints, stdout and stderr. A line `…` stands for any lines, a `…` in a line for any text. A
//!   command that shows nothing may print what it wants. Other exit statuses than 0 are shown by `$ echo $?`;
//! - a `text` block is a part of what the commands above printed; `text figure` is a drawing;
//! - a word behind the language says what a block needs that not every machine has: see [`Need`]. Without it the block is left
//!   out, and a line says so;
//! - `… file=NAME` writes the block to that file instead of running it.
//!
//! Blocks of other languages are not run.

mod block;
mod kernel_names;
mod links;
mod session;
mod shown;
mod words;

use block::{Block, Language};
use libtest_mimic::{Arguments, Failed, Trial};
use session::Session;
use std::path::Path;

fn main() -> std::process::ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut documents = vec![root.join("README.md")];
    let guides = std::fs::read_dir(root.join("docs/guide")).into_iter().flatten().flatten();
    documents.extend(guides.map(|entry| entry.path()));
    documents.sort();
    assert!(documents.len() > 5, "no guides below docs/guide");
    let names: Vec<String> =
        documents.iter().map(|path| path.strip_prefix(&root).unwrap_or(path).display().to_string()).collect();
    let trials = documents.into_iter().map(|document| {
        let name = document.strip_prefix(&root).unwrap_or(&document).display().to_string();
        let root = root.clone();
        Trial::test(name.clone(), move || run(&root, &name).map_err(Failed::from))
    });
    let bins = Path::new(env!("CARGO_MANIFEST_DIR"));
    let none = |found: Vec<String>| if found.is_empty() { Ok(()) } else { Err(Failed::from(found.join("\n"))) };
    let own = [
        Trial::test("pages run one after the other in one clone, and leave nothing behind", move || {
            none(in_sequence(&bins.join(".."), &names)?)
        }),
        Trial::test("differences are found", || differences_are_found(bins).map_err(Failed::from)),
        Trial::test("links lead somewhere", move || none(links::broken(&bins.join(".."))?)),
        Trial::test("texts are in plain words (testdata/words)", move || none(words::found(&bins.join(".."))?)),
        Trial::test("kernel names stand in the registry", move || none(kernel_names::found(&bins.join(".."))?)),
        Trial::test("README leads each audience to its first command", move || {
            none(without_command(&bins.join(".."))?)
        }),
        Trial::test("all pages are in docs/SUMMARY.md", move || none(links::unlisted(&bins.join(".."))?)),
    ];
    libtest_mimic::run(&arguments, trials.chain(own).collect()).exit_code()
}

/// Lines of the first screen of the README.
const SCREEN: usize = 24;

/// Audiences that find no command in the first screen of the README, and what else a newcomer misses there.
fn without_command(root: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(root.join("README.md")).map_err(|error| error.to_string())?;
    let rows: Vec<&str> = text.lines().take(SCREEN).filter(|line| line.starts_with("| ")).collect();
    let is_led = |audience: &&str| {
        rows.iter().any(|row| row.starts_with(&format!("| {audience} |")) && row.contains("| `perfdb "))
    };
    let audiences = ["GPU engineer", "Ascend developer", "kernel writer", "planner"];
    let mut faults: Vec<String> = audiences
        .into_iter()
        .filter(|audience| !is_led(audience))
        .map(|audience| format!("no command: {audience}"))
        .collect();
    if rows.iter().position(|row| row.contains("`perfdb trace diff ")) != Some(1) {
        faults.push("the first row is not trace diff".to_owned());
    }
    let originals = ["https://github.com/Ascend/msmodeling", "https://pypi.org/project/wafer-core"];
    faults.extend(originals.into_iter().filter(|address| !text.contains(address)).map(str::to_owned));
    Ok(faults)
}

/// Runs the blocks of one document; the error lists every difference.
fn run(root: &Path, name: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"))?;
    let faults = play_all(root, name, &text)?;
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// What is wrong when all documents are run in one clone: what they show, and what of them is left.
fn in_sequence(root: &Path, names: &[String]) -> Result<Vec<String>, String> {
    let text_of = |error: std::io::Error| error.to_string();
    let mut session = Session::start(root).map_err(text_of)?;
    let mut before = session.tree().map_err(text_of)?;
    let mut faults = Vec::new();
    for name in names {
        session.begin_anew();
        let text = std::fs::read_to_string(root.join(name)).map_err(text_of)?;
        faults.extend(play_in(&mut session, name, &text)?);
        let after = session.tree().map_err(text_of)?;
        let is_other = |path: &&std::path::PathBuf| before.get(*path) != after.get(*path);
        let mut left: Vec<String> =
            before.keys().chain(after.keys()).filter(is_other).map(|path| path.display().to_string()).collect();
        left.sort();
        left.dedup();
        if !left.is_empty() {
            faults.push(format!("{name}: leaves behind or changes: {}", left.join(" ")));
        }
        before = after;
    }
    Ok(faults)
}

/// What is wrong with a document in a clone of its own.
fn play_all(root: &Path, name: &str, text: &str) -> Result<Vec<String>, String> {
    let mut session = Session::start(root).map_err(|error| error.to_string())?;
    play_in(&mut session, name, text)
}

/// What is wrong with a document.
fn play_in(session: &mut Session, name: &str, text: &str) -> Result<Vec<String>, String> {
    let blocks = block::read(text).map_err(|error| format!("{name}:{error}"))?;
    let mut faults = Vec::new();
    for block in &blocks {
        if let Some(need) = block.needs.iter().find(|need| !need.is_met()) {
            println!("skipped: {name}:{}: needs {need}", block.line);
            continue;
        }
        faults.extend(play(block, session).into_iter().map(|fault| format!("{name}:{fault}")));
    }
    Ok(faults)
}

/// Documents that are wrong, each in one way, and one that is right.
fn differences_are_found(bins: &Path) -> Result<(), String> {
    let root = bins.join("..");
    let right = "```console\n$ perfdb --version\nperfdb …\n$ cd testdata\n$ perfdb no-such-tool\n…\n$ echo $?\n2\n```\n\
                 ```json file=x.json\n{}\n```\n```sh\ntest -d scenarios\ngrep -q '{}' x.json\n```\n```text\nperfdb …\n```\n";
    let faults = play_all(&root, "right", right)?;
    if !faults.is_empty() {
        return Err(faults.join("\n"));
    }
    let wrong = [
        "```console\n$ perfdb --version\nperfdb\n```\n",
        "```console\n$ printf 'a\\nb\\n'\na\n```\n",
        "```console\n$ printf 'a\\nb\\n'\n…\na\n```\n",
        "```console\n$ false\n```\n",
        "```sh\nfalse\ntrue\n```\n",
        "```sh\necho a\n```\n```text\nb\n```\n",
    ];
    for document in wrong {
        if play_all(&root, "wrong", document)?.len() != 1 {
            return Err(format!("nothing is found in\n{document}"));
        }
    }
    Ok(())
}

fn play(block: &Block, session: &mut Session) -> Vec<String> {
    if let Some(file) = &block.file {
        let written = std::fs::write(session.folder().join(file), &block.text);
        return written.err().map(|error| format!("{}: {file}: {error}", block.line)).into_iter().collect();
    }
    match block.language {
        Language::Shell => session.run_whole(&block.text).err().map(|fault| format!("{}: {fault}", block.line)),
        Language::Console => {
            let faults = block.commands().into_iter().filter_map(|command| {
                let fault = session.run(&command.text, &command.shown).err()?;
                Some(format!("{}: $ {}\n{fault}", command.line, command.text))
            });
            return faults.collect();
        }
        Language::Output => (!session.has_printed(&block.text)).then(|| {
            format!("{}: no command above prints this (a drawing is `text figure`):\n{}", block.line, block.text)
        }),
        Language::Other => None,
    }
    .into_iter()
    .collect()
}
