//! All shards of a job.

use crate::input::{self, Kind, LARGEST_TEXT_BYTES};
use crate::shards::error::Error;
use crate::shards::fingerprint::{Fingerprint, InputFile};
use crate::shards::gaps::Gaps;
use crate::shards::job::Job;
use crate::shards::manifest::Manifest;
use crate::shards::results::{RESULTS, Results};
use crate::shards::shard::Shard;
use bitcode::DecodeOwned;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A whole set: every shard of a job, once.
#[derive(Debug)]
pub struct ShardSet {
    /// Folder and manifest of every shard, in order.
    shards: Vec<(PathBuf, Manifest)>,
}

impl ShardSet {
    /// Opens the shards of these folders: each is one, or holds some.
    ///
    /// # Errors
    /// When a shard is missing or there twice, when one is not done or was cut short, or when two are of different jobs. Every
    /// shard that is missing is named.
    pub fn open(folders: &[PathBuf]) -> Result<ShardSet, Error> {
        let mut found = Vec::new();
        for folder in folders {
            for shard in shards_in(folder)? {
                let manifest = Manifest::read(&shard)?;
                found.push((shard, manifest));
            }
        }
        let Some((first_folder, first)) = found.first().cloned() else {
            return Err(Error::NoShards { folder: folders.first().cloned().unwrap_or_default() });
        };
        let mixed =
            |folder: &Path, reason| Error::Mixed { folder: folder.to_owned(), other: first_folder.clone(), reason };
        let of = first.shard().map_or(0, Shard::of);
        let mut shards: BTreeMap<Shard, (PathBuf, Manifest)> = BTreeMap::new();
        for (folder, manifest) in found {
            let Some(shard) = manifest.shard() else { continue };
            if shard.of() != of {
                return Err(mixed(&folder, format!("{} shards and {of}", shard.of())));
            }
            if let Some(difference) = manifest.difference(&first) {
                return Err(mixed(&folder, difference));
            }
            if let Some((other, _)) = shards.get(&shard) {
                return Err(Error::Repeated { shard, folder, other: other.clone() });
            }
            shards.insert(shard, (folder, manifest));
        }
        let gaps = Gaps::between(shards.keys().map(|shard| shard.number()), of);
        if !gaps.is_empty() {
            let folder = folders.first().cloned().unwrap_or_default();
            return Err(Error::Missing { folder, of, gaps });
        }
        let set = ShardSet { shards: shards.into_values().collect() };
        set.check_files()?;
        set.check_inputs_of_cases()?;
        Ok(set)
    }

    /// The shards, in their order: folder and manifest.
    pub fn shards(&self) -> impl Iterator<Item = (&Path, &Manifest)> {
        self.shards.iter().map(|(folder, manifest)| (folder.as_path(), manifest))
    }

    /// What every manifest of the set says: tool, version, options.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.shards.first().map(|(_, manifest)| manifest)
    }

    /// What the first shard has attached under a name.
    ///
    /// # Errors
    /// When the file is missing, or holds something else.
    pub fn attached<T: DecodeOwned>(&self, name: &str) -> Result<T, Error> {
        let path = self.shards.first().map_or_else(PathBuf::new, |(folder, _)| folder.join(name));
        let read = input::read(&path, Kind::RegularFile, LARGEST_TEXT_BYTES);
        let bytes = read.map_err(|source| Error::io(&path, source))?;
        bitcode::decode(&bytes).map_err(|error| Error::Damaged { path, reason: error.to_string() })
    }

    /// Results lie in the folders of their shards, in regular files.
    fn check_files(&self) -> Result<(), Error> {
        for (folder, manifest) in &self.shards {
            for name in [RESULTS].into_iter().chain(manifest.files.iter().map(|file| file.name.as_str())) {
                let path = folder.join(name);
                let is_below = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
                if !is_below {
                    let reason = "a file outside its folder".to_owned();
                    return Err(Error::Damaged { path: folder.join(crate::shards::manifest::MANIFEST), reason });
                }
                let found = fs::symlink_metadata(&path).map_err(|source| Error::io(&path, source))?;
                if !found.is_file() {
                    return Err(Error::io(path, input::not_a_regular_file(found.file_type())));
                }
            }
        }
        Ok(())
    }

    /// Cases of different shards that read one file have read the same.
    fn check_inputs_of_cases(&self) -> Result<(), Error> {
        let mut seen: BTreeMap<&str, (&Path, &InputFile)> = BTreeMap::new();
        for (folder, manifest) in &self.shards {
            for input in &manifest.case_inputs {
                let (other, known) = seen.entry(&input.path).or_insert((folder, input));
                if *known != input {
                    let reason = format!("another content of {}", input.path);
                    return Err(Error::Mixed { folder: folder.clone(), other: other.to_path_buf(), reason });
                }
            }
        }
        Ok(())
    }

    /// Checks that this is the set of a job as it is now, and that nothing has been lost on the way.
    ///
    /// # Errors
    /// When the job is another one, when a file that a case has read is there and has changed since, or when a file of a shard
    /// is not what was written.
    pub fn check(&self, job: &Job) -> Result<(), Error> {
        // One stands for all: they are of one job, and what two cases have read is the same.
        if let Some((folder, manifest)) = self.shards.first()
            && let Some(shard) = manifest.shard()
        {
            let expected = Manifest::new(shard, job.clone(), [0, 0], Vec::new(), Vec::new());
            if let Some(reason) = manifest.difference(&expected) {
                return Err(Error::OtherJob { folder: folder.clone(), reason });
            }
        }
        let mut seen = HashSet::new();
        for (folder, manifest) in &self.shards {
            let Some(shard) = manifest.shard() else { continue };
            for input in manifest.case_inputs.iter().filter(|input| seen.insert(&input.path)) {
                let now = InputFile::of_case(Path::new(&input.path))?;
                // On another machine than the shard's the file may well be missing.
                if now.fingerprint.is_some() && now.fingerprint != input.fingerprint {
                    return Err(Error::Changed { path: PathBuf::from(&input.path), shard });
                }
            }
            for file in &manifest.files {
                let path = folder.join(&file.name);
                let now = Fingerprint::of_content(&path)?;
                if now != file.fingerprint {
                    let reason = format!("{} bytes are there, {} were written", now.bytes, file.fingerprint.bytes);
                    return Err(Error::Damaged { path, reason });
                }
            }
        }
        Ok(())
    }

    /// The results of a job's cases, after a [check](ShardSet::check).
    ///
    /// # Errors
    /// Those of the check.
    pub fn results(&self, job: &Job) -> Result<Results, Error> {
        self.check(job)?;
        Ok(Results::new(self.shards.iter().map(|(folder, _)| folder.clone()), job.cases.clone()))
    }
}

/// The folder itself if it is a shard's, else the shards in it, in their order.
fn shards_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::io(folder, source);
    let name = |path: &Path| path.file_name().and_then(|name| Shard::of_folder_name(name.to_str()?));
    let resolved = fs::canonicalize(folder).map_err(failed)?;
    if folder.join(crate::shards::manifest::MANIFEST).exists() || name(&resolved).is_some() {
        return Ok(vec![folder.to_owned()]);
    }
    let mut shards = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if let Some(shard) = name(&path) {
            shards.push((shard, path));
        }
    }
    if shards.is_empty() {
        return Err(Error::NoShards { folder: folder.to_owned() });
    }
    shards.sort();
    Ok(shards.into_iter().map(|(_, path)| path).collect())
}
