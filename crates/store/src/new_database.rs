//! A database directory that was not there before: tables, what each of them is, and where they come from, all at once.

use crate::columns::{COMMUNICATION_DURATION, MEASURED_DURATION};
use crate::directory::check_table_name;
use crate::error::Error;
use crate::provenance::{Identity, Record, Run};
use crate::registry::{KERNEL_TABLES, TableType};
use crate::table::{LineEnd, push_csv_row};
use perfdb_files::folders::MadeFolders;
use perfdb_files::lock::{DirectoryLocks, LockOptions};
use perfdb_files::paths::within;
use perfdb_files::replace::{Parents, Staged, discard};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// What a new directory gets.
#[derive(Debug, Clone, Default)]
pub struct NewDatabase {
    /// The first line of `op_mapping.yaml`, without the mark of a comment.
    pub heading: String,
    /// The device that was measured, where it is known.
    pub device: Option<String>,
    /// Tables by kernel type.
    pub tables: BTreeMap<String, NewTable>,
    /// Which tables answer operators.
    pub operators: Vec<MappedOperator>,
    /// The bytes of `op_mapping.yaml` in place of one that is made of the above.
    pub mapping: Option<Vec<u8>>,
}

/// A table.
#[derive(Debug, Clone, Default)]
pub struct NewTable {
    /// What it holds.
    pub kind: TableType,
    /// Its columns.
    pub header: Vec<String>,
    /// Cells of each row.
    pub rows: Vec<Vec<String>>,
}

/// An operator and the tables that answer it.
#[derive(Debug, Clone, Default)]
pub struct MappedOperator {
    /// The operator: `aten.mm.default`.
    pub name: String,
    /// Kernel types, in the order in which they are asked; an operator without one costs nothing.
    pub tables: Vec<String>,
    /// Further keys of its entry with their values.
    pub more: Vec<(&'static str, String)>,
}

impl NewDatabase {
    /// Writes the directory, which is made where it is not there, under its lock: all files or none.
    ///
    /// # Errors
    /// When one of its files is there already, as nothing is replaced, or the system refuses to write.
    pub fn write(&self, directory: &Path, run: Run, lock: &LockOptions<'_>) -> Result<(), Error> {
        let made = MadeFolders::make(directory).map_err(|source| Error::io(directory, source))?;
        let locks = DirectoryLocks::acquire([directory], lock)?;
        let mut staged = Files { staged: Vec::new(), locks };
        for (name, table) in &self.tables {
            check_table_name(directory, name, name)?;
            staged.add(directory, &format!("{name}.csv"), &table.content())?;
        }
        let made_mapping = || self.mapping_text().into_bytes();
        staged.add(directory, "op_mapping.yaml", &self.mapping.clone().unwrap_or_else(made_mapping))?;
        let mut record = Record::default();
        record
            .identify(Identity { device: self.device.clone(), ..Identity::default() }.or(Identity::of_path(directory)));
        record.add(run);
        let text = record.to_text().map_err(|error| Error::input(directory, None, error.to_string()))?;
        staged.add(directory, crate::provenance::FILE_NAME, text.as_bytes())?;
        staged.commit()?;
        made.keep();
        Ok(())
    }

    fn mapping_text(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut text = format!("# {}\nversion: \"1.0\"\n", self.heading);
        if let Some(device) = &self.device {
            let _ = writeln!(text, "device: {}", quoted(device));
        }
        text.push_str("operator_mappings:");
        text.push_str(if self.operators.is_empty() { " {}\n" } else { "\n" });
        for MappedOperator { name, tables, more } in &self.operators {
            let _ = writeln!(text, "  {name}:");
            match tables.split_first() {
                None => text.push_str("    zero_cost: true\n"),
                Some((first, others)) => {
                    let _ = writeln!(text, "    kernel_type: {first}");
                    more.iter().for_each(|(key, value)| {
                        let _ = writeln!(text, "    {key}: {value}");
                    });
                    if !others.is_empty() {
                        let _ = writeln!(text, "    alternate_kernel_types: [{}]", others.join(", "));
                    }
                }
            }
        }
        let _ = writeln!(text, "{KERNEL_TABLES}:");
        for (name, table) in &self.tables {
            let _ = writeln!(text, "  {name}: {}", table.kind.description());
        }
        text
    }
}

impl NewTable {
    fn content(&self) -> Vec<u8> {
        debug_assert!(self.header.iter().any(|name| name == MEASURED_DURATION || name == COMMUNICATION_DURATION));
        let mut content = Vec::new();
        push_csv_row(&mut content, self.header.iter().map(String::as_str), LineEnd::CrLf);
        for row in &self.rows {
            push_csv_row(&mut content, row.iter().map(String::as_str), LineEnd::CrLf);
        }
        content
    }
}

/// The files that a directory will have, and its lock.
struct Files {
    staged: Vec<Staged>,
    locks: DirectoryLocks,
}

impl Files {
    fn add(&mut self, directory: &Path, name: &str, content: &[u8]) -> Result<(), Error> {
        let path = within(directory, name);
        if path.symlink_metadata().is_ok() {
            let reason = "is there already, and nothing is replaced; name another folder";
            return Err(Error::input(path, None, reason));
        }
        self.staged.push(Staged::description(&path, Parents::MustExist)?.filled(content)?);
        Ok(())
    }

    fn commit(mut self) -> Result<(), Error> {
        Ok(self.locks.commit(std::mem::take(&mut self.staged))?)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        discard(std::mem::take(&mut self.staged));
    }
}
