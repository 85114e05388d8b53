//! `perfdb merge-shards`: the run of a tool that puts its shards together.

mod recorded;

use crate::Failure;
use crate::output::{quiet, verbose};
use crate::registry::Tool;
use crate::shards::GivenArguments;
use perfdb_files::escape::excerpt;
use perfdb_files::shards::{Manifest, ShardSet};
use std::ffi::OsString;
use std::path::PathBuf;

/// The tool, and its command line without the program, that put shards together: the one that is `asked` for, else the one that the
/// shards remember.
///
/// # Errors
/// When the shards are not a whole set, another version has made them, they are of another command than is asked for, or the one that they
/// remember would write outside the current folder.
pub(crate) fn merging(folders: &[PathBuf], asked: &[OsString]) -> Result<(&'static Tool, Vec<OsString>), Failure> {
    let set = ShardSet::open(folders)?;
    let Some(Manifest { tool, version, arguments, .. }) = set.manifest() else {
        return Err(Failure::lines(Vec::new()));
    };
    if version != env!("PERFDB_VERSION") {
        let folder = folders.first().cloned().unwrap_or_default();
        let reason = format!("made by perfdb {}, and this is {}", excerpt(version), env!("PERFDB_VERSION"));
        return Err(Failure::lines(vec![format!("{}: {reason}", folder.display())]));
    }
    let tool = with_shards(tool)?;
    let mut words: Vec<OsString> = match asked.split_first() {
        Some((name, words)) => {
            if name != tool.name {
                let reason = format!("the shards were made by {}, not by {}", tool.name, name.display());
                return Err(Failure::lines(vec![reason]));
            }
            recorded::same(&GivenArguments::new(words.to_vec()).in_common()?, arguments)?;
            words.to_vec()
        }
        None => {
            let words: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            recorded::same(&GivenArguments::new(words.clone()).in_common()?, arguments)?;
            recorded::check(tool, arguments)?;
            words
        }
    };
    let switches = [(quiet(), "--quiet"), (verbose(), "--verbose")];
    words.extend(switches.into_iter().filter(|(is_given, _)| *is_given).map(|(_, word)| word.into()));
    for folder in folders {
        words.extend(["--from-shards".into(), folder.clone().into_os_string()]);
    }
    Ok((tool, words))
}

/// The tool of that name, if it is one that has shards.
fn with_shards(name: &str) -> Result<&'static Tool, Failure> {
    let has_shards = |tool: &&Tool| (tool.command)().get_arguments().any(|known| known.get_long() == Some("shard"));
    crate::all_tools::find(name).filter(has_shards).ok_or_else(|| {
        Failure::lines(vec![format!("the shards are of {:?}, and no tool with shards has this name", excerpt(name))])
    })
}
