//! `--shard I/N`, which does a part of a job; `perfdb merge-shards` puts the parts together.
//!
//! A tool that works case by case has a result per case and, at the end, output made of all of them. A shard ends after its
//! results; putting shards together is the tool again, with the results taken from them. Everything that a tool writes, it writes here too,
//! byte for byte. The shards remember the command line; it is data, and checked as such before a merge.

use crate::output::print_note;
use crate::path_argument::path;
use crate::{Failure, Status};
use perfdb_files::shards::{InputFile, Job, Shard, ShardSet, ShardWriter};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

static RECORDED: AtomicBool = AtomicBool::new(false);

/// Whether this run does what a recorded command line says, and not what somebody has typed.
pub(crate) fn is_recorded() -> bool {
    RECORDED.load(Ordering::Relaxed)
}

/// From here on this run does what a recorded command line says.
pub(crate) fn remember_recorded() {
    RECORDED.store(true, Ordering::Relaxed);
}

/// Which part of the cases is done.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Shards")]
pub struct ShardArguments {
    /// Do a part of the cases only, such as 3/8; `perfdb merge-shards` puts the parts together
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// Folder in which the shard is put, as shard-I-of-N
    #[arg(long, value_name = "DIR", default_value = "shards", requires = "shard", value_parser = path())]
    shard_dir: PathBuf,

    /// Take the results from these shards
    #[arg(long, value_name = "DIR", hide = true, conflicts_with = "shard", value_parser = path())]
    from_shards: Vec<PathBuf>,
}

/// The part of the cases that a run does.
#[derive(Debug)]
pub enum Part {
    /// All of them.
    Whole,
    /// Those of a shard, which is put into the folder.
    Shard(Shard, PathBuf),
    /// None: the results are there.
    Done(ShardSet),
}

impl ShardArguments {
    /// Whether the cases are anything but all of them.
    pub fn is_given(&self) -> bool {
        self.shard.is_some() || !self.from_shards.is_empty()
    }

    /// The shard that is asked for.
    pub fn shard(&self) -> Option<Shard> {
        self.shard
    }

    /// Whether a run reads the files of the case of this name.
    pub fn reads(&self, case: &str) -> bool {
        self.shard.is_none_or(|shard| shard.owns(case))
    }

    /// The part that is asked for.
    ///
    /// # Errors
    /// When the shards that results are taken from are not a whole set.
    pub fn part(&self) -> Result<Part, Failure> {
        Ok(match (self.shard, self.from_shards.as_slice()) {
            (Some(shard), _) => Part::Shard(shard, self.shard_dir.clone()),
            (None, []) => Part::Whole,
            (None, folders) => Part::Done(ShardSet::open(folders)?),
        })
    }
}

/// The command line of a tool as it was given, without the program.
#[derive(Debug, Clone)]
pub struct GivenArguments(Vec<OsString>);

/// Options whose values change no result.
const WITH_VALUE: [&str; 4] = ["--shard", "--shard-dir", "--from-shards", "--jobs"];
/// Options that change the messages only.
const WITHOUT_VALUE: [&str; 3] = ["--verbose", "--quiet", "--no-progress"];

impl GivenArguments {
    /// These, of which none is the program's name.
    pub(crate) fn new(arguments: Vec<OsString>) -> GivenArguments {
        GivenArguments(arguments)
    }

    /// Those behind the program's name.
    pub fn of(arguments: &[OsString]) -> GivenArguments {
        GivenArguments(arguments.get(1..).unwrap_or_default().to_vec())
    }

    /// What all shards of the job have in common, and the whole run with them.
    pub(crate) fn in_common(&self) -> Result<Vec<String>, Failure> {
        let mut kept = Vec::new();
        let mut words = self.0.iter();
        while let Some(word) = words.next() {
            let no_text = || Failure::usage(format!("--shard: {word:?} is no UTF-8, and a manifest holds text"));
            let word = word.to_str().ok_or_else(no_text)?;
            let name = word.split_once('=').map_or(word, |(name, _)| name);
            if WITH_VALUE.contains(&name) {
                if name == word {
                    words.next();
                }
                continue;
            }
            let letters = word.strip_prefix('-').unwrap_or_default();
            let is_about_telling = !letters.is_empty() && letters.chars().all(|letter| matches!(letter, 'v' | 'q'));
            if !WITHOUT_VALUE.contains(&word) && !is_about_telling {
                kept.push(word.to_owned());
            }
        }
        Ok(kept)
    }

    /// The job that these arguments ask a tool for.
    ///
    /// # Errors
    /// When an argument is no text.
    pub fn job(&self, tool: &str, inputs: Vec<InputFile>, cases: Vec<String>) -> Result<Job, Failure> {
        let arguments = self.in_common()?;
        Ok(Job { tool: tool.to_owned(), version: env!("PERFDB_VERSION").to_owned(), arguments, inputs, cases })
    }
}

/// What the files are that all cases share.
///
/// # Errors
/// When one is there and can't be read.
pub fn shared_inputs<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Result<Vec<InputFile>, Failure> {
    Ok(paths.into_iter().map(InputFile::shared).collect::<Result<_, _>>()?)
}

/// Ends a shard that has done `own` of `all` cases, and says where it lies.
///
/// # Errors
/// When the shard can't be written, and what failed: a failure is a result, and the shard is there all the same.
pub fn finish(
    shard: Shard,
    writer: ShardWriter,
    [own, all]: [usize; 2],
    errors: Vec<String>,
) -> Result<Status, Failure> {
    let folder = writer.finish()?;
    print_note(&format!("shard {shard}: {own} of {all} cases done, in {}", folder.display()));
    if errors.is_empty() { Ok(Status::Success) } else { Err(Failure::lines(errors)) }
}

/// Says where a shard of this number of rows is.
pub fn print_measured(shard: Shard, rows: usize, folder: &Path) {
    print_note(&format!("shard {shard}: {rows} row(s) measured, in {}", folder.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shards_have_in_common() {
        let kept = |words: &[&str]| {
            let words: Vec<OsString> = ["tool"].iter().chain(words).map(OsString::from).collect();
            GivenArguments::of(&words).in_common().unwrap()
        };
        assert_eq!(kept(&["--shard", "1/8", "--data-dir", "db"]), ["--data-dir", "db"]);
        assert_eq!(kept(&["--shard=1/8", "--jobs=4", "-vv", "-qv", "--csv", "-"]), ["--csv", "-"]);
        assert_eq!(kept(&["--jobs", "4", "--shard-dir", "s", "--quiet", "--no-progress"]), [""; 0]);
        assert_eq!(kept(&["--shape-dir", "x", "--vllm-version", "1", "-x"]).len(), 5);
    }
}
