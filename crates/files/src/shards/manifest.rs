//! `manifest.json`: what a shard is a part of, and what it has done.

use crate::input::{self, Kind, LARGEST_DOCUMENT_BYTES};
use crate::shards::error::Error;
use crate::shards::fingerprint::{Fingerprint, InputFile};
use crate::shards::job::Job;
use crate::shards::shard::Shard;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The file's name.
pub(crate) const MANIFEST: &str = "manifest.json";

/// The form of the manifests of this version.
const FORMAT: &str = "perfdb.shard/1";

/// The manifest of a shard that is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    format: String,
    status: Status,
    shard: u32,
    of: u32,
    pub tool: String,
    pub version: String,
    /// Its command line, without what says which shard this is.
    pub arguments: Vec<String>,
    pub(crate) cases: Cases,
    /// The files that all cases share.
    pub(crate) inputs: Vec<InputFile>,
    /// The files that the shard's own cases have read.
    pub(crate) case_inputs: Vec<InputFile>,
    /// Files next to the manifest.
    pub(crate) files: Vec<WrittenFile>,
}

/// A shard that is not done has no manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Complete,
}

/// The cases of a job and of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cases {
    /// How many the job has.
    pub(crate) all: usize,
    /// A hash of their keys in order.
    pub(crate) sha256: String,
    /// How many this shard has done.
    pub(crate) own: usize,
    /// How many of these have failed.
    pub(crate) failed: usize,
}

/// A file beside the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WrittenFile {
    /// Its path in the shard's folder.
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) fingerprint: Fingerprint,
}

impl Manifest {
    pub(crate) fn new(
        shard: Shard,
        job: Job,
        [own, failed]: [usize; 2],
        case_inputs: Vec<InputFile>,
        files: Vec<WrittenFile>,
    ) -> Manifest {
        let cases = Cases { all: job.cases.len(), sha256: job.hash_of_cases(), own, failed };
        Manifest {
            format: FORMAT.to_owned(),
            status: Status::Complete,
            shard: shard.number(),
            of: shard.of(),
            tool: job.tool,
            version: job.version,
            arguments: job.arguments,
            cases,
            inputs: job.inputs,
            case_inputs,
            files,
        }
    }

    /// Reads the manifest of a shard's folder.
    ///
    /// # Errors
    /// When it is not there, cut short, or of another form.
    pub fn read(folder: &Path) -> Result<Manifest, Error> {
        let path = folder.join(MANIFEST);
        let text = match input::read(&path, Kind::RegularFile, LARGEST_DOCUMENT_BYTES) {
            Ok(text) => text,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::NoManifest { folder: folder.to_owned() });
            }
            Err(source) => return Err(Error::io(&path, source)),
        };
        let damaged = |reason: String| Error::Damaged { path: path.clone(), reason };
        let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if manifest.format != FORMAT {
            return Err(damaged(format!("its format is {:?}, not {FORMAT:?}", manifest.format)));
        }
        manifest.shard().ok_or_else(|| damaged(format!("shard {}/{} does not exist", manifest.shard, manifest.of)))?;
        Ok(manifest)
    }

    /// The shard; there is one in every manifest that was [read](Manifest::read).
    pub fn shard(&self) -> Option<Shard> {
        Shard::new(self.shard, self.of)
    }

    /// What two shards of one job would have in common and these have not.
    pub(crate) fn difference(&self, other: &Manifest) -> Option<String> {
        let differs = |what: &str, one: &str, two: &str| Some(format!("{what} {one} and {two}"));
        if self.tool != other.tool {
            return differs("tools", &self.tool, &other.tool);
        }
        if self.version != other.version {
            return differs("versions", &self.version, &other.version);
        }
        if self.arguments != other.arguments {
            return differs("options", &quoted(&self.arguments), &quoted(&other.arguments));
        }
        if let Some(path) = changed(&self.inputs, &other.inputs) {
            return Some(format!("another content of {path}"));
        }
        let cases = |cases: &Cases| (cases.all, cases.sha256.clone());
        (cases(&self.cases) != cases(&other.cases)).then(|| "other cases".to_owned())
    }
}

/// The first file that is not the same in both lists.
pub(crate) fn changed<'i>(one: &'i [InputFile], other: &'i [InputFile]) -> Option<&'i str> {
    let longer = if one.len() < other.len() { other } else { one };
    let at = (0..longer.len()).find(|&at| one.get(at) != other.get(at))?;
    Some(&longer[at].path)
}

fn quoted(words: &[String]) -> String {
    format!("`{}`", words.join(" "))
}
