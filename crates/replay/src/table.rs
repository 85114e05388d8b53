//! Tables of a database as replay reads them.

use std::path::{Path, PathBuf};

use perfdb_store::CsvFault;
use perfdb_store::table::{ReadOptions, Table};
use perfdb_trace::records::{Record, Splitter};

use crate::error::Error;
use crate::operator::Operator;

/// Reads a table and insists on the columns of the operator.
pub fn read(path: &Path, operator: &Operator) -> Result<Table, Error> {
    let fault = |text: String| Error::Table { path: path.to_owned(), text };
    let bytes = std::fs::read(path).map_err(|source| fault(format!("{}: {source}", path.display())))?;
    let copy_for_places = || std::fs::read(path).unwrap_or_default();
    let table = Table::parse(path, bytes, &ReadOptions::database())
        .map_err(|error| fault(refusal_text(path, &error, copy_for_places)))?;
    tracing::info!("read {}: {} row(s), {} bytes", path.display(), table.rows().len(), table.source().len());
    for column in operator.reads {
        if table.column(column).is_none() {
            return Err(fault(format!("{} lacks the column \"{column}\"", path.display())));
        }
    }
    Ok(table)
}

/// The wording that also stands in status files. Rows are numbered by record, the header being 1.
fn refusal_text(path: &Path, error: &perfdb_store::Error, bytes: impl Fn() -> Vec<u8>) -> String {
    let path_text = path.display();
    let perfdb_store::Error::Csv { line, fault, .. } = error else { return error.to_string() };
    let number = match (fault, line) {
        (CsvFault::NotUtf8 { offset }, _) => record_number(&bytes(), |record| record.end as u64 > *offset),
        (_, Some(line)) => record_number(&bytes(), |record| record.line == *line),
        _ => None,
    };
    let row = || number.map(|row| format!(":{row}")).unwrap_or_default();
    match fault {
        CsvFault::LfsPointer => format!("{path_text} is a Git LFS pointer, run \"git lfs pull\""),
        CsvFault::NoHeader => format!("{path_text} has no header"),
        CsvFault::RowTooLong { .. } => format!("{path_text}{} has more fields than the header", row()),
        fault => format!("{path_text}{}: {fault}", row()),
    }
}

/// The number of the first record for which `is_it` holds.
fn record_number(bytes: &[u8], is_it: impl Fn(&Record) -> bool) -> Option<u64> {
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut splitter = Splitter::starting_at(bytes, mark, 1);
    let mut cells = Vec::new();
    let mut number = 0;
    while let Some(record) = splitter.next_record(&mut cells) {
        number += 1;
        if is_it(&record) {
            return Some(number);
        }
    }
    None
}

/// All files named exactly `<Op>.csv` below a database folder, ordered by path components compared as strings.
pub fn find(database: &Path, op: &str) -> Result<Vec<PathBuf>, Error> {
    if !database.is_dir() {
        return Err(Error::NoDatabase(database.to_owned()));
    }
    Ok(perfdb_store::directory::tables_named(database, &format!("{op}.csv"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    fn operator() -> &'static Operator {
        crate::operators::find("Add").expect("Add is there")
    }

    fn reason(content: impl AsRef<[u8]>) -> Result<String, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("Add.csv");
        std::fs::write(&path, content)?;
        match read(&path, operator()) {
            Ok(_) => Err("read".into()),
            Err(error) => Ok(error.to_string().replace(&path.display().to_string(), "Add.csv")),
        }
    }

    #[test]
    fn reasons_name_the_record_not_the_line() -> TestResult {
        let header = "Input Shapes,Input Data Types,Input Formats\n";
        assert_eq!(
            reason("version https://git-lfs.github.com/spec/v1\n")?,
            "Add.csv is a Git LFS pointer, run \"git lfs pull\""
        );
        assert_eq!(reason("")?, "Add.csv has no header");
        assert_eq!(reason("Input Shapes,Input Data Types\n")?, "Add.csv lacks the column \"Input Formats\"");
        assert_eq!(reason(format!("{header}\n\"a\nb\",c,d\n1,2,3,4\n"))?, "Add.csv:3 has more fields than the header");
        assert_eq!(reason(format!("{header}1,\"2\n"))?, "Add.csv:2: unterminated quote");
        let in_a_cell = [header.as_bytes(), b"\"a\nb\",c,d\n1,\xff,3\n"].concat();
        assert_eq!(reason(in_a_cell)?, "Add.csv:3: not valid UTF-8 (at byte 56)");
        let first_of_a_record = [header.as_bytes(), b"1,2,3\n\xff,2,3\n"].concat();
        assert_eq!(reason(first_of_a_record)?, "Add.csv:3: not valid UTF-8 (at byte 50)");
        assert_eq!(reason(b"a,\xff\n")?, "Add.csv:1: not valid UTF-8 (at byte 2)");
        Ok(())
    }

    #[test]
    fn scratch_folders_and_links_are_not_entered() -> TestResult {
        let folder = tempfile::tempdir()?;
        for path in
            ["Add.csv", "a-b/Add.csv", "a/Add.csv", "reports/Add.csv", "msprof_run_x/Add.csv", "a/PROF_1/Add.csv"]
        {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().ok_or("a parent")?)?;
            std::fs::write(path, "")?;
        }
        std::os::unix::fs::symlink("a", folder.path().join("link"))?;
        let found = find(folder.path(), "Add")?;
        let names: Vec<_> =
            found.iter().map(|path| path.strip_prefix(folder.path()).map(Path::display)).collect::<Result<_, _>>()?;
        assert_eq!(names.iter().map(ToString::to_string).collect::<Vec<_>>(), ["Add.csv", "a/Add.csv", "a-b/Add.csv"]);
        assert!(matches!(find(&folder.path().join("none"), "Add"), Err(Error::NoDatabase(_))));
        Ok(())
    }
}
