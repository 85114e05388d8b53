//! A database that is compared or merged.

use crate::Error;
use perfdb_files::paths::normalised;
use perfdb_provenance::Statement;
use perfdb_store::directory::tables_in;
use perfdb_store::op_mapping::OpMapping;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A database: its directory, what it states about itself, and its tables by kernel type.
#[derive(Debug, Clone)]
pub struct Place {
    /// The directory, as it was given.
    pub directory: PathBuf,
    /// What it is of.
    pub statement: Statement,
    /// Its operator mapping; one that cannot be read is as good as none.
    pub(crate) mapping: OpMapping,
    pub(crate) tables: BTreeMap<String, PathBuf>,
}

impl Place {
    /// Looks what is in a directory. No table is read yet.
    ///
    /// # Errors
    /// When the directory cannot be read, has no table, or its `database.toml` cannot be used.
    pub fn open(directory: &Path) -> Result<Place, Error> {
        let tables = by_kernel_type(tables_in(directory)?);
        if tables.is_empty() {
            return Err(Error::NoTables { path: directory.to_owned() });
        }
        let mapping = OpMapping::load(&directory.join("op_mapping.yaml")).ok().flatten().unwrap_or_default();
        let statement = Statement::of(directory, &mapping)?;
        Ok(Place { directory: directory.to_owned(), statement, mapping, tables })
    }

    /// Takes in the communication tables that the operator mapping refers to, where they lie elsewhere.
    ///
    /// # Errors
    /// When their directory cannot be read.
    pub fn with_collectives(mut self) -> Result<Place, Error> {
        let Some(reference) = &self.mapping.communication_data_ref else { return Ok(self) };
        let folder = normalised(&self.directory.join(reference));
        if folder.is_dir() {
            let found = by_kernel_type(tables_in(&folder)?);
            for (kernel_type, path) in found.into_iter().filter(|(name, _)| name.starts_with("hcom_")) {
                self.tables.entry(kernel_type).or_insert(path);
            }
        }
        Ok(self)
    }

    /// The tables, by kernel type.
    pub fn tables(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.tables.iter().map(|(name, path)| (name.as_str(), path.as_path()))
    }

    /// Refuses two places that are one directory.
    ///
    /// # Errors
    /// When they are.
    pub fn check_other_than(&self, other: &Place) -> Result<(), Error> {
        let real = |place: &Place| std::fs::canonicalize(&place.directory).ok();
        match real(self).is_some() && real(self) == real(other) {
            true => Err(Error::SameDatabase { first: self.directory.clone(), second: other.directory.clone() }),
            false => Ok(()),
        }
    }
}

fn by_kernel_type(paths: Vec<PathBuf>) -> BTreeMap<String, PathBuf> {
    let name = |path: &PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    paths.into_iter().map(|path| (name(&path), path)).collect()
}
