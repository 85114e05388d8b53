//! What to do about a file that a line on stderr is about, where the reason alone does not say it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The line, and what to do if the file that it begins with (`FILE: …`, `FILE:LINE: …`) is of a kind that no tool reads.
pub(crate) fn with_hint(line: &str) -> String {
    match hint(line) {
        Some(hint) => format!("{line}; {hint}"),
        None => line.to_owned(),
    }
}

/// [`with_hint`] for a warning, which a tool that reads SQLite files may give about one that it has read.
pub(crate) fn with_hint_about_warning(line: &str) -> String {
    let read = |path: &Path| foreign_format(path) == Some(ForeignFormat::Sqlite);
    match file_and_reason(line) {
        Some((path, _)) if read(&path) => line.to_owned(),
        _ => with_hint(line),
    }
}

fn hint(line: &str) -> Option<String> {
    let (path, reason) = file_and_reason(line)?;
    let metadata = fs::metadata(&path).ok();
    if reason.contains("Is a directory") || reason.contains("is a directory") {
        return metadata.filter(fs::Metadata::is_dir).and_then(|_| in_folder(&path));
    }
    if reason.contains("Permission denied") {
        return Some("ask its owner for permission, or name a file of your own (ls -ld shows both)".to_owned());
    }
    if !metadata.is_some_and(|metadata| metadata.is_file()) {
        return None;
    }
    // A tool that reads Parquet says itself what is wrong with a file, or a column.
    let read_as_parquet =
        reason.contains("Parquet") || reason.contains("export-database") || reason.starts_with(": column ");
    // It has read the rows that it complains of.
    let read_as_sqlite = reason.starts_with(": no row: ") || reason.contains("no GPU kernel events");
    let foreign = foreign_format(&path).filter(|format| match format {
        ForeignFormat::Parquet => !read_as_parquet,
        ForeignFormat::Sqlite => !read_as_sqlite,
        _ => true,
    });
    foreign.map(|format| format.hint(&path)).or_else(|| {
        let is_array = reason.contains("top level is not an object") && first_character(&path) == Some(b'[');
        let lacks_columns = reason.contains("column") && separates_by_semicolon(&path);
        match (is_array, lacks_columns) {
            (true, _) => Some(
                "it is an array of events, as profilers of devices write timelines; the simulator's trace is an object with \"traceEvents\""
                    .to_owned(),
            ),
            (_, true) => Some("its columns are separated by ';': write it with ',' instead".to_owned()),
            _ => None,
        }
    })
}

/// The file that a line begins with, if there is one of that name, and what the line says of it.
fn file_and_reason(line: &str) -> Option<(PathBuf, &str)> {
    line.match_indices(':').find_map(|(at, _)| {
        let (path, reason) = line.split_at(at);
        (fs::symlink_metadata(path).is_ok() || reason.contains("Permission denied"))
            .then(|| (PathBuf::from(path), reason))
    })
}

/// Formats that are known by their first bytes, and read by no tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForeignFormat {
    Zstandard,
    Xz,
    Bzip2,
    Lz4,
    Zip,
    Parquet,
    Sqlite,
}

impl ForeignFormat {
    /// What the format is, and how to get from it to one that can be read.
    pub(crate) fn hint(self, path: &Path) -> String {
        let file = perfdb_files::escape::shown(path);
        match self {
            ForeignFormat::Zstandard => {
                format!("it is a zstd file: unpack it (zstd -d {file}), or use gzip, which is read as it is")
            }
            ForeignFormat::Xz => {
                format!("it is an xz file: unpack it (xz -dk {file}), or use gzip, which is read as it is")
            }
            ForeignFormat::Bzip2 => {
                format!("it is a bzip2 file: unpack it (bzip2 -dk {file}), or use gzip, which is read as it is")
            }
            ForeignFormat::Lz4 => {
                format!("it is an lz4 file: unpack it (lz4 -d {file}), or use gzip, which is read as it is")
            }
            ForeignFormat::Zip => format!("it is a zip archive: unpack it (unzip {file}) and name the file in it"),
            ForeignFormat::Parquet => "it is a Parquet file: write it as CSV".to_owned(),
            ForeignFormat::Sqlite => {
                "it is an SQLite database: explain-trace, compare-traces, check-trace and database-from-trace read those of nsys, RPD and rocprofv3, other tools the profiler's CSV or JSON files"
                    .to_owned()
            }
        }
    }
}

/// The format of a file, if its first bytes show that no tool can read it.
pub(crate) fn foreign_format(path: &Path) -> Option<ForeignFormat> {
    const MARKS: [(&[u8], ForeignFormat); 7] = [
        (b"\x28\xb5\x2f\xfd", ForeignFormat::Zstandard),
        (b"\xfd7zXZ\0", ForeignFormat::Xz),
        (b"BZh", ForeignFormat::Bzip2),
        (b"\x04\x22\x4d\x18", ForeignFormat::Lz4),
        (b"PK\x03\x04", ForeignFormat::Zip),
        (b"PAR1", ForeignFormat::Parquet),
        (b"SQLite format 3\0", ForeignFormat::Sqlite),
    ];
    let start = start_of(path, 16)?;
    MARKS.iter().find(|(mark, _)| start.starts_with(mark)).map(|(_, format)| *format)
}

fn start_of(path: &Path, length: u64) -> Option<Vec<u8>> {
    // A pipe gives what it has only once.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut start = Vec::new();
    File::open(path).ok()?.take(length).read_to_end(&mut start).ok()?;
    Some(start)
}

fn first_character(path: &Path) -> Option<u8> {
    start_of(path, 4096)?.into_iter().find(|byte| !byte.is_ascii_whitespace() && !matches!(byte, 0xef | 0xbb | 0xbf))
}

/// Whether the first line has several cells for a reader that splits at `;` alone.
fn separates_by_semicolon(path: &Path) -> bool {
    let mut header = Vec::new();
    let Ok(file) = File::open(path) else { return false };
    let read = BufReader::new(file.take(1 << 16)).read_until(b'\n', &mut header);
    read.is_ok() && header.iter().filter(|byte| **byte == b';').count() > 1 && !header.contains(&b',')
}

/// The first file in a folder that looks like what tools read.
fn in_folder(folder: &Path) -> Option<String> {
    let wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        path.is_file() && [".csv", ".csv.gz", ".json", ".json.gz"].iter().any(|ending| name.ends_with(ending))
    };
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).filter(wanted).collect();
    files.sort();
    Some(match files.first() {
        Some(file) => format!("name a file in it, such as {}", perfdb_files::escape::shown(file)),
        None => "name a file; there is neither a CSV nor a JSON in this folder".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_as_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let line = |reason: &str| with_hint(&format!("{}:3: {reason}", path.display()));
        for (content, reason, expected) in [
            (&b"\x28\xb5\x2f\xfdxx"[..], "no JSON", "; it is a zstd file: unpack it (zstd -d "),
            (b"\xfd7zXZ\0x", "no JSON", "; it is an xz file: "),
            (b"BZh91AY", "no JSON", "; it is a bzip2 file: "),
            (b"PK\x03\x04x", "not valid UTF-8", "; it is a zip archive: "),
            (b"PAR1x", "not valid UTF-8", "; it is a Parquet file: write it as CSV"),
            (b"SQLite format 3\0x", "not valid UTF-8", "; it is an SQLite database: "),
            (b" [{}]", "the top level is not an object", "; it is an array of events, "),
            (b"Type;Name;x\n", "no column \"Type\"", "; its columns are separated by ';'"),
        ] {
            std::fs::write(&path, content).unwrap();
            assert!(line(reason).contains(&format!("{reason}{expected}")), "{}", line(reason));
        }
        for (content, reason) in [
            (&b"{}"[..], "no events"),
            (b"PAR1x", "no readable Parquet: EOF"),
            (b"SQLite format 3\0x", "no GPU kernel events"),
            (b"Type,Name;x;\n", "no column"),
            (b"{}", "top level is not an object"),
        ] {
            std::fs::write(&path, content).unwrap();
            assert!(line(reason).ends_with(reason), "{}", line(reason));
        }
    }

    #[test]
    fn a_folder_and_a_closed_file_say_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let line = format!("{}: Is a directory (os error 21)", folder.path().display());
        assert!(with_hint(&line).ends_with("; name a file; there is neither a CSV nor a JSON in this folder"));
        std::fs::write(folder.path().join("b.json.gz"), "").unwrap();
        std::fs::write(folder.path().join("a.txt"), "").unwrap();
        assert!(with_hint(&line).ends_with("/b.json.gz"), "{}", with_hint(&line));
        assert!(with_hint("x.json: Permission denied (os error 13)").contains("; ask its owner for permission"));
        assert_eq!(with_hint("no file here: at all"), "no file here: at all");
    }
}
