//! What tells whether a file is the one that another shard has read.

use crate::input::{self, Kind};
use crate::shards::error::Error;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Files up to this size are hashed whole.
const WHOLE_BYTES: u64 = 16 << 10;

/// Pieces of a larger file that are hashed, and the size of each.
const PIECES: u64 = 8;
const PIECE_BYTES: u64 = 2 << 10;

/// The size of a file and a hash. It detects changed files, not tampering.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Its size.
    pub bytes: u64,
    /// SHA-256, in hexadecimal digits.
    pub sha256: String,
}

impl Fingerprint {
    /// Of the whole content.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn of_content(path: &Path) -> Result<Fingerprint, Error> {
        input::open(path, Kind::RegularFile).and_then(whole).map_err(|source| Error::io(path, source))
    }

    /// Of the size and, beyond 16 KiB, of eight pieces from the first to the last: traces of many gigabytes cost no more
    /// than small ones.
    ///
    /// # Errors
    /// When the file can't be read.
    pub(crate) fn of_pieces(path: &Path) -> Result<Fingerprint, Error> {
        let read = |file: File| match file.metadata()?.len() {
            0..=WHOLE_BYTES => whole(file),
            bytes => pieces(&file, bytes),
        };
        input::open(path, Kind::RegularFile).and_then(read).map_err(|source| Error::io(path, source))
    }
}

fn whole(mut file: File) -> io::Result<Fingerprint> {
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Fingerprint { bytes, sha256: hexadecimal(hash) }),
            read => {
                hash.update(&buffer[..read]);
                bytes += read as u64;
            }
        }
    }
}

fn pieces(file: &File, bytes: u64) -> io::Result<Fingerprint> {
    let mut hash = Sha256::new();
    let mut piece = [0; PIECE_BYTES as usize];
    for number in 0..PIECES {
        file.read_exact_at(&mut piece, (bytes - PIECE_BYTES) * number / (PIECES - 1))?;
        hash.update(piece);
    }
    Ok(Fingerprint { bytes, sha256: hexadecimal(hash) })
}

/// A file that a shard has read, or looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// The file, as it was named.
    pub path: String,
    /// What it is; `None` where it was not there.
    #[serde(flatten)]
    pub fingerprint: Option<Fingerprint>,
}

impl InputFile {
    /// A file that all cases share, by its whole content.
    ///
    /// # Errors
    /// When the file is there and can't be read.
    pub fn shared(path: &Path) -> Result<InputFile, Error> {
        InputFile::with(path, Fingerprint::of_content)
    }

    /// A file of one case, by pieces of its content.
    ///
    /// # Errors
    /// When the file is there and can't be read.
    pub fn of_case(path: &Path) -> Result<InputFile, Error> {
        InputFile::with(path, Fingerprint::of_pieces)
    }

    fn with(path: &Path, fingerprint: impl Fn(&Path) -> Result<Fingerprint, Error>) -> Result<InputFile, Error> {
        let name = path.to_string_lossy().into_owned();
        // What is read from a pipe is gone then, and a folder in the place of a file has its own message.
        if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Ok(InputFile { path: name, fingerprint: None });
        }
        match fingerprint(path) {
            Ok(fingerprint) => Ok(InputFile { path: name, fingerprint: Some(fingerprint) }),
            Err(Error::Files(crate::Error::Io { source, .. })) if source.kind() == io::ErrorKind::NotFound => {
                Ok(InputFile { path: name, fingerprint: None })
            }
            Err(error) => Err(error),
        }
    }
}

pub(crate) fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn a_change_at_the_ends_or_of_the_size_shows() -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("trace.json");
        for size in [0_usize, 1, 16 << 10, (16 << 10) + 1, 100_003] {
            let of = |content: &[u8]| {
                std::fs::write(&path, content)?;
                Fingerprint::of_pieces(&path).map_err(io::Error::other)
            };
            let content = vec![7; size];
            let fingerprint = of(&content)?;
            assert_eq!(fingerprint, of(&content)?);
            assert_ne!(fingerprint, of(&vec![7; size + 1])?, "{size}");
            for place in [0, size.saturating_sub(1)].into_iter().filter(|_| size > 0) {
                let mut changed = content.clone();
                changed[place] = 8;
                assert_ne!(fingerprint, of(&changed)?, "{size} {place}");
            }
        }
        Ok(())
    }

    #[test]
    fn the_hash_of_a_small_file_is_the_one_of_sha256sum() -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a");
        std::fs::write(&path, "abc")?;
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let expected = Fingerprint { bytes: 3, sha256: sha256.to_owned() };
        assert_eq!(Fingerprint::of_pieces(&path)?, expected);
        assert_eq!(Fingerprint::of_content(&path)?, expected);
        Ok(())
    }

    #[test]
    fn a_file_that_is_not_there_is_remembered_as_such() -> TestResult {
        let folder = tempfile::tempdir()?;
        let missing = InputFile::of_case(&folder.path().join("none"))?;
        assert_eq!(missing.fingerprint, None);
        let text = serde_json::to_string(&missing)?;
        assert!(!text.contains("sha256"), "{text}");
        assert_eq!(serde_json::from_str::<InputFile>(&text)?, missing);
        Ok(())
    }
}
