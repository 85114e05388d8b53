//! Forms that are recognised and not read, and what makes a readable file of each.

use std::path::Path;

/// What is said of Ascend's databases.
pub(super) const ASCEND_DATABASE: &str = "an Ascend profile database: give kernel_details.csv beside it";

/// Ends of names of profiles of nsys that must be exported.
pub(super) const NSYS_REPORTS: [&str; 3] = [".nsys-rep", ".qdrep", ".qdstrm"];

/// Whether a file has the name of a profile of nsys that must be exported.
pub fn is_nsys_report(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    NSYS_REPORTS.iter().any(|end| name.ends_with(end))
}

/// A CSV that is not read: columns that its header has, and why.
const TABLES: [(&[&str], &str); 8] = [
    (
        &["Start (ns)", "Duration (ns)"],
        "a CSV of nsys stats, which leaves out the launches: nsys export --type sqlite FILE.nsys-rep",
    ),
    (
        &["Total Time (ns)", "Instances"],
        "a CSV of nsys stats, which has sums only: nsys export --type sqlite FILE.nsys-rep",
    ),
    (
        &["Total Time (ns)", "Num Calls"],
        "a CSV of nsys stats, which has sums only: nsys export --type sqlite FILE.nsys-rep",
    ),
    (
        &["Kernel_Name", "Start_Timestamp"],
        "a CSV of rocprofv3, which leaves out the launches: rocprofv3 --output-format rocpd -- PROGRAM",
    ),
    (
        &["KernelName", "BeginNs"],
        "a CSV of rocprof, which leaves out the launches: rocprofv3 --output-format rocpd -- PROGRAM",
    ),
    (&["OP Type", "Total Time(us)"], "op_statistic.csv, which has sums only: give kernel_details.csv beside it"),
    (
        &["Computing", "Communication(Not Overlapped)"],
        "step_trace_time.csv, which has sums only: give trace_view.json or kernel_details.csv beside it",
    ),
    (
        &["Host Self Duration(us)", "Device Self Duration(us)"],
        "operator_details.csv, which has no start times: give trace_view.json or kernel_details.csv beside it",
    ),
];

/// Why a form that nothing here reads is refused, and what makes a readable file of it; nothing where it may be read.
pub(super) fn reason(path: &Path, first: &[u8]) -> Option<String> {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let name = file.to_lowercase();
    let line = first.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let has = |column: &&str| line.split(',').any(|cell| cell.trim().trim_matches('"') == *column);
    if let Some((_, reason)) = TABLES.iter().find(|(columns, _)| columns.iter().all(has)) {
        return Some((*reason).to_owned());
    }
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    if ends(&NSYS_REPORTS) {
        Some(format!("export it first: nsys export --type sqlite {file}"))
    } else if ends(&[".xplane.pb"]) || has_text(first, b"/host:CPU") || has_text(first, b"/device:GPU:") {
        Some("an XLA profile (xplane), which no tool here reads: record with torch.profiler, or with nsys".to_owned())
    } else if ends(&[".pftrace", ".perfetto-trace"]) || is_perfetto(first) {
        Some(format!("a Perfetto trace: make JSON of it first: traceconv json {file} {file}.json"))
    } else {
        None
    }
}

fn has_text(first: &[u8], text: &[u8]) -> bool {
    let is_binary = first.iter().take(64).any(|byte| *byte < 9);
    is_binary && memchr::memmem::find(first, text).is_some()
}

/// A Perfetto trace is a message of packets, which are messages themselves.
fn is_perfetto(first: &[u8]) -> bool {
    let mut rest = first;
    (0..3).all(|_| {
        let found = packet(rest).filter(|(packet, _)| !packet.is_empty() && is_message(packet));
        rest = found.map_or(rest, |(_, behind)| behind);
        found.is_some()
    })
}

/// The packet at the beginning, and what is behind it.
fn packet(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, behind) = varint(bytes.strip_prefix(&[0x0a])?)?;
    behind.split_at_checked(usize::try_from(length).ok()?)
}

/// Whether all bytes are fields of a message.
fn is_message(mut fields: &[u8]) -> bool {
    while !fields.is_empty() {
        let Some((key, behind)) = varint(fields) else { return false };
        let behind = match key & 7 {
            0 => varint(behind).map(|(_, behind)| behind),
            1 => behind.get(8..),
            2 => varint(behind).and_then(|(length, behind)| behind.get(usize::try_from(length).ok()?..)),
            5 => behind.get(4..),
            _ => None,
        };
        let Some(behind) = behind.filter(|_| key >> 3 > 0) else { return false };
        fields = behind;
    }
    true
}

/// A number of a message, and what is behind it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(9).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}
