//! The results of the cases, in their order.

use crate::input::{self, Kind, LARGEST_DOCUMENT_BYTES};
use crate::shards::error::Error;
use crate::shards::shard::Shard;
use bitcode::{DecodeOwned, Encode};
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The file of a shard with its results: for each case its number and the length of its result, eight bytes each with the
/// lowest first, and the result.
pub(crate) const RESULTS: &str = "results.bin";

/// Writes results one behind the other.
pub(crate) struct Recorder {
    file: BufWriter<File>,
    /// An encoder has a buffer for each field of a result; these are made once.
    buffer: bitcode::Buffer,
}

impl Recorder {
    pub(crate) fn create(path: &Path) -> io::Result<Recorder> {
        Ok(Recorder { file: BufWriter::new(File::create(path)?), buffer: bitcode::Buffer::new() })
    }

    pub(crate) fn record(&mut self, case: usize, result: &impl Encode) -> io::Result<()> {
        let bytes = self.buffer.encode(result);
        for number in [case, bytes.len()] {
            self.file.write_all(&(number as u64).to_le_bytes())?;
        }
        self.file.write_all(bytes)
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Recorder").field("file", &self.file).finish_non_exhaustive()
    }
}

/// The result of one case as it stands in the file.
struct Record {
    case: u64,
    bytes: Vec<u8>,
}

impl Record {
    /// The next record of a file.
    fn read(file: &mut impl Read) -> io::Result<Record> {
        let mut head = [[0; 8]; 2];
        file.read_exact(head.as_flattened_mut())?;
        let [case, length] = head.map(u64::from_le_bytes);
        if length > LARGEST_DOCUMENT_BYTES {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == length { Ok(Record { case, bytes }) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }

    fn size(&self) -> u64 {
        16 + self.bytes.len() as u64
    }
}

/// Files that stay open: a set may have more shards than a process may have files.
const MOST_OPEN: usize = 64;

/// The results of a shard that were not taken.
#[derive(Debug)]
struct Remaining {
    folder: PathBuf,
    /// Where the next record begins.
    place: u64,
    /// The file at that place, if it is open.
    file: Option<BufReader<File>>,
}

impl Remaining {
    fn next(&mut self, stays_open: bool) -> io::Result<Record> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => {
                let mut file = input::open(&self.folder.join(RESULTS), Kind::RegularFile)?;
                file.seek(SeekFrom::Start(self.place))?;
                BufReader::with_capacity(if stays_open { BUFFER_BYTES } else { 0 }, file)
            }
        };
        let record = Record::read(&mut file)?;
        self.place += record.size();
        self.file = Some(file).filter(|_| stays_open);
        Ok(record)
    }
}

/// What is read of a file at a time that stays open.
const BUFFER_BYTES: usize = 64 << 10;

/// Hands out the results of a set, each once.
#[derive(Debug)]
pub struct Results {
    /// Of every shard, in their order.
    shards: Vec<Remaining>,
    /// The keys of the cases.
    cases: Vec<String>,
}

impl Results {
    pub(crate) fn new(folders: impl IntoIterator<Item = PathBuf>, cases: Vec<String>) -> Results {
        let remaining = |folder| Remaining { folder, place: 0, file: None };
        Results { shards: folders.into_iter().map(remaining).collect(), cases }
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
        let Some(shard) = owner.and_then(|owner| self.shards.get_mut(owner.number() as usize - 1)) else {
            return Err(missing(Path::new(".")));
        };
        let record = match shard.next(of as usize <= MOST_OPEN) {
            Ok(record) if record.case == case as u64 => record,
            Ok(_) => return Err(missing(&shard.folder)),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(missing(&shard.folder)),
            Err(source) => return Err(Error::io(shard.folder.join(RESULTS), source)),
        };
        let damaged =
            |error: bitcode::Error| Error::Damaged { path: shard.folder.join(RESULTS), reason: error.to_string() };
        bitcode::decode(&record.bytes).map_err(damaged)
    }
}
