//! Collectives that a database takes from another folder.

use super::MAPPING;
use crate::directory::tables_in;
use crate::op_mapping::{OpMapping, with_collectives_in};
use crate::parquet::error::Error;
use crate::registry::is_collective;
use perfdb_files::input::{self, Kind, LARGEST_TEXT_BYTES};
use perfdb_files::paths::{normalised, within};
use std::fs;
use std::path::{Path, PathBuf};

/// The tables of collectives outside a database, and its mapping as it refers to them in a copy. Empty where it takes none from elsewhere.
#[derive(Debug, Default)]
pub(super) struct Collectives {
    /// Where they lie.
    pub(super) folder: Option<PathBuf>,
    /// The folder's name in a copy of the database.
    pub(super) name: String,
    /// Their tables.
    pub(super) tables: Vec<PathBuf>,
    /// The operator mapping of a copy.
    pub(super) mapping: Option<Vec<u8>>,
    /// The folder that the mapping refers to and that is not there.
    pub(super) missing: Option<PathBuf>,
}

impl Collectives {
    /// Those of a database. A mapping that cannot be used refers to none: it is copied as it is.
    pub(super) fn of(database: &Path) -> Result<Collectives, Error> {
        let path = within(database, MAPPING);
        let reference = OpMapping::load(&path).ok().flatten().and_then(|mapping| mapping.communication_data_ref);
        let Some(reference) = reference else { return Ok(Collectives::default()) };
        let folder = normalised(&database.join(&reference));
        if !folder.is_dir() {
            return Ok(Collectives { missing: Some(folder), ..Collectives::default() });
        }
        if let (Ok(own), Ok(other)) = (fs::canonicalize(database), fs::canonicalize(&folder))
            && other.starts_with(own)
        {
            return Ok(Collectives::default());
        }
        let mut tables = tables_in(&folder)?;
        tables.retain(|table| table.file_name().is_some_and(|name| is_collective(&name.to_string_lossy())));
        if tables.is_empty() {
            return Ok(Collectives::default());
        }
        let mut names = std::iter::once("hccl".to_owned()).chain((2..).map(|number| format!("hccl_{number}")));
        let name = names.find(|name| fs::symlink_metadata(within(database, name)).is_err()).unwrap_or_default();
        let text =
            input::read(&path, Kind::RegularFile, LARGEST_TEXT_BYTES).map_err(|source| Error::io(&path, source))?;
        let no_line =
            "communication_data_ref is not written on a line of its own; write it so, or copy the collectives by hand";
        let mapping = with_collectives_in(&text, &name).ok_or_else(|| Error::unfit(&path, no_line))?;
        Ok(Collectives { folder: Some(folder), name, tables, mapping: Some(mapping), missing: None })
    }
}
