//! The results of the cases, in their order.

use crate::error::Error;
use crate::shard::Shard;
use bitcode::{DecodeOwned, Encode};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The file of a shard with its results: for each case its number and the length of its result, eight bytes each with the
/// lowest first, and the result.
pub(crate) const RESULTS: &str = "results.bin";

/// The result of one case as it stands in the file.
pub(crate) struct Record {
    case: u64,
    bytes: Vec<u8>,
}

impl Record {
    pub(crate) fn of(case: usize, result: &impl Encode) -> Record {
        Record { case: case as u64, bytes: bitcode::encode(result) }
    }

    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.case.to_le_bytes())?;
        out.write_all(&(self.bytes.len() as u64).to_le_bytes())?;
        out.write_all(&self.bytes)
    }

    /// The record at a place of the file, which is opened for it alone: a set may have more shards than a process may
    /// have files.
    fn read(path: &Path, place: u64) -> io::Result<Record> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(place))?;
        let mut head = [[0; 8]; 2];
        file.read_exact(head.as_flattened_mut())?;
        let [case, length] = head.map(u64::from_le_bytes);
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        match bytes.len() as u64 == length {
            true => Ok(Record { case, bytes }),
            false => Err(ErrorKind::UnexpectedEof.into()),
        }
    }

    fn size(&self) -> u64 {
        16 + self.bytes.len() as u64
    }
}

/// Hands out the results of a set, each once.
#[derive(Debug)]
pub struct Results {
    /// Of every shard, in their order: its folder, and the place of the next record.
    shards: Vec<(PathBuf, u64)>,
    /// The keys of the cases.
    cases: Vec<String>,
}

impl Results {
    pub(crate) fn new(folders: impl IntoIterator<Item = PathBuf>, cases: Vec<String>) -> Results {
        Results { shards: folders.into_iter().map(|folder| (folder, 0)).collect(), cases }
    }

    /// The result of a case, by its number from 0. Those of one shard have to be taken in order.
    ///
    /// # Errors
    /// When the result is not there or is none.
    pub fn take<T: DecodeOwned>(&mut self, case: usize) -> Result<T, Error> {
        let of = u32::try_from(self.shards.len()).unwrap_or(u32::MAX);
        let owner = self.cases.get(case).and_then(|key| Shard::owner(key, of));
        let all = self.cases.len();
        let missing = |folder: &Path| Error::NoResult { folder: folder.to_owned(), case: case + 1, all };
        let Some((folder, place)) = owner.and_then(|owner| self.shards.get_mut(owner.number() as usize - 1)) else {
            return Err(missing(Path::new(".")));
        };
        let path = folder.join(RESULTS);
        let record = match Record::read(&path, *place) {
            Ok(record) if record.case == case as u64 => record,
            Ok(_) => return Err(missing(folder)),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(missing(folder)),
            Err(source) => return Err(Error::io(path, source)),
        };
        *place += record.size();
        bitcode::decode(&record.bytes).map_err(|error| Error::Damaged { path, reason: error.to_string() })
    }
}
