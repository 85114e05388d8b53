//! A shard while it is being made: a folder that gets its name when everything is in it.

use crate::folders::{MadeFolders, PrivateFolder, private_in};
use crate::leftovers;
use crate::shards::error::Error;
use crate::shards::fingerprint::{Fingerprint, InputFile};
use crate::shards::job::Job;
use crate::shards::manifest::{MANIFEST, Manifest, WrittenFile};
use crate::shards::results::{RESULTS, Recorder};
use crate::shards::shard::Shard;
use crate::system;
use bitcode::Encode;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A case of a shard and how it ended.
#[derive(Debug, Clone, Copy)]
pub struct Case<'f> {
    /// Its number in the job, from 0.
    pub number: usize,
    /// The files that were read for it alone.
    pub files: &'f [&'f Path],
    /// Whether it failed. A failure is a result, which the whole set reports as one machine would.
    pub failed: bool,
}

impl Case<'_> {
    /// A case without files of its own that ended well.
    pub fn done(number: usize) -> Case<'static> {
        Case { number, files: &[], failed: false }
    }
}

/// Writes a shard. Dropped before [`finish`](ShardWriter::finish) it leaves nothing.
#[derive(Debug)]
pub struct ShardWriter {
    folder: PrivateFolder,
    /// Made for this shard; dropped behind its folder, and gone where that is not kept.
    made: MadeFolders,
    parent: PathBuf,
    shard: Shard,
    job: Job,
    results: Recorder,
    case_inputs: BTreeMap<String, InputFile>,
    own: usize,
    failed: usize,
}

impl ShardWriter {
    /// Begins a shard that will lie in `parent`, which is made where it is not there.
    ///
    /// # Errors
    /// When the folder can't be made.
    pub fn create(parent: &Path, shard: Shard, job: Job) -> Result<ShardWriter, Error> {
        let made = MadeFolders::make(parent).map_err(|source| Error::io(parent, source))?;
        let folder =
            private_in(parent, &beginning_of_temporaries(shard)).map_err(|source| Error::io(parent, source))?;
        let path = folder.path().join(RESULTS);
        let results = Recorder::create(&path).map_err(|source| Error::io(&path, source))?;
        let case_inputs = BTreeMap::new();
        Ok(ShardWriter { folder, made, parent: parent.to_owned(), shard, job, results, case_inputs, own: 0, failed: 0 })
    }

    /// The folder for further files of the shard. It has another name while the shard is not done.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where the shard will lie.
    pub fn target(&self) -> PathBuf {
        self.parent.join(self.shard.folder_name())
    }

    /// Adds the result of a case. They come in the order of the job.
    ///
    /// # Errors
    /// When the result can't be written, or a file of the case can't be read.
    pub fn record<T: Encode>(&mut self, case: Case<'_>, result: &T) -> Result<(), Error> {
        for path in case.files {
            // Many cases may read one file.
            if let Entry::Vacant(unseen) = self.case_inputs.entry(path.to_string_lossy().into_owned()) {
                unseen.insert(InputFile::of_case(path)?);
            }
        }
        self.own += 1;
        self.failed += usize::from(case.failed);
        self.results.record(case.number, result).map_err(|source| Error::io(self.place(RESULTS), source))
    }

    /// Adds a file with what belongs to no single case.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn attach<T: Encode>(&mut self, name: &str, content: &T) -> Result<(), Error> {
        let written = fs::write(self.folder.path().join(name), bitcode::encode(content));
        written.map_err(|source| Error::io(self.place(name), source))
    }

    /// Counts cases whose results lie in further files, and those of them that failed.
    pub fn count(&mut self, cases: usize, failed: usize) {
        self.own += cases;
        self.failed += failed;
    }

    /// Gives the shard its name, in place of an earlier one of the same number. Every file is on the disk by then.
    ///
    /// # Errors
    /// When a file can't be written; then the shard is missing, or still the earlier one.
    pub fn finish(mut self) -> Result<PathBuf, Error> {
        self.results.flush().map_err(|source| Error::io(self.place(RESULTS), source))?;
        let target = self.target();
        let mut files = Vec::new();
        sync_files(self.folder.path(), "", &mut files)?;
        let case_inputs = std::mem::take(&mut self.case_inputs).into_values().collect();
        let manifest = Manifest::new(self.shard, self.job, [self.own, self.failed], case_inputs, files);
        let path = self.folder.path().join(MANIFEST);
        let written = serde_json::to_vec_pretty(&manifest)
            .map_err(io::Error::from)
            .and_then(|text| write_synced(&path, &[text.as_slice(), b"\n"].concat()));
        written.map_err(|source| Error::io(target.join(MANIFEST), source))?;
        system::sync_folder(self.folder.path()).map_err(|source| Error::io(&target, source))?;
        open_as_usual(self.folder.path(), &self.parent);
        take_place(self.folder.path(), &target).map_err(|source| Error::io(&target, source))?;
        self.made.keep();
        // An earlier shard has the temporary's name now, and goes with it.
        drop(self.folder);
        remove_leftovers(&self.parent, self.shard);
        Ok(target)
    }

    /// A file as it will be named, for messages.
    fn place(&self, name: &str) -> PathBuf {
        self.target().join(name)
    }
}

/// Gives a folder its name on the disk, and its own to what had that name: all of it or nothing, also where a call fails.
fn take_place(folder: &Path, target: &Path) -> io::Result<()> {
    let _held_off = leftovers::hold_off();
    let parent = target.parent().unwrap_or(Path::new("."));
    let is_taken = target.symlink_metadata().is_ok();
    if !is_taken {
        system::rename(folder, target)?;
        return system::sync_folder(parent).inspect_err(|_| {
            let _ = fs::rename(target, folder);
        });
    }
    exchange(folder, target)?;
    system::sync_folder(parent).inspect_err(|_| {
        let _ = exchange(folder, target);
    })
}

fn exchange(folder: &Path, target: &Path) -> io::Result<()> {
    match system::exchange(folder, target) {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {}
        done => return done,
    }
    // A system, or a kind of disk, that cannot exchange names: here alone a run that is killed can leave the earlier shard under a third name.
    let aside = folder.with_extension("old");
    system::rename(target, &aside)?;
    if let Err(error) = system::rename(folder, target) {
        fs::rename(&aside, target)?;
        return Err(error);
    }
    system::rename(&aside, folder)
}

fn beginning_of_temporaries(shard: Shard) -> String {
    format!(".{}.", shard.folder_name())
}

/// What killed runs of the same shard have left. What cannot be removed stays.
fn remove_leftovers(parent: &Path, shard: Shard) {
    let beginning = beginning_of_temporaries(shard);
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&beginning) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Temporary folders are their owner's alone; a shard is whoever's the folder around it is.
fn open_as_usual(folder: &Path, parent: &Path) {
    if let Ok(metadata) = fs::metadata(parent) {
        let _ = fs::set_permissions(folder, metadata.permissions());
    }
}

/// Syncs the files below a folder and adds them to the list, by name.
fn sync_files(folder: &Path, prefix: &str, files: &mut Vec<WrittenFile>) -> Result<(), Error> {
    let failed = |source| Error::io(folder, source);
    let mut entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type().map_err(failed)?.is_dir() {
            sync_files(&path, &format!("{name}/"), files)?;
            system::sync_folder(&path).map_err(|source| Error::io(&path, source))?;
        } else {
            File::open(&path).and_then(|file| system::sync(&file)).map_err(|source| Error::io(&path, source))?;
            files.push(WrittenFile { name, fingerprint: Fingerprint::of_content(&path)? });
        }
    }
    Ok(())
}

fn write_synced(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(content)?;
    system::sync(&file)
}
