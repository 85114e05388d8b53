//! The op_summary table of executors that measure time themselves, in the columns of msprof.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use perfdb_files::replace::{Parents, Staged, is_leftover_name, remove_leftovers};
use perfdb_pycompat::csv_text::{push_cell, push_row};
use perfdb_pycompat::format::fixed;
use perfdb_store::columns::METRICS;
use perfdb_store::dtype::DType;

use crate::case::Case;
use crate::error::Error;
use crate::executor::Sample;
use crate::row::column;

/// Columns before the six that describe the row's tensors.
const FRONT: [&str; 14] = [
    "Device_id",
    "Model ID",
    "Task ID",
    "Stream ID",
    "Op Name",
    "OP Type",
    "OP State",
    "Task Type",
    "Task Start Time(us)",
    "Task Duration(us)",
    "Task Wait Time(us)",
    "Block Num",
    "Mix Block Num",
    "HF32 Eligible",
];

/// The column behind those of tensors; it and the hardware counters that follow are all `N/A`.
const CONTEXT_ID: &str = "Context ID";

/// The samples of one row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// Operator.
    pub(crate) op: String,
    /// Number of the record, the header being 1.
    pub(crate) row: u64,
    /// Number of the device.
    pub(crate) device_id: u32,
    /// Where the times come from.
    pub(crate) task_type: &'static str,
    /// The row's text.
    pub(crate) text: RowCells,
    /// One per timed run.
    pub(crate) samples: Vec<Sample>,
}

/// A row's cells that go out again, so that its signature can be found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RowCells {
    /// `OP State`.
    pub(crate) state: String,
    /// The cells of [`column::TENSORS`].
    pub(crate) metadata: [String; 6],
}

impl RowCells {
    /// The cells of a row of a table.
    pub(crate) fn of_row(row: perfdb_store::table::Row<'_>) -> RowCells {
        let cell = |name: &str| row.get(name).unwrap_or_default().to_owned();
        RowCells { state: cell("OP State"), metadata: column::TENSORS.map(cell) }
    }

    /// Cells made up from a case that no table holds.
    pub(crate) fn of_case(case: &Case) -> RowCells {
        let shape_text = |shape: &[usize]| shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let join = |parts: Vec<String>| parts.join(";");
        let inputs = &case.call.inputs;
        let metadata = [
            join(inputs.iter().map(|spec| shape_text(spec.storage_shape())).collect()),
            join(inputs.iter().map(|spec| dtype_cell(Some(spec.dtype))).collect()),
            join(inputs.iter().map(|_| "ND".to_owned()).collect()),
            join(case.outputs.iter().map(|output| shape_text(output.shape.as_deref().unwrap_or_default())).collect()),
            join(case.outputs.iter().map(|output| dtype_cell(output.dtype)).collect()),
            join(case.outputs.iter().map(|_| "ND".to_owned()).collect()),
        ];
        RowCells { state: String::new(), metadata }
    }
}

/// The table of these entries, in order. `None` without a sample.
pub(crate) fn table(entries: &[Entry]) -> Option<String> {
    if entries.iter().all(|entry| entry.samples.is_empty()) {
        return None;
    }
    let mut out = String::new();
    push_row(&mut out, FRONT.into_iter().chain(column::TENSORS).chain([CONTEXT_ID]).chain(METRICS), "\n");
    let mut task_id = 0_u64;
    let mut end_before: Option<f64> = None;
    for entry in entries {
        for sample in &entry.samples {
            let wait = match end_before {
                None => "0".to_owned(),
                Some(end) => fixed((sample.start_us - end).max(0.0), 6),
            };
            push_line(&mut out, entry, sample, task_id, &wait);
            end_before = Some(sample.start_us + sample.duration_us);
            task_id += 1;
        }
    }
    Some(out)
}

fn push_line(out: &mut String, entry: &Entry, sample: &Sample, task_id: u64, wait: &str) {
    let state = if entry.text.state.is_empty() { "N/A" } else { &entry.text.state };
    let front = [
        &entry.device_id.to_string(),
        "4294967295",
        &task_id.to_string(),
        "0",
        &format!("{}_{}", entry.op, entry.row),
        &entry.op,
        state,
        entry.task_type,
        &format!("{}\t", fixed(sample.start_us, 3)),
        &fixed(sample.duration_us, 3),
        wait,
        "0",
        "0",
        "NO",
    ];
    push_row(out, front, "");
    for (name, cell) in column::TENSORS.iter().zip(&entry.text.metadata) {
        out.push(',');
        if name.ends_with("Shapes") {
            out.push('"');
            out.push_str(&cell.trim().trim_matches('"').replace('"', "\"\""));
            out.push('"');
        } else {
            push_cell(out, cell);
        }
    }
    out.push_str(&",N/A".repeat(1 + METRICS.len()));
    out.push('\n');
}

/// The folder of a profile with its tables.
const TABLES: &str = "mindstudio_profiler_output";

/// Whether a profile directory is not there, or has only what a killed run has left, which goes.
fn is_free(profile: &Path) -> bool {
    let names = |folder: &Path| -> Vec<OsString> {
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect()
    };
    if fs::symlink_metadata(profile).is_err() {
        return true;
    }
    let tables = profile.join(TABLES);
    if !names(profile).iter().all(|name| name == TABLES) || !names(&tables).iter().all(is_left_over) {
        return false;
    }
    // Those that a living run still wants stay.
    let _ = remove_leftovers(&tables);
    profile.is_dir() && names(&tables).is_empty()
}

fn is_left_over(name: &OsString) -> bool {
    is_leftover_name(&name.to_string_lossy())
}

/// An op_summary and the place where it belongs.
#[derive(Debug)]
pub(crate) struct OpSummary {
    /// The profile directory.
    pub(crate) profile: PathBuf,
    /// The table.
    pub(crate) content: String,
    run_id: String,
}

impl OpSummary {
    /// The table of these entries, in a profile directory below `output` that does not exist yet and that nobody else has taken. `None`
    /// without a sample.
    pub(crate) fn new(
        output: &Path,
        run_id: &str,
        entries: &[Entry],
        is_taken: &dyn Fn(&Path) -> bool,
    ) -> Result<Option<OpSummary>, Error> {
        let Some(content) = table(entries) else { return Ok(None) };
        let profile = (1..1_000_000_u32)
            .map(|number| output.join(format!("PROF_{number:06}_{run_id}_PERFDB")))
            .find(|profile| is_free(profile) && !is_taken(profile))
            .ok_or_else(|| Error::Run(format!("{}: no free name for a profile directory", output.display())))?;
        Ok(Some(OpSummary { profile, content, run_id: run_id.to_owned() }))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.profile.join(TABLES).join(format!("op_summary_{}.csv", self.run_id))
    }

    /// Stages the file.
    pub(crate) fn stage(&self) -> Result<Staged, Error> {
        Ok(Staged::with(&self.path(), self.content.as_bytes(), Parents::Create)?)
    }
}

/// `DT_BF16`; `DT_UNDEFINED` without a type or a profiler's name for it.
fn dtype_cell(dtype: Option<DType>) -> String {
    format!("DT_{}", dtype.and_then(DType::database_name).unwrap_or("UNDEFINED"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdb_files::replace::commit;

    fn entry(samples: &[(f64, f64)]) -> Entry {
        Entry {
            op: "Add".to_owned(),
            row: 2,
            device_id: 0,
            task_type: "HOST_CPU",
            text: RowCells {
                state: "dynamic".to_owned(),
                metadata: ["\"4,64;4,64\"", "DT_BF16;DT_BF16", "ND;ND", "", "a,b", ""].map(str::to_owned),
            },
            samples: samples.iter().map(|&pair| pair.into()).collect(),
        }
    }

    #[test]
    fn lines_have_the_form_of_msprof() {
        let text = table(&[entry(&[(1_000_000.0, 2.0), (1_000_100.0, 2.5)])]).expect("two lines");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[1].starts_with(
            "0,4294967295,0,0,Add_2,Add,dynamic,HOST_CPU,1000000.000\t,2.000,0,0,0,NO,\"4,64;4,64\",DT_BF16;DT_BF16,ND;ND,\"\",\"a,b\",,N/A,"
        ), "{}", lines[1]);
        assert!(lines[2].contains("1000100.000\t,2.500,98.000000,0,0,NO,"));
        assert!(table(&[entry(&[])]).is_none());
    }

    #[test]
    fn what_a_killed_run_has_left_of_a_profile_is_taken_over() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let tables = folder.path().join("PROF_000001_1_PERFDB").join(TABLES);
        fs::create_dir_all(&tables)?;
        fs::write(tables.join(".op_summary_1.csv.tmp-999999999"), "half")?;
        let summary = OpSummary::new(folder.path(), "1", &[entry(&[(0.0, 1.0)])], &|_| false)?.ok_or("a file")?;
        commit(vec![summary.stage()?])?;
        assert_eq!(summary.path(), tables.join("op_summary_1.csv"));
        assert_eq!(fs::read_dir(&tables)?.count(), 1);
        Ok(())
    }

    #[test]
    fn an_existing_profile_is_never_written_into() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let entries = [entry(&[(0.0, 1.0)])];
        for number in 1..=2 {
            let staged =
                OpSummary::new(folder.path(), "20240131120000", &entries, &|_| false)?.ok_or("a file")?.stage()?;
            let file = staged.path().to_owned();
            commit(vec![staged])?;
            let expected = format!(
                "PROF_00000{number}_20240131120000_PERFDB/mindstudio_profiler_output/op_summary_20240131120000.csv"
            );
            assert_eq!(file, folder.path().join(expected));
        }
        Ok(())
    }
}
