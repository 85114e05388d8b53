//! A copy of a file without what can be fixed.

mod events;
mod rows;

use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::code::Code;
use crate::error::Error;
use crate::file::open;
use crate::input::Input;
use crate::json::{Mender, Plan};
use crate::report::{Kind, Report};
use crate::table::TableMender;
use events::EventFixer;
use rustc_hash::FxHashSet;

/// What was fixed, and how often, in the order of [`Code::ALL`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repairs {
    counts: Vec<(Code, u64)>,
}

impl Repairs {
    /// The repairs that were made.
    pub fn counts(&self) -> &[(Code, u64)] {
        &self.counts
    }

    fn add(&mut self, code: Code, count: u64) {
        if count > 0 {
            self.counts.push((code, count));
            self.counts.sort_unstable();
        }
    }
}

/// How a copy is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    Gzip,
}

impl Packing {
    /// What a file name asks for: gzip if it ends in `.gz`.
    pub fn of(path: &Path) -> Packing {
        if path.extension().is_some_and(|extension| extension == "gz") { Packing::Gzip } else { Packing::Plain }
    }
}

/// Writes a copy of a file in which everything is fixed that [`Code::repair`] names, and nothing else is changed.
///
/// Untouched events, rows, numbers and unknown members are copied byte by byte. The copy is written in one pass; of the
/// file one event is held at a time, and 16 bytes for each kernel. `report` is what [`check`](crate::check()) gives for the
/// file.
pub fn repair(path: &Path, report: &Report, out: impl Write, packing: Packing) -> Result<Repairs, Error> {
    let failed = |source| Error::Io { file: path.to_string_lossy().into_owned(), source };
    Input::open(path).map_err(failed)?.repair(report, out, packing)
}

/// [`Input::repair`].
pub(crate) fn repair_input(
    input: &Input,
    report: &Report,
    out: impl Write,
    packing: Packing,
) -> Result<Repairs, Error> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    if packing == Packing::Plain {
        let repairs = write_copy(input, report, &mut out)?;
        out.flush().map_err(Error::Write)?;
        return Ok(repairs);
    }
    let mut packed = GzEncoder::new(out, Compression::default());
    let repairs = write_copy(input, report, &mut packed)?;
    packed.finish().and_then(|mut out| out.flush()).map_err(Error::Write)?;
    Ok(repairs)
}

fn write_copy(input: &Input, report: &Report, out: &mut impl Write) -> Result<Repairs, Error> {
    let file = input.name.clone();
    if report.kind == Kind::Unknown {
        let code = report.findings.iter().map(|finding| finding.code).find(|code| code.repair().is_none());
        return Err(Error::NoData { file, reason: code.unwrap_or(Code::NotATrace).effect() });
    }
    let failed = |source| Error::Io { file: file.clone(), source };
    let opened = open(&input.path).map_err(failed)?;
    let mut repairs = Repairs::default();
    if report.kind == Kind::KernelTable {
        let (mut mender, tally) = TableMender::reader(opened.reader);
        let dropped = rows::copy(&mut mender, out, failed)?;
        let tally = tally.lock().unwrap_or_else(PoisonError::into_inner).clone();
        repairs.add(Code::DuplicateEvents, dropped);
        repairs.add(Code::ControlCharacters, tally.zeros.count);
        repairs.add(Code::InvalidUtf8, tally.bad_utf8.count);
    } else {
        let fixer = Arc::new(Mutex::new(EventFixer::new(report.kind)));
        let fix = Arc::clone(&fixer);
        let plan = Plan::Repair {
            // Reading a large file once more takes as long as the copy.
            dropped_members: if report.repeats_keys {
                replaced_members(input).map_err(failed)?
            } else {
                FxHashSet::default()
            },
            fix: Box::new(move |event| fix.lock().unwrap_or_else(PoisonError::into_inner).fix(event)),
        };
        let (mut mender, progress) = Mender::new(opened.reader, plan);
        copy(&mut mender, out, failed)?;
        let tally = progress.tally();
        let fixed = fixer.lock().unwrap_or_else(PoisonError::into_inner).counts();
        for (code, count) in [
            (Code::InvalidUtf8, tally.bad_utf8.count),
            (Code::ControlCharacters, tally.control.count),
            (Code::BareNonfinite, tally.nonfinite.count),
            (Code::DuplicateKeys, tally.duplicates()),
            (Code::TruncatedJson, u64::from(tally.truncated.is_some())),
            (Code::MalformedJson, tally.damaged.count),
            (Code::TrailingData, u64::from(tally.trailing.is_some())),
            (Code::BadEvents, tally.no_events),
            (Code::TextTimes, fixed.text_times),
            (Code::OldCategories, fixed.old_categories),
            (Code::DuplicateEvents, fixed.copies),
        ] {
            repairs.add(code, count);
        }
    }
    let mut found = crate::finding::Findings::default();
    opened.oddities.report(&mut found);
    for finding in found.0 {
        repairs.add(finding.code, 1);
    }
    Ok(repairs)
}

/// Copies without mistaking one side's failure for the other's.
fn copy(from: &mut impl Read, to: &mut impl Write, failed: impl Fn(io::Error) -> Error) -> Result<(), Error> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(&buffer[..count]).map_err(Error::Write)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

/// Members at the top that a later one of the same name replaces; only known once all have been seen.
fn replaced_members(input: &Input) -> io::Result<FxHashSet<usize>> {
    let opened = open(&input.path)?;
    let (mut mender, progress) = Mender::new(opened.reader, Plan::Check);
    io::copy(&mut mender, &mut io::sink())?;
    Ok(progress.tally().replaced_members.into_iter().collect())
}

/// The sentence about a repair that was made: `repaired: CODE: N`.
pub fn repaired_line(code: Code, count: u64) -> String {
    format!("repaired: {code}: {count}")
}
