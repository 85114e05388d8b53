//! A database as one value.

use crate::answer::{Hit, Miss, MissReason, Query};
use crate::communication::CommunicationRows;
use crate::question::{By, Question};
use crate::rows::KernelRows;
use crate::{attention, elementwise, inputs, interpolation};
use perfdb_files::paths::normalised;
use perfdb_store::directory::tables_in;
use perfdb_store::op_mapping::OpMapping;
use perfdb_store::{CsvFault, Error};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// A table once it was read; `None` if there is none.
type Read<T> = Result<Option<Arc<T>>, Arc<Error>>;

/// Tables by kernel type.
type Cache<T> = RwLock<FxHashMap<String, Read<T>>>;

/// A database directory. Tables are read when they are first asked for, and kept.
#[derive(Debug)]
pub struct Database {
    directory: PathBuf,
    pub(crate) mapping: OpMapping,
    tables: Cache<KernelRows>,
    communication: Cache<CommunicationRows>,
}

impl Database {
    /// Opens a directory: reads its operator mapping, and no table.
    pub fn open(directory: &Path) -> Result<Database, crate::Error> {
        if !directory.is_dir() {
            return Err(Error::io(directory, io::Error::from(io::ErrorKind::NotADirectory)).into());
        }
        let path = directory.join("op_mapping.yaml");
        let mapping = OpMapping::load(&path)?;
        Ok(Database {
            directory: directory.to_owned(),
            mapping: mapping.unwrap_or_default(),
            tables: Cache::default(),
            communication: Cache::default(),
        })
    }

    /// The kernel types that have a table, by name.
    pub fn kernel_types(&self) -> Result<impl Iterator<Item = String> + use<>, Error> {
        let stem = |path: PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Ok(tables_in(&self.directory)?.into_iter().filter_map(stem))
    }

    /// The rows of a kernel type that can answer, typed.
    pub fn rows(&self, kernel_type: &str) -> Result<Arc<KernelRows>, Error> {
        match self.table(kernel_type) {
            Ok(Some(table)) => Ok(table),
            // The reason as it stands now.
            _ => KernelRows::read(&self.path_of(kernel_type), kernel_type).map(Arc::new),
        }
    }

    /// Reads and indexes every compute table now, on all cores, instead of when it is first asked for. Tables that cannot be used are passed over;
    /// a query of theirs tells why.
    pub fn load_all(&self) -> Result<(), Error> {
        let kernel_types: Vec<String> = self.kernel_types()?.filter(|name| !name.starts_with("hcom_")).collect();
        kernel_types.par_iter().for_each(|kernel_type| {
            if let Ok(Some(table)) = self.table(kernel_type) {
                table.index();
            }
        });
        Ok(())
    }

    /// Answers a question.
    pub fn lookup(&self, query: &Query) -> Result<Hit, Miss> {
        self.answer(&Question::of(query)?)
    }

    pub(crate) fn answer(&self, question: &Question<'_>) -> Result<Hit, Miss> {
        if let By::Communication { bytes, devices, tier } = question.by {
            return self.answer_communication(&question.kernel_types, bytes, devices, tier);
        }
        let mut tables: SmallVec<[Arc<KernelRows>; 4]> = SmallVec::new();
        let mut has_primary = false;
        for (order, kernel_type) in question.kernel_types.iter().enumerate() {
            if let Some(table) = self.table(kernel_type)? {
                has_primary |= order == 0;
                tables.push(table);
            }
        }
        if tables.is_empty() {
            return Err(MissReason::CsvNotFound.into());
        }
        let exact = match question.by {
            By::Output(output) => elementwise::find(&tables, output),
            By::Attention(wanted) => attention::find(&tables, wanted),
            By::Inputs { ep_size } => inputs::find(&tables, question, ep_size),
            By::Communication { .. } => Err(MissReason::ShapeMismatch),
        };
        let reason = match exact {
            Ok(hit) => return Ok(hit),
            Err(reason) => reason,
        };
        let primary = tables.first().filter(|_| has_primary && question.interpolate);
        let interpolated = primary.and_then(|table| interpolation::between_rows(table, question).ok());
        interpolated.ok_or_else(|| Miss { reason, detail: None, nearest: inputs::nearest(&tables, question) })
    }

    fn answer_communication(
        &self,
        kernel_types: &[&str],
        bytes: i64,
        devices: i64,
        tier: Option<i64>,
    ) -> Result<Hit, Miss> {
        let mut reason = MissReason::CsvNotFound;
        for kernel_type in kernel_types {
            let read = || CommunicationRows::read(&self.path_of(kernel_type), kernel_type);
            if let Some(table) = cached(&self.communication, kernel_type, read)? {
                match table.find(bytes, devices, tier) {
                    Ok(hit) => return Ok(hit),
                    Err(found) => reason = found,
                }
            }
        }
        Err(reason.into())
    }

    fn table(&self, kernel_type: &str) -> Result<Option<Arc<KernelRows>>, Miss> {
        cached(&self.tables, kernel_type, || KernelRows::read(&self.path_of(kernel_type), kernel_type))
    }

    /// Where the table of a kernel type is: communication tables in the directory that the mapping names first.
    fn path_of(&self, kernel_type: &str) -> PathBuf {
        let name = format!("{kernel_type}.csv");
        let reference = self.mapping.communication_data_ref.as_ref().filter(|_| kernel_type.starts_with("hcom_"));
        let elsewhere = reference.map(|reference| normalised(&self.directory.join(reference)).join(&name));
        elsewhere.filter(|path| path.exists()).unwrap_or_else(|| self.directory.join(name))
    }
}

/// A table from the cache, or read and put there.
fn cached<T>(
    cache: &Cache<T>,
    kernel_type: &str,
    read: impl FnOnce() -> Result<T, Error>,
) -> Result<Option<Arc<T>>, Miss> {
    let known = cache.read().unwrap_or_else(PoisonError::into_inner).get(kernel_type).cloned();
    // Read without the lock, so that several tables can be read at once.
    let found = known.unwrap_or_else(|| {
        let found = match read() {
            Ok(table) => Ok(Some(Arc::new(table))),
            Err(Error::Files(perfdb_files::Error::Io { source, .. })) if source.kind() == io::ErrorKind::NotFound => {
                Ok(None)
            }
            // A pointer stands where no table is yet.
            Err(Error::Csv { fault: CsvFault::NoHeader, .. }) => Ok(None),
            Err(error) => Err(Arc::new(error)),
        };
        let mut known = cache.write().unwrap_or_else(PoisonError::into_inner);
        known.entry(kernel_type.to_owned()).or_insert(found).clone()
    });
    found.map_err(|error| Miss { reason: MissReason::Unreadable, detail: Some(error.to_string()), nearest: None })
}
