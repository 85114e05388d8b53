//! Runs pairs on several workers, each trace read once while it is needed.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use perfdb_files::parallel::{OrderedMap, join, states};

use super::list::PairSpec;
use crate::error::Error;
use crate::load::LoadOptions;
use crate::trace::Trace;

/// The traces of a pair.
#[derive(Debug, Clone)]
pub struct LoadedPair {
    /// Trace 1 and trace 2.
    pub traces: [Arc<Trace>; 2],
}

/// Why the traces of a pair cannot be had.
type Loaded = Result<Arc<Trace>, Arc<Error>>;

/// A trace that some pairs need.
struct Slot {
    loaded: Mutex<Option<Loaded>>,
    users: AtomicUsize,
}

/// Path, and whether stacks are read.
type Key = (PathBuf, bool);

/// Runs `work` for every pair on `jobs` workers, and hands its results to `done` on the calling thread in list order.
///
/// `work` gets the number of the pair and its traces, or the errors of those that cannot be read.
pub fn run_pairs<T: Send>(
    pairs: &[PairSpec],
    jobs: usize,
    options: &LoadOptions,
    work: impl Fn(usize, Result<LoadedPair, Vec<Arc<Error>>>) -> T + Sync,
    mut done: impl FnMut(usize, T),
) {
    let mut slots: BTreeMap<Key, Slot> = BTreeMap::new();
    for key in pairs.iter().flat_map(|pair| keys(pair, options)) {
        let slot = slots.entry(key).or_insert_with(|| Slot { loaded: Mutex::new(None), users: AtomicUsize::new(0) });
        *slot.users.get_mut() += 1;
    }
    let mut numbers = 0..pairs.len();
    let next = || Ok::<_, Infallible>(numbers.next().and_then(|at| Some((at, pairs.get(at)?))));
    let run = |(): &mut (), (at, pair): (usize, &PairSpec)| {
        let result = work(at, load(pair, &slots, options));
        for key in keys(pair, options) {
            release(slots.get(&key));
        }
        (at, result)
    };
    let merge = |(at, result)| {
        done(at, result);
        Ok(ControlFlow::Continue(()))
    };
    // Results are small beside traces: no worker waits behind a pair that takes long.
    let mut workers = states(jobs.min(pairs.len()), || ());
    let Ok(()) = OrderedMap::new(&mut workers).tasks_ahead(pairs.len()).run(next, run, merge);
}

fn keys(pair: &PairSpec, options: &LoadOptions) -> [Key; 2] {
    let stacks = options.stacks && !pair.settings.no_stacks.unwrap_or(false);
    pair.paths.clone().map(|path| (path, stacks))
}

/// Loads both traces of a pair, at the same time.
fn load(pair: &PairSpec, slots: &BTreeMap<Key, Slot>, options: &LoadOptions) -> Result<LoadedPair, Vec<Arc<Error>>> {
    let keys = keys(pair, options);
    let one = |key: &Key| slots.get(key).map(|slot| slot.get(key, options));
    let (first, second) = if keys[0] == keys[1] {
        let trace = one(&keys[0]);
        (trace.clone(), trace)
    } else {
        join(|| one(&keys[0]), || one(&keys[1]))
    };
    match (first, second) {
        (Some(Ok(first)), Some(Ok(second))) => Ok(LoadedPair { traces: [first, second] }),
        (first, second) => {
            let mut errors: Vec<Arc<Error>> = [first, second].into_iter().flatten().filter_map(Result::err).collect();
            // The same file twice is one error.
            errors.dedup_by(|a, b| Arc::ptr_eq(a, b));
            Err(errors)
        }
    }
}

fn release(slot: Option<&Slot>) {
    if let Some(slot) = slot
        && slot.users.fetch_sub(1, Ordering::AcqRel) == 1
    {
        *slot.loaded.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Slot {
    /// The trace; whoever comes first reads it, the others wait.
    fn get(&self, (path, stacks): &Key, options: &LoadOptions) -> Loaded {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded
            .get_or_insert_with(|| {
                let options = LoadOptions { stacks: *stacks, ..options.clone() };
                Trace::open(path, &options).map(Arc::new).map_err(Arc::new)
            })
            .clone()
    }
}
