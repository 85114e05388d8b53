//! Reads the profiler sessions of a run with kernel timing.

use crate::collective::Collective;
use perfdb_pycompat::number::parse_float;
use perfdb_trace::records::{Cell, Splitter};
use std::path::{Path, PathBuf};

/// Calls per point in the common session of the small sizes.
pub(crate) const CALLS_PER_SMALL_POINT: usize = 10;

/// Sessions per large point, one call each.
pub(crate) const SESSIONS_PER_LARGE_POINT: usize = 10;

/// The folder of the common session of a batch's small sizes.
pub(crate) fn small_session(results: &Path, batch: usize) -> PathBuf {
    results.join("prof").join(format!("b{batch}-small"))
}

/// The folder of one session of a batch's large point.
pub(crate) fn large_session(results: &Path, batch: usize, large: usize, session: usize) -> PathBuf {
    results.join("prof").join(format!("b{batch}-large{large}-s{session}"))
}

/// Durations of the collective's entries in a session, in file order. `Err` is why the session cannot be used: it holds
/// another number of entries than `expected`, so that it is not known which entry belongs to which size.
pub(crate) fn read_session(folder: &Path, op: Collective, expected: usize) -> Result<Vec<f64>, String> {
    let Some(file) = kernel_details(folder) else {
        return Err(format!("no kernel_details.csv, expected {expected} entries"));
    };
    let bytes = std::fs::read(&file).map_err(|e| e.to_string())?;
    let entries = entries(&bytes, op)?;
    if entries.len() == expected {
        Ok(entries)
    } else {
        Err(format!("{} entries of {}, expected {expected}", entries.len(), op.kernel_prefix()))
    }
}

/// Among all `kernel_details.csv` below the folder the one whose path sorts first.
fn kernel_details(folder: &Path) -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if entry.file_name() == "kernel_details.csv" {
                found.push(path);
            }
        }
    }
    // As texts, not component by component: `a-1/x` sorts before `a/x`.
    found.into_iter().min_by(|a, b| a.as_os_str().cmp(b.as_os_str()))
}

/// The durations above zero of rows whose type is the collective's. Every collective stands in such a file twice, as the
/// task of the collective and as its vector kernel (`AivKernel`); only the first counts.
fn entries(bytes: &[u8], op: Collective) -> Result<Vec<f64>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not valid UTF-8".to_owned())?;
    let bytes = text.strip_prefix('\u{feff}').unwrap_or(text).as_bytes();
    let mut splitter = Splitter::new(bytes);
    let mut cells: Vec<Cell> = Vec::new();
    if splitter.next_record(&mut cells).is_none() {
        return Ok(Vec::new());
    }
    let header: Vec<String> = (0..cells.len()).map(|column| text_of(bytes, &cells, Some(column))).collect();
    let column = |name: &str| header.iter().rposition(|title| title == name);
    let (kind, name, duration) = (column("Type"), column("Name"), column("Duration(us)"));
    let mut durations = Vec::new();
    while let Some(record) = splitter.next_record(&mut cells) {
        let of_the_collective = text_of(bytes, &cells, kind).starts_with(op.kernel_prefix());
        if !of_the_collective || text_of(bytes, &cells, name).contains("AivKernel") || duration.is_none() {
            continue;
        }
        let cell = text_of(bytes, &cells, duration);
        match parse_float(&cell) {
            Some(microseconds) if microseconds.is_infinite() => {
                return Err(format!("line {}: Duration(us) is {cell:?}", record.line));
            }
            Some(microseconds) if microseconds > 0.0 => durations.push(microseconds),
            Some(_) => {}
            None => return Err(format!("line {}: Duration(us) is {cell:?}, not a number", record.line)),
        }
    }
    Ok(durations)
}

/// The text of a cell; empty when the column or the cell is not there.
fn text_of(bytes: &[u8], cells: &[Cell], column: Option<usize>) -> String {
    let mut buffer = Vec::new();
    let Some(cell) = column.and_then(|column| cells.get(column)) else {
        return String::new();
    };
    String::from_utf8_lossy(cell.decode(bytes, &mut buffer)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "Device_id,Name,Type,Duration(us)\r\n";

    fn read(rows: &str) -> Result<Vec<f64>, String> {
        entries(format!("{HEADER}{rows}").as_bytes(), Collective::AllReduce)
    }

    #[test]
    fn the_vector_kernels_and_other_types_do_not_count() {
        let rows = concat!(
            "0,hcom_allReduce__1,hcom_allReduce_,2.5\r\n",
            "0,hcom_allReduce_AivKernel_1,hcom_allReduce_AivKernel,2.5\r\n",
            "0,hcom_broadcast__1,hcom_broadcast_,9\r\n",
            "0,hcom_allReduce__2,hcom_allReduce_,0\r\n",
            "0,hcom_allReduce__3,hcom_allReduce_, 3e0\t\r\n",
        );
        assert_eq!(read(rows).unwrap(), [2.5, 3.0]);
    }

    #[test]
    fn a_cell_that_is_no_number_spoils_the_session() {
        assert!(read("0,hcom_allReduce__1,hcom_allReduce_,\r\n").unwrap_err().contains("line 2"));
        assert!(read("0,hcom_allReduce__1,hcom_allReduce_,inf\r\n").is_err());
        assert_eq!(read("0,Add,Add,N/A\r\n").unwrap(), Vec::<f64>::new());
    }

    #[test]
    fn without_the_duration_column_there_are_no_entries() {
        let text = "Name,Type\nhcom_allReduce__1,hcom_allReduce_\n";
        assert_eq!(entries(text.as_bytes(), Collective::AllReduce).unwrap(), Vec::<f64>::new());
    }

    #[test]
    fn the_first_path_as_a_text_is_read() {
        let folder = tempfile::tempdir().unwrap();
        for (name, duration) in [("a", "1"), ("a-1", "2"), ("b", "3")] {
            let below = folder.path().join(name);
            std::fs::create_dir(&below).unwrap();
            let rows = format!("{HEADER}0,x,hcom_allReduce_,{duration}\n");
            std::fs::write(below.join("kernel_details.csv"), rows).unwrap();
        }
        assert_eq!(read_session(folder.path(), Collective::AllReduce, 1).unwrap(), [2.0]);
        assert!(read_session(folder.path(), Collective::AllReduce, 2).unwrap_err().contains("expected 2"));
        assert!(read_session(&folder.path().join("none"), Collective::AllReduce, 2).is_err());
    }
}
