//! What is known of a database at one time: its mapping, and its tables once they were read.

use crate::answer::{Answer, LookupError, RowRef};
use crate::error::Error;
use crate::foreign::foreign_collectives;
use crate::reason::Reason;
use crate::table::KernelRows;
use crate::table::collective::CollectiveRows;
use crate::table::policy::KernelPolicy;
use perfdb_files::paths::{normalised, parent_of};
use perfdb_model::roofline::Device;
use perfdb_store::directory::tables_in;
use perfdb_store::op_mapping::{Entry, OpMapping};
use perfdb_store::registry::{KernelClass, Registry, TableType};
use perfdb_store::{CsvFault, Error as StoreError};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// A table once it was read; `None` if there is none.
type Read<T> = OnceLock<Result<Option<Arc<T>>, Arc<StoreError>>>;

/// What is known at one time.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) directory: PathBuf,
    pub(crate) mapping: OpMapping,
    /// What the tables are.
    pub(crate) registry: Registry,
    mapping_stamp: Option<Stamp>,
    operators: FxHashMap<Box<str>, Operator>,
    slots: Vec<Slot>,
    by_name: FxHashMap<Arc<str>, u32>,
    /// The accelerator, where the mapping names one that is known.
    pub(crate) device: Option<&'static Device>,
    /// Where collectives are that were measured with another version.
    pub(crate) foreign_collectives: Option<PathBuf>,
}

/// An operator and where the tables of its kernels are.
#[derive(Debug, Clone)]
pub(crate) struct Operator {
    pub(crate) entry: Entry,
    /// Where the table of its own kernel type is.
    pub(crate) own_slot: Option<u32>,
    slots: SmallVec<[u32; 4]>,
    names: SmallVec<[Arc<str>; 4]>,
}

impl Operator {
    #[inline]
    pub(crate) fn slot(&self, name: &str) -> Option<u32> {
        let at = self.names.iter().position(|own| &**own == name)?;
        self.slots.get(at).copied()
    }
}

/// A file that may hold a table.
#[derive(Debug, Clone)]
struct Slot {
    kernel_type: Arc<str>,
    path: Arc<Path>,
    kind: TableType,
    policy: KernelPolicy,
    stamp: Option<Stamp>,
    rows: Read<KernelRows>,
    collective: Read<CollectiveRows>,
}

/// What changes when a file is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    inode: (u64, u64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Stamp> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Stamp {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            inode: {
                use std::os::unix::fs::MetadataExt;
                (metadata.dev(), metadata.ino())
            },
        })
    }
}

impl State {
    /// Reads the mapping and lists the tables; what did not change since `before` is taken over.
    pub(crate) fn open(directory: &Path, before: Option<&State>) -> Result<State, Error> {
        if !directory.is_dir() {
            return Err(StoreError::io(directory, io::Error::from(io::ErrorKind::NotADirectory)).into());
        }
        let path = directory.join("op_mapping.yaml");
        let mapping_stamp = Stamp::of(&path);
        let known = before.filter(|before| mapping_stamp.is_some() && before.mapping_stamp == mapping_stamp);
        let mapping = match known {
            Some(before) => before.mapping.clone(),
            None => OpMapping::load(&path)?.unwrap_or_default(),
        };
        let registry = Registry::of_mapping(&mapping)
            .map_err(|fault| Error::Registry { path: path.clone(), fault: Box::new(fault) })?;
        let mut files: FxHashMap<String, PathBuf> = FxHashMap::default();
        for path in tables_in(directory)? {
            if let Some(stem) = path.file_stem() {
                files.insert(stem.to_string_lossy().into_owned(), path);
            }
        }
        if let Some(reference) = &mapping.communication_data_ref {
            let elsewhere = normalised(&directory.join(reference));
            for path in tables_if_there(&elsewhere)? {
                if let Some(stem) = path.file_stem().map(|stem| stem.to_string_lossy().into_owned())
                    && registry.is_collective(&stem)
                {
                    files.insert(stem, path);
                }
            }
        }
        let mut files: Vec<(String, PathBuf)> = files.into_iter().collect();
        files.sort();
        let slots: Vec<Slot> =
            files.into_iter().map(|(name, path)| Slot::new(&name, path, &mapping, &registry, before)).collect();
        let by_name: FxHashMap<Arc<str>, u32> =
            slots.iter().enumerate().map(|(at, slot)| (slot.kernel_type.clone(), at as u32)).collect();
        let operators = operators(&mapping, &by_name);
        let foreign_collectives = foreign_collectives(directory, &mapping);
        let directory = directory.to_owned();
        let device = mapping.device.as_deref().and_then(Device::recognise);
        Ok(State {
            device,
            directory,
            mapping,
            registry,
            mapping_stamp,
            operators,
            slots,
            by_name,
            foreign_collectives,
        })
    }

    /// The same with other rows in the place of one table.
    pub(crate) fn with_rows(&self, slot: u32, rows: KernelRows) -> State {
        let mut state = self.clone();
        if let Some(slot) = state.slots.get_mut(slot as usize) {
            slot.rows = OnceLock::from(Ok(Some(Arc::new(rows))));
        }
        state
    }

    /// Whether files were replaced, added or removed.
    pub(crate) fn is_outdated(&self) -> bool {
        let count = |directory: &Path| tables_in(directory).map(|tables| tables.len()).unwrap_or(0);
        let elsewhere = self.collectives_folder();
        let own = self.slots.iter().filter(|slot| parent_of(&slot.path) == self.directory).count();
        Stamp::of(&self.directory.join("op_mapping.yaml")) != self.mapping_stamp
            || self.slots.iter().any(|slot| Stamp::of(&slot.path) != slot.stamp)
            || own > count(&self.directory)
            || elsewhere.is_none() && own != count(&self.directory)
            || elsewhere.is_some_and(|elsewhere| self.has_new_files(&elsewhere))
            || self.has_new_files(&self.directory)
    }

    /// The folder of collectives that the mapping refers to.
    pub(crate) fn collectives_folder(&self) -> Option<PathBuf> {
        self.mapping.communication_data_ref.as_ref().map(|reference| normalised(&self.directory.join(reference)))
    }

    /// Whether an answer is based on a row that was measured with another version than the database.
    pub(crate) fn is_of_other_version(&self, answer: &Answer) -> bool {
        let is_foreign = |row: &RowRef| parent_of(&row.path) != self.directory;
        self.foreign_collectives.is_some() && answer.rows.iter().any(is_foreign)
    }

    fn has_new_files(&self, directory: &Path) -> bool {
        let Ok(tables) = tables_in(directory) else { return false };
        tables
            .iter()
            .filter_map(|path| path.file_stem())
            .any(|stem| !self.by_name.contains_key(&*stem.to_string_lossy()))
    }

    #[inline]
    pub(crate) fn operator(&self, name: &str) -> Option<&Operator> {
        self.operators.get(name)
    }

    /// The operators of the mapping.
    pub(crate) fn operator_names(&self) -> impl Iterator<Item = &str> {
        self.mapping.operator_mappings.iter().flatten().map(|(name, _)| name.as_str())
    }

    #[inline]
    pub(crate) fn slot(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// A name, shared if there is a table of it.
    pub(crate) fn name(&self, name: &str) -> Arc<str> {
        self.by_name.get_key_value(name).map_or_else(|| name.into(), |(name, _)| name.clone())
    }

    /// The tables: kernel type and file.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<Path>)> {
        self.slots.iter().map(|slot| (&slot.kernel_type, &slot.path))
    }

    /// The kernel types that have a table, by name.
    pub(crate) fn kernel_types(&self) -> impl Iterator<Item = &Arc<str>> {
        self.slots.iter().map(|slot| &slot.kernel_type)
    }

    /// What the kernel of a table does.
    #[inline]
    pub(crate) fn class(&self, slot: u32) -> Option<KernelClass> {
        self.slots.get(slot as usize).map(|slot| slot.kind.class)
    }

    #[inline]
    pub(crate) fn rows(&self, slot: Option<u32>) -> Result<Option<&KernelRows>, LookupError> {
        let Some(slot) = slot.and_then(|slot| self.slots.get(slot as usize)) else { return Ok(None) };
        let read = slot.rows.get_or_init(|| {
            read(|| {
                KernelRows::read(slot.path.clone(), slot.kernel_type.clone(), slot.kind.clone(), slot.policy.clone())
            })
        });
        read.as_ref().map(|table| table.as_deref()).map_err(unreadable)
    }

    /// The rows of a table, shared.
    pub(crate) fn shared_rows(&self, name: &str) -> Result<Option<Arc<KernelRows>>, LookupError> {
        let slot = self.slot(name);
        self.rows(slot)?;
        let slot = slot.and_then(|slot| self.slots.get(slot as usize));
        Ok(slot.and_then(|slot| slot.rows.get()?.as_ref().ok()?.clone()))
    }

    pub(crate) fn collective(&self, slot: Option<u32>) -> Result<Option<&CollectiveRows>, LookupError> {
        let Some(slot) = slot.and_then(|slot| self.slots.get(slot as usize)) else { return Ok(None) };
        let read =
            slot.collective.get_or_init(|| read(|| CollectiveRows::read(slot.path.clone(), slot.kernel_type.clone())));
        read.as_ref().map(|table| table.as_deref()).map_err(unreadable)
    }
}

impl Slot {
    fn new(name: &str, path: PathBuf, mapping: &OpMapping, registry: &Registry, before: Option<&State>) -> Slot {
        let (policy, kind) = (KernelPolicy::of(mapping, name), registry.table(name));
        let stamp = Stamp::of(&path);
        let same = before.and_then(|before| before.slots.get(before.slot(name)? as usize)).filter(|before| {
            stamp.is_some()
                && before.stamp == stamp
                && (&before.policy, &before.kind) == (&policy, &kind)
                && *before.path == *path
        });
        Slot {
            kernel_type: same.map_or_else(|| name.into(), |same| same.kernel_type.clone()),
            path: same.map_or_else(|| path.into(), |same| same.path.clone()),
            kind,
            policy,
            stamp,
            rows: same.map(|same| same.rows.clone()).unwrap_or_default(),
            collective: same.map(|same| same.collective.clone()).unwrap_or_default(),
        }
    }
}

fn operators(mapping: &OpMapping, by_name: &FxHashMap<Arc<str>, u32>) -> FxHashMap<Box<str>, Operator> {
    let operator = |entry: &Entry| {
        let names = entry.kernel_type.iter().chain(&entry.alternate_kernel_types).chain(&entry.sub_kernels);
        let known = names.filter_map(|name| by_name.get_key_value(name.as_str()));
        let (names, slots) = known.map(|(name, slot)| (name.clone(), *slot)).unzip::<_, _, SmallVec<_>, SmallVec<_>>();
        let own_slot = entry.kernel_type.as_deref().and_then(|name| by_name.get(name).copied());
        Operator { entry: entry.clone(), own_slot, slots, names }
    };
    let entries = mapping.operator_mappings.iter().flatten().filter(|(_, entry)| !entry.is_empty());
    entries.map(|(name, entry)| (name.trim_start_matches("torch.ops.").into(), operator(entry))).collect()
}

/// The tables of a folder that may be missing. Any other reason why it cannot be listed is an error.
fn tables_if_there(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    match tables_in(folder) {
        Err(StoreError::Files(perfdb_files::Error::Io { source, .. }))
            if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(Vec::new())
        }
        listed => listed,
    }
}

/// A table, or nothing where no table is yet.
fn read<T>(read: impl FnOnce() -> Result<T, StoreError>) -> Result<Option<Arc<T>>, Arc<StoreError>> {
    match read() {
        Ok(table) => Ok(Some(Arc::new(table))),
        Err(StoreError::Files(perfdb_files::Error::Io { source, .. })) if source.kind() == io::ErrorKind::NotFound => {
            Ok(None)
        }
        // A pointer stands where no table is yet.
        Err(StoreError::Csv { fault: CsvFault::NoHeader, .. }) => Ok(None),
        Err(error) => Err(Arc::new(error)),
    }
}

fn unreadable(error: &Arc<StoreError>) -> LookupError {
    LookupError { reason: Reason::new("unreadable"), detail: Some(error.to_string()) }
}
