//! What a file is, by its first bytes and its tables.

use std::path::Path;

use super::model::Profile;
use super::sqlite::Database;
use super::{nsys, rpd};
use crate::Error;
use perfdb_files::input::{self, Kind as InputKind};
use std::io::Read;

const SQLITE: &[u8] = b"SQLite format 3\0";

/// Reads a profile of another form than JSON; nothing where the file is none.
///
/// # Errors
/// When the file is a SQLite file that holds no profile or cannot be read, or has a form that must be exported first.
pub fn open(path: &Path) -> Result<Option<Profile>, Error> {
    if !std::fs::metadata(path).is_ok_and(|data| data.is_file()) {
        return Ok(None);
    }
    let io = |source| Error::Io { path: path.to_owned(), source };
    let mut first = Vec::new();
    input::open(path, InputKind::RegularFile).map_err(io)?.take(4096).read_to_end(&mut first).map_err(io)?;
    if let Some(reason) = refusal(path, &first) {
        return Err(Error::Profile { path: path.to_owned(), reason: reason.to_owned() });
    }
    if !first.starts_with(SQLITE) {
        return Ok(None);
    }
    let database = Database::open(path)?;
    let has = |wanted: &dyn Fn(&str) -> bool| database.tables().any(wanted);
    if has(&nsys::has_table) {
        return nsys::read(&database).map(Some);
    }
    if rpd::has_tables(|table| has(&|name| name == table)) {
        return rpd::read(&database).map(Some);
    }
    let reason = if has(&|name| name.starts_with("rocpd_kernel_dispatch")) {
        "a database of rocprofv3, which is not read yet: give the trace of the PyTorch profiler"
    } else if has(&|name| name == "TASK") && has(&|name| name == "STRING_IDS") {
        "an Ascend profile database: give kernel_details.csv beside it"
    } else {
        "a SQLite file, but no table of nsys, RPD or rocpd in it"
    };
    Err(Error::Profile { path: path.to_owned(), reason: reason.to_owned() })
}

/// Why a form that nothing here reads is refused, and what makes a readable file of it.
pub fn refusal(path: &Path, first: &[u8]) -> Option<&'static str> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let line = first.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let is_text = first.starts_with(b"{") || first.starts_with(b"[") || first.starts_with(SQLITE);
    if is_text || first.starts_with(&[0x1f, 0x8b]) {
        None
    } else if line.contains("Start (ns)") || line.contains("Total Time (ns)") {
        Some("a CSV of nsys stats, which leaves out the launches: nsys export --type sqlite FILE.nsys-rep")
    } else if line.contains("\"Kernel_Name\"") || line.contains("Kernel_Name,") {
        Some("a CSV of rocprofv3, which leaves out the launches: give the trace of the PyTorch profiler")
    } else if [".nsys-rep", ".qdrep", ".qdstrm"].iter().any(|end| name.ends_with(end)) {
        Some("export it first: nsys export --type sqlite FILE")
    } else if [".pftrace", ".perfetto-trace"].iter().any(|end| name.ends_with(end)) {
        Some("a Perfetto trace; make JSON of it first: traceconv json FILE FILE.json")
    } else if name.ends_with(".xplane.pb") {
        Some("an XLA profile (xplane), which no tool here reads")
    } else {
        None
    }
}
