//! A database that is compared or merged.

use crate::versions::Error;
use perfdb_files::paths::normalised;
use perfdb_store::directory::tables_in;
use perfdb_store::op_mapping::OpMapping;
use perfdb_store::provenance::Statement;
use perfdb_store::registry::is_collective;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A database: its directory, what it states about itself, and its tables by kernel type.
#[derive(Debug, Clone)]
pub struct Place {
    /// The directory, as it was given.
    pub directory: PathBuf,
    /// Where its rows are said to be from: the directory, or what it was made of.
    pub(crate) name: PathBuf,
    /// What it is of.
    pub statement: Statement,
    /// Its operator mapping; empty without one.
    pub(crate) mapping: OpMapping,
    pub(crate) tables: BTreeMap<String, PathBuf>,
}

impl Place {
    /// Looks what is in a directory. No table is read yet.
    ///
    /// # Errors
    /// When the directory cannot be read, has no table, or its `op_mapping.yaml` or `database.toml` cannot be used.
    pub fn open(directory: &Path) -> Result<Place, Error> {
        let place = Place::open_any(directory)?;
        if place.tables.is_empty() {
            return Err(Error::NoTables { path: directory.to_owned() });
        }
        Ok(place)
    }

    /// As [`open`](Self::open), also where the directory is empty: a database is going to be there.
    pub(crate) fn open_target(directory: &Path) -> Result<Place, Error> {
        let place = Place::open_any(directory)?;
        let io = |error| perfdb_files::Error::io(directory, error);
        let is_visible = |name: &std::ffi::OsStr| !name.to_string_lossy().starts_with('.');
        let mut entries = std::fs::read_dir(directory).map_err(io)?.filter_map(Result::ok);
        if place.tables.is_empty() && entries.any(|entry| is_visible(&entry.file_name())) {
            return Err(Error::NoTables { path: directory.to_owned() });
        }
        Ok(place)
    }

    fn open_any(directory: &Path) -> Result<Place, Error> {
        let tables = by_kernel_type(tables_in(directory)?);
        let mapping = OpMapping::load(&directory.join("op_mapping.yaml"))?.unwrap_or_default();
        let statement = Statement::of(directory, &mapping)?;
        Ok(Place { directory: directory.to_owned(), name: directory.to_owned(), statement, mapping, tables })
    }

    /// The folder of collectives that the operator mapping refers to.
    pub(crate) fn collectives_folder(&self) -> Option<PathBuf> {
        self.mapping.communication_data_ref.as_ref().map(|reference| normalised(&self.directory.join(reference)))
    }

    /// The collectives that lookups take from another folder, as a place of their own; `None` where there are none.
    pub(crate) fn collectives(&self) -> Result<Option<Place>, Error> {
        let Some(folder) = self.collectives_folder().filter(|folder| folder.is_dir() && *folder != self.directory)
        else {
            return Ok(None);
        };
        let mut tables = by_kernel_type(tables_in(&folder)?);
        tables.retain(|name, _| is_collective(name));
        Ok((!tables.is_empty()).then(|| Place { name: folder.clone(), directory: folder, tables, ..self.clone() }))
    }

    /// Takes in the communication tables that the operator mapping refers to, where they lie elsewhere.
    ///
    /// # Errors
    /// When their directory cannot be read.
    pub fn with_collectives(mut self) -> Result<Place, Error> {
        if let Some(elsewhere) = self.collectives()? {
            self.tables.extend(elsewhere.tables);
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
        if real(self).is_some() && real(self) == real(other) {
            Err(Error::SameDatabase { first: self.directory.clone(), second: other.directory.clone() })
        } else {
            Ok(())
        }
    }
}

fn by_kernel_type(paths: Vec<PathBuf>) -> BTreeMap<String, PathBuf> {
    let name = |path: &PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    paths.into_iter().map(|path| (name(&path), path)).collect()
}
