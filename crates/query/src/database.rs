//! A database as one value, and readers of it.

use crate::answer::{Answer, LookupError};
use crate::context::Context;
use crate::engine;
use crate::error::Error;
use crate::evaluation::{Evaluation, Slices, evaluate, slices};
use crate::explanation::Explanation;
use crate::query::Query;
use crate::semantics::{Layer, ReaderSemantics};
use crate::state::State;
use crate::table::KernelRows;
use perfdb_files::parallel::on_all_cores;
use perfdb_store::Error as StoreError;
use perfdb_store::registry::KernelClass;
use rayon::prelude::*;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// A database directory. Tables are read when they are first asked for, and kept; many threads may ask at once.
#[derive(Debug)]
pub struct Database {
    state: RwLock<Arc<State>>,
}

impl Database {
    /// Opens a directory: reads its operator mapping, and no table.
    ///
    /// # Errors
    /// When the directory cannot be listed or its mapping cannot be read.
    pub fn open(directory: impl AsRef<Path>) -> Result<Database, Error> {
        let state = State::open(directory.as_ref(), None)?;
        Ok(Database { state: RwLock::new(Arc::new(state)) })
    }

    fn state(&self) -> Arc<State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A reader: answers by these semantics from the files as they are known now; what [`reopen`](Self::reopen) finds later does not change it.
    pub fn reader(&self, semantics: ReaderSemantics, layer: Layer) -> Reader {
        Reader { state: self.state(), semantics, layer }
    }

    /// Answers by the default semantics, interpolating.
    ///
    /// # Errors
    /// The reason why there is no answer.
    pub fn lookup(&self, query: &Query) -> Result<Answer, LookupError> {
        self.reader(ReaderSemantics::default(), Layer::default()).lookup(query)
    }

    /// Looks whether files were replaced, added or removed, and forgets those that were. Whether there were any. Others may read meanwhile.
    ///
    /// # Errors
    /// As [`open`](Self::open); then all stays as it was.
    pub fn reopen(&self) -> Result<bool, Error> {
        let before = self.state();
        if !before.is_outdated() {
            return Ok(false);
        }
        let state = State::open(&before.directory, Some(&before))?;
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
        Ok(true)
    }

    /// Where the collectives of the database are, if the name of that directory tells another CANN version than that of the database
    /// does: `hccl/v8.3` beside `vllm0.18.0_torch2.9.0_cann8.5`.
    pub fn foreign_collectives(&self) -> Option<PathBuf> {
        self.state().foreign_collectives.clone()
    }

    /// The folder of collectives that the mapping refers to, where it is not there: no collective has a duration then.
    pub fn missing_collectives(&self) -> Option<PathBuf> {
        self.state().collectives_folder().filter(|folder| !folder.is_dir())
    }

    /// What the kernel of a table does: as the database says, else as its name is known.
    pub fn class(&self, kernel_type: &str) -> KernelClass {
        self.state().registry.class(kernel_type)
    }

    /// The kernel types that have a table, by name.
    pub fn kernel_types(&self) -> Vec<Arc<str>> {
        self.state().kernel_types().cloned().collect()
    }

    /// The file of a kernel type's table; `None` if there is none.
    pub fn file(&self, kernel_type: &str) -> Option<PathBuf> {
        self.state().files().find(|(name, _)| ***name == *kernel_type).map(|(_, path)| path.to_path_buf())
    }

    /// The operators of the mapping, in its order.
    pub fn operators(&self) -> Vec<String> {
        self.state().operator_names().map(str::to_owned).collect()
    }

    /// The rows of a kernel type that can answer, typed; `None` if the table is missing.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn rows(&self, kernel_type: &str) -> Result<Option<Arc<KernelRows>>, LookupError> {
        self.state().shared_rows(kernel_type)
    }

    /// How many rows of a kernel type can answer, collectives included; `None` if the table is missing.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn row_count(&self, kernel_type: &str) -> Result<Option<usize>, LookupError> {
        let state = self.state();
        let slot = state.slot(kernel_type);
        if state.registry.is_collective(kernel_type)
            && let Some(rows) = state.collective(slot)?.filter(|rows| rows.has_sizes)
        {
            return Ok(Some(rows.row_count()));
        }
        Ok(state.rows(slot)?.map(|rows| rows.iter().count()))
    }

    /// The kernel types that the mapping asks for an operator: its own first, then alternates and parts; none for an unknown operator.
    pub fn kernels_of(&self, operator: &str) -> Vec<String> {
        let state = self.state();
        let Some(operator) = state.operator(operator.trim_start_matches("torch.ops.")) else { return Vec::new() };
        let entry = &operator.entry;
        let mut names: Vec<String> = Vec::new();
        for name in entry.kernel_type.iter().chain(&entry.alternate_kernel_types).chain(&entry.sub_kernels) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// Leaves rows of a table out, predicts them from the others, and says how far that is off; `None` if the table is missing. On all cores;
    /// the same figures on any number of them.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn evaluate(&self, kernel_type: &str) -> Result<Option<Evaluation>, LookupError> {
        self.evaluate_under(kernel_type, ReaderSemantics::Best, &|_| {})
    }

    /// The same under any lookup rules. Those that predict nothing are asked for every row that is left out as for a call of its kernel; what has
    /// no answer is counted. `done` hears of the share of the work that is over, from any thread.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn evaluate_under(
        &self,
        kernel_type: &str,
        semantics: ReaderSemantics,
        done: &(dyn Fn(f64) + Sync),
    ) -> Result<Option<Evaluation>, LookupError> {
        evaluate(&self.state(), kernel_type, semantics, done)
    }

    /// The slices of a table that [`ReaderSemantics::Best`] learns from: rows that agree in everything but sizes, as places; one entry for each
    /// set of axes that rows have. `None` if the table is missing.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn slices(&self, kernel_type: &str) -> Result<Option<Vec<Slices>>, LookupError> {
        slices(&self.state(), kernel_type)
    }

    /// Reads and indexes every compute table now, on all cores, instead of when it is first asked for. Tables that cannot be used are passed over;
    /// a query of theirs tells why.
    pub fn load_all(&self) {
        let state = self.state();
        let names: Vec<&Arc<str>> = state.kernel_types().filter(|name| !state.registry.is_collective(name)).collect();
        let load = |name: &&Arc<str>| {
            if let Ok(Some(table)) = state.rows(state.slot(name)) {
                table.index();
            }
        };
        on_all_cores(|| names.par_iter().for_each(load));
    }
}

/// Answers by one semantics from one state of the files.
#[derive(Debug, Clone)]
pub struct Reader {
    state: Arc<State>,
    semantics: ReaderSemantics,
    layer: Layer,
}

impl Reader {
    /// Its lookup rules.
    pub fn semantics(&self) -> ReaderSemantics {
        self.semantics
    }

    /// The answer, or the reason why there is none.
    ///
    /// # Errors
    /// The reason.
    #[inline]
    pub fn lookup(&self, query: &Query) -> Result<Answer, LookupError> {
        engine::answer(&Context::new(&self.state, self.semantics.rules(), query, None), self.layer)
    }

    /// The answer together with everything that was tried on the way.
    pub fn explain(&self, query: &Query) -> (Result<Answer, LookupError>, Explanation) {
        let explanation = RefCell::new(Explanation::default());
        let context = Context::new(&self.state, self.semantics.rules(), query, Some(&explanation));
        context.explain_tables();
        let answer = engine::answer(&context, self.layer);
        (answer, explanation.into_inner())
    }

    pub(crate) fn context<'d>(&'d self, query: &'d Query) -> Context<'d> {
        Context::new(&self.state, self.semantics.rules(), query, None)
    }
}

impl From<StoreError> for LookupError {
    fn from(error: StoreError) -> Self {
        LookupError { reason: crate::reason::Reason::new("unreadable"), detail: Some(error.to_string()) }
    }
}
