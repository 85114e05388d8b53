//! `-o FILE`: one option for every form of a result; the suffix of the file chooses the form.
//!
//! The option becomes the one that a tool has for that form (`-o x.json` is `--json x.json`). Markdown is what the tool prints.

mod texts;

pub(crate) use texts::{exceeded, has_texts, markdown_is, printed, refuse_inputs, verdict_is, write_texts};

use clap::{Arg, ArgAction, Command};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Suffixes, and the options that write the form; a tool has at most one of them for files.
const FORMS: [(&str, &[&str]); 5] = [
    (".json", &["result-json", "json", "json-output", "output"]),
    (".csv", &["result-csv", "csv"]),
    (".jsonl", &["jsonl"]),
    (".html", &["html", "html-output"]),
    (".parquet", &["parquet"]),
];

/// Forms that are the text which a tool prints.
const TEXTS: [&str; 2] = [".md", ".txt"];

/// Tools whose options are those of an original: none is hidden, and their `--output` keeps its meaning.
const DROP_INS: [&str; 3] = ["compute-m6", "generate-op-comparison", "validate-comm-alignment"];

/// Drop-ins that write tables, not results.
const WITHOUT: [&str; 11] = [
    "fill-fia-runtime-metadata",
    "generate-comm-microbench",
    "generate-per-shape-comparison",
    "generate-shape-grid",
    "op-replay",
    "parse-kernel-details",
    "probe-dfc-constraints",
    "run-all-op",
    "run-comm-bench",
    "start-microbench",
    "trace-to-csv",
];

/// Tools whose `--output` has an older meaning too, and the options with which it keeps that: the form does not follow the suffix then.
const OLDER: [(&str, &[&str]); 2] = [
    ("compare-traces", &["--format", "--compat", "--aligned", "--full", "--fusion"]),
    ("explain-trace", &["--format", "--json"]),
];

/// Tools whose `--output` is their product, its suffixes and what it is.
const PRODUCTS: [(&str, &[&str], &str); 4] = [
    ("bundle-reports", &[".html"], "a page"),
    ("calibrate-database", &[], "a folder"),
    ("cut-forward-pass", &[".csv"], "a table"),
    ("cut-trace", &[".json"], "a trace (gzip: .json.gz)"),
];

const ID: &str = "output_by_suffix";

/// Whether a tool has the option.
fn is_offered(command: &Command) -> bool {
    !WITHOUT.contains(&command.get_name()) && !command.has_subcommands() && command.get_name() != "perfdb"
}

/// Gives a tool the option, and hides the options of single forms.
pub(crate) fn add(mut command: Command) -> Command {
    if !is_offered(&command) {
        return command;
    }
    let suffixes = suffixes(&command).join(" ");
    let own = own_output(&command);
    let is_kept = DROP_INS.contains(&command.get_name()) || product(&command).is_some();
    let by_form: Vec<String> = FORMS.iter().filter_map(|(_, names)| option_of(&command, names)).collect();
    for option in by_form.into_iter().filter(|_| !is_kept) {
        let is_plain =
            |known: &Arg| known.get_value_names().is_some_and(|names| names.len() == 1 && names[0] == "FILE");
        let id = command.get_arguments().find(|known| known.get_long() == Some(&option) && is_plain(known));
        if let Some(id) = id.map(|known| known.get_id().to_string()) {
            command = command.mut_arg(id, |option| option.hide(true));
        }
    }
    let help = format!("Write FILE as {suffixes}; repeatable");
    if own == Some(true) {
        // Its own --output is the product of the tool, or is shown in place of this one.
        let is_product = product(&command).is_some();
        return command.mut_arg("output", |option| {
            let option = option.short('o').allow_hyphen_values(true);
            if is_product { option } else { option.help(help).display_order(0) }
        });
    }
    let option = Arg::new(ID).short('o').value_name("FILE").action(ArgAction::Append).help(help);
    let option = option.value_parser(clap::value_parser!(OsString));
    let option = if own.is_none() { option.long("output") } else { option };
    command.arg(option.display_order(0))
}

/// Whether the `--output` that a tool has of its own is its only one. A number of tokens and the file of an original are another thing:
/// `-o` alone is a file of any form then.
fn own_output(command: &Command) -> Option<bool> {
    let own = command.get_arguments().find(|known| known.get_long() == Some("output") && known.get_id() != ID)?;
    let is_other = DROP_INS.contains(&command.get_name());
    Some(!is_other && own.get_value_names().is_none_or(|names| names.iter().all(|name| name != "TOKENS")))
}

/// The suffixes that a tool writes.
fn suffixes(command: &Command) -> Vec<&'static str> {
    let forms = FORMS.iter().filter(|(_, names)| option_of(command, names).is_some()).map(|(suffix, _)| *suffix);
    forms.chain([".md"]).collect()
}

/// The option of a command that writes a file of a form. A product is not a form of a result.
fn option_of(command: &Command, names: &[&str]) -> Option<String> {
    let is_own = |known: &Arg| known.get_long() == Some("output") && own_output(command) == Some(true);
    let is_folder = |known: &Arg| known.get_value_names().is_some_and(|names| names.iter().any(|name| name == "DIR"));
    let takes_file =
        |known: &&Arg| known.get_action().takes_values() && known.get_id() != ID && !is_own(known) && !is_folder(known);
    let known = |name: &&&str| command.get_arguments().filter(takes_file).any(|known| known.get_long() == Some(name));
    names.iter().find(known).map(|name| (*name).to_owned())
}

/// Puts the options of single forms in the place of `-o`. The error says which forms there are.
pub(crate) fn by_suffix(arguments: Vec<OsString>, command: &Command) -> Result<Vec<OsString>, String> {
    if !is_offered(command) {
        return Ok(arguments);
    }
    let older = older(command).unwrap_or_default();
    let is_older =
        arguments.iter().any(|argument| older.iter().any(|name| argument.as_bytes().starts_with(name.as_bytes())));
    let own = own_output(command);
    let mut named: Vec<OsString> = Vec::with_capacity(arguments.len());
    let mut texts = Vec::new();
    let mut forms = Vec::new();
    // A file of the tool's own --output, which -o must not replace.
    let mut has_own = false;
    let mut words = arguments.into_iter();
    while let Some(word) = words.next() {
        if word == "--" {
            named.push(word);
            named.extend(words);
            break;
        }
        let is_long = word.as_bytes().starts_with(b"--");
        let Some(file) = (own != Some(false) || !is_long).then(|| value(&word, &mut words)).flatten() else {
            has_own |= word == "--output" || word.as_bytes().starts_with(b"--output=");
            named.push(word);
            continue;
        };
        let form = match (form(&file, command), takes_other(command, &word, &file)) {
            (Err(_), Some(option)) => Form::Other(option),
            // By its whole name the option is the product's alone.
            _ if is_older || is_long && product(command).is_some() => Form::Other("output"),
            (form, _) => form?,
        };
        let (option, is_once, may_stream) = match form {
            Form::Stdout => continue,
            Form::Text => {
                texts.push(PathBuf::from(file));
                continue;
            }
            Form::Option(option) => (option, true, true),
            Form::Other(option) => {
                let is_output = option == "output";
                (option.to_owned(), is_output && product(command).is_some(), is_output)
            }
        };
        if is_once && forms.contains(&option) {
            return Err(format!("--output: there are two files of one form: {}", file.display()));
        }
        let is_stream = may_stream && file.as_bytes().starts_with(b"-.");
        named.push(with_value(&option, if is_stream { OsStr::new("-") } else { &file }));
        forms.push(option);
    }
    if has_own && forms.iter().any(|form| form == "output") {
        return Err("--output: there are two files of one form, with -o and with --output".to_owned());
    }
    texts::keep(texts);
    Ok(named)
}

/// The value of `-o` or `--output`, if a word is that option.
fn value(word: &OsStr, rest: &mut impl Iterator<Item = OsString>) -> Option<OsString> {
    let bytes = word.as_bytes();
    let behind = |at: usize| Some(OsString::from_vec(bytes[at..].to_vec()));
    match bytes {
        // Without a value the parser says that one is missing.
        b"-o" | b"--output" => rest.next(),
        _ if bytes.starts_with(b"--output=") => behind(b"--output=".len()),
        _ if bytes.starts_with(b"-o") && bytes.len() > 2 => behind(if bytes[2] == b'=' { 3 } else { 2 }),
        _ => None,
    }
}

/// The options with which `--output` has its older meaning.
fn older(command: &Command) -> Option<&'static [&'static str]> {
    OLDER.iter().find(|(tool, _)| *tool == command.get_name()).map(|(_, options)| *options)
}

/// The suffixes of the product of a tool, and what it is.
fn product(command: &Command) -> Option<(&'static [&'static str], &'static str)> {
    PRODUCTS.iter().find(|(tool, ..)| *tool == command.get_name()).map(|(_, suffixes, what)| (*suffixes, *what))
}

/// The option that has the values of `--output` which are not files of a form: the older meanings of that name.
fn takes_other(command: &Command, word: &OsStr, value: &OsStr) -> Option<&'static str> {
    let is_long = word.as_bytes().starts_with(b"--");
    match command.get_name() {
        // A tensor.
        "query-database" => value.as_bytes().contains(&b':').then_some("result"),
        _ if is_long && older(command).is_some() => Some("output"),
        _ => None,
    }
}

enum Form {
    /// Another option than one of a form.
    Other(&'static str),
    /// The text, where it is printed anyway.
    Stdout,
    Text,
    Option(String),
}

fn form(file: &OsStr, command: &Command) -> Result<Form, String> {
    let product = product(command);
    if file == "-" || file == "/dev/stdout" {
        return Ok(if product.is_some() { Form::Other("output") } else { Form::Stdout });
    }
    let name = file.to_string_lossy().to_lowercase();
    if TEXTS.iter().any(|suffix| name.ends_with(suffix)) {
        return Ok(Form::Text);
    }
    let form = FORMS.iter().find(|(suffix, _)| name.ends_with(suffix));
    let option = form.and_then(|(_, names)| option_of(command, names));
    match (form, option, product) {
        (_, Some(option), _) => Ok(Form::Option(option)),
        (None, None, Some(_)) => Ok(Form::Other("output")),
        (Some((suffix, _)), None, Some((own, _))) if own.contains(suffix) => Ok(Form::Other("output")),
        (Some(_), None, Some((own, what))) => {
            let others = suffixes(command).into_iter().filter(|suffix| !own.contains(suffix));
            let forms = own.iter().copied().chain(others).collect::<Vec<_>>().join(", ");
            let shown = perfdb_files::escape::excerpt(&file.to_string_lossy());
            Err(format!("--output: {shown}: the output is {what}; forms that there are: {forms}"))
        }
        (_, None, None) => Err(no_such_form(file, &suffixes(command))),
    }
}

/// Which forms there are, where the suffix of a file names none of them.
pub(crate) fn no_such_form(file: &OsStr, forms: &[&str]) -> String {
    let shown = perfdb_files::escape::excerpt(&file.to_string_lossy());
    let json = if forms.contains(&".json") { ", -.json JSON on stdout" } else { "" };
    format!("--output: {shown}: the suffix chooses the form: {}; - is stdout{json}", forms.join(", "))
}

/// Refuses files of forms that a mode of a tool, such as `--list`, does not have.
pub(crate) fn refuse_forms<'f>(
    mode: &str,
    asked: impl IntoIterator<Item = Option<&'f OsStr>>,
    forms: &[&str],
) -> Result<(), crate::Failure> {
    match asked.into_iter().flatten().next() {
        Some(file) => {
            let shown = perfdb_files::escape::excerpt(&file.to_string_lossy());
            let forms = forms.join(", ");
            Err(crate::Failure::usage(format!(
                "--output: {shown}: {mode} has no such form; forms that there are: {forms}"
            )))
        }
        None => Ok(()),
    }
}

fn with_value(option: &str, value: &OsStr) -> OsString {
    let mut bytes = format!("--{option}=").into_bytes();
    bytes.extend_from_slice(value.as_bytes());
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> Command {
        let file = |name: &'static str| Arg::new(name).long(name).value_name("FILE");
        add(Command::new("some-tool").arg(file("json")).arg(file("html")).arg(Arg::new("label").long("label")))
    }

    fn named(line: &str) -> Result<String, String> {
        let words = line.split(' ').map(OsString::from).collect();
        let named = by_suffix(words, &command())?;
        Ok(named.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_suffix_chooses_the_form() {
        for (line, expected) in [
            ("-o a.json x", "--json=a.json x"),
            ("--output=a.HTML -ob.json", "--html=a.HTML --json=b.json"),
            ("x -o -", "x"),
            ("x -o -.json", "x --json=-"),
            ("x -- -o", "x -- -o"),
            ("x -o", "x -o"),
        ] {
            assert_eq!(named(line).unwrap(), expected, "{line}");
        }
        assert!(named("-o a.csv").unwrap_err().contains(".json, .html, .md"));
        assert!(named("-o a.json -o b.json").unwrap_err().contains("two files of one form"));
    }
}
