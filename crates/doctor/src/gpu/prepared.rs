//! A GPU trace, ready for the rules: who launched what, and in which order things ran.

use perfdb_files::parallel::AtOnce;
use perfdb_trace::id::Id;
use perfdb_trace::id_index::IdIndex;
use perfdb_trace::names::NameId;
use perfdb_trace::packed::Span;
use perfdb_trace::profile::CallName;
use perfdb_trace::time::{MICROSECOND, Picoseconds};

use super::columns::{Columns, Row, RowKind};
use super::device::DeviceMembers;

/// No launch.
const NONE: u32 = u32::MAX;

/// A trace and what follows from it.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) columns: Columns,
    pub(crate) members: DeviceMembers,
    /// The first call with each correlation.
    calls: IdIndex,
    /// Index of the launch of each row, or [`NONE`].
    launches: Vec<u32>,
    /// Rows that are kernels, in file order.
    pub(crate) kernels: Vec<u32>,
    /// Kernels by (stream, start, file order).
    pub(crate) by_stream: Vec<u32>,
    /// Kernels that are equal to an earlier row; ascending.
    pub(crate) copies: Vec<u32>,
    /// Rows by (start, file order), where that is not the file order.
    by_start: Option<Vec<u32>>,
    /// The facts about each distinct name.
    names: Vec<NameFacts>,
    /// Sum of the durations of all kernels.
    pub(crate) kernel_time: Picoseconds,
    /// How far off a clock may be.
    pub(crate) tolerance: Picoseconds,
    pub(crate) integer_clock: bool,
    pub(crate) amd: bool,
}

/// What follows from the name of a call or kernel.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NameFacts {
    /// Where it is that of a call.
    pub(crate) call: CallName,
    /// A kernel that communicates.
    pub(crate) collective: bool,
}

impl NameFacts {
    pub(crate) fn of(name: &str) -> NameFacts {
        let call = CallName::of(name);
        let name = name.to_lowercase();
        const WORDS: [&str; 5] = ["nccl", "rccl", "dpsk::ep", "cross_device", "multimem"];
        // A compiler names what it fused after all operators around it, collectives too, which it does not run.
        const FUSED: [&str; 3] = ["triton_poi_fused", "triton_red_fused", "triton_per_fused"];
        let is_fused = FUSED.iter().any(|start| name.starts_with(start));
        let collective = !is_fused && (WORDS.iter().any(|word| name.contains(word)) || names_collective(&name));
        NameFacts { call, collective }
    }
}

/// Whether one of the collectives' names stands there with at most one underscore between its words.
fn names_collective(name: &str) -> bool {
    const WORDS: [(&str, &str); 4] = [("all", "reduce"), ("all", "gather"), ("reduce", "scatter"), ("deep", "ep")];
    let follows = |rest: &str, word: &str| rest.strip_prefix('_').unwrap_or(rest).starts_with(word);
    let pair = |(first, second): (&str, &str)| {
        name.match_indices(first).any(|(at, _)| follows(&name[at + first.len()..], second))
    };
    let all_to_all = name.match_indices("all").any(|(at, _)| {
        let rest = &name[at + 3..];
        let rest = rest.strip_prefix('_').unwrap_or(rest);
        rest.strip_prefix("to").is_some_and(|rest| follows(rest, "all"))
    });
    all_to_all || WORDS.into_iter().any(pair)
}

impl Prepared {
    pub(crate) fn new(mut columns: Columns, members: DeviceMembers) -> Prepared {
        columns.names.finish();
        let rows = &columns;
        let is_kernel = |at: &u32| rows.row(*at as usize).kind == RowKind::Kernel;
        let mut kernels: Vec<u32> = Vec::with_capacity(rows.row_count());
        kernels.extend((0..rows.row_count() as u32).filter(is_kernel));
        let at_once = AtOnce::of(rows.row_count());
        let sorted = || {
            let by_stream = by_stream(rows, &kernels, columns.streams.keys().len());
            let by_start = by_start(rows);
            (by_stream, copies(rows, by_start.as_deref()), by_start)
        };
        let ((by_stream, copies, by_start), calls) =
            at_once.both(sorted, || IdIndex::first(columns.calls().map(|call| call.id).zip(0..)));
        let launches = launches(rows, &calls, at_once);
        let names: Vec<NameFacts> =
            (0..columns.names.len()).map(|name| NameFacts::of(columns.names.get(name as NameId))).collect();
        let hip = columns.calls().take(1000).any(|call| columns.names.get(call.name).starts_with("hip"));
        let integer_clock = columns.has_times && !columns.has_fractions;
        Prepared {
            calls,
            launches,
            copies,
            by_start,
            kernel_time: kernels.iter().map(|at| rows.row(*at as usize).time()).sum(),
            kernels,
            by_stream,
            names,
            tolerance: if integer_clock { 2 * MICROSECOND } else { MICROSECOND },
            integer_clock,
            amd: members.is_amd() || hip,
            columns,
            members,
        }
    }

    #[inline(always)]
    pub(crate) fn row(&self, at: u32) -> Row {
        self.columns.row(at as usize)
    }

    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = Row> + Clone + '_ {
        self.columns.rows()
    }

    /// All rows by (start, file order).
    pub(crate) fn by_start(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.rows().len()).map(|place| self.by_start.as_ref().map_or(place as u32, |order| order[place]))
    }

    pub(crate) fn name(&self, id: NameId) -> &str {
        self.columns.names.get(id)
    }

    pub(crate) fn facts(&self, name: NameId) -> NameFacts {
        self.names.get(name as usize).copied().unwrap_or_default()
    }

    /// Number of distinct names.
    pub(crate) fn name_count(&self) -> usize {
        self.names.len()
    }

    /// Index of the launch of a row.
    pub(crate) fn launch_index(&self, at: u32) -> Option<u32> {
        self.launches.get(at as usize).copied().filter(|launch| *launch != NONE)
    }

    /// The launch of a row.
    #[inline(always)]
    pub(crate) fn launch(&self, at: u32) -> Option<Span> {
        Some(self.columns.call(self.launch_index(at)? as usize))
    }

    /// Index of the first call with a correlation.
    pub(crate) fn call_with(&self, correlation: Id) -> Option<u32> {
        self.calls.get(correlation)
    }

    /// Whether a row was launched as part of a graph.
    pub(crate) fn of_graph(&self, at: u32) -> bool {
        self.launch(at).is_some_and(|launch| self.facts(launch.name).call.graph)
    }

    /// The kernels, in file order.
    pub(crate) fn kernel_rows(&self) -> impl Iterator<Item = (u32, Row)> + '_ {
        self.kernels.iter().map(|at| (*at, self.row(*at)))
    }

    /// Position of a kernel among the kernels.
    pub(crate) fn kernel_number(&self, at: u32) -> u32 {
        self.kernels.partition_point(|kernel| *kernel < at) as u32
    }

    /// Share of the kernel time.
    pub(crate) fn share(&self, time: Picoseconds) -> f64 {
        crate::finding::share(time, self.kernel_time)
    }

    /// Share that this many kernels of average length have, at most all.
    pub(crate) fn share_of_kernels(&self, count: usize) -> f64 {
        if self.kernels.is_empty() { 0.0 } else { (count as f64 / self.kernels.len() as f64).min(1.0) }
    }

    /// `In msg nelems` of the rows that have it.
    pub(crate) fn elements(&self, at: u32) -> Id {
        let elements = &self.columns.elements;
        let found = elements.binary_search_by_key(&at, |(row, _)| *row).ok();
        found.map_or(Id::MISSING, |found| elements[found].1)
    }
}

/// The first call with the correlation of each row, or [`NONE`]. Neighbours share it often.
fn launches(columns: &Columns, calls: &IdIndex, at_once: AtOnce) -> Vec<u32> {
    at_once.halves(columns.row_count(), |rows| {
        let mut last = (Id::MISSING, NONE);
        let launch = |at| {
            let correlation = columns.row(at).correlation;
            if correlation != last.0 {
                last = (correlation, calls.get(correlation).unwrap_or(NONE));
            }
            last.1
        };
        rows.map(launch).collect()
    })
}

/// Kernels by (stream, start, file order): dealt out to their streams, on which they mostly stand by start already.
fn by_stream(rows: &Columns, kernels: &[u32], streams: usize) -> Vec<u32> {
    let stream = |at: &u32| rows.row(*at as usize).stream as usize;
    let mut next = vec![0; streams + 1];
    kernels.iter().for_each(|at| next[stream(at) + 1] += 1);
    (0..streams).for_each(|stream| next[stream + 1] += next[stream]);
    let mut dealt = vec![0; kernels.len()];
    for at in kernels {
        let next = &mut next[stream(at)];
        dealt[*next] = *at;
        *next += 1;
    }
    let place = |at: &u32| (rows.row(*at as usize).start, *at);
    for of_stream in dealt.chunk_by_mut(|a, b| stream(a) == stream(b)) {
        if !of_stream.is_sorted_by_key(place) {
            of_stream.sort_unstable_by_key(place);
        }
    }
    dealt
}

/// Rows by (start, file order); nothing where that is the file order.
fn by_start(rows: &Columns) -> Option<Vec<u32>> {
    if rows.rows().is_sorted_by_key(|row| row.start) {
        return None;
    }
    let mut order: Vec<u32> = (0..rows.row_count() as u32).collect();
    // Mostly it is a few runs that are in order, such as kernels and copies of a profile: these are merged.
    order.sort_by_key(|at| rows.row(*at as usize).start);
    Some(order)
}

/// Rows equal in start, duration, name, device, stream and correlation to an earlier one; `order` has them by start where that is
/// not the file order.
fn copies(rows: &Columns, order: Option<&[u32]>) -> Vec<u32> {
    let key = |at: &u32| {
        let row = rows.row(*at as usize);
        (row.stream, row.duration, row.name, row.correlation)
    };
    let row = |place: usize| order.map_or(place as u32, |order| order[place]);
    let start = |place: usize| rows.row(row(place) as usize).start;
    let mut copies: Vec<u32> = Vec::new();
    let mut together: Vec<u32> = Vec::new();
    let mut place = 0;
    while place < rows.row_count() {
        let from = place;
        while place < rows.row_count() && start(place) == start(from) {
            place += 1;
        }
        // Few start at one time.
        if place - from > 1 {
            together.clear();
            together.extend((from..place).map(row));
            together.sort_unstable_by_key(|at| (key(at), *at));
            copies.extend(together.windows(2).filter(|pair| key(&pair[0]) == key(&pair[1])).map(|pair| pair[1]));
        }
    }
    copies.sort_unstable();
    copies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_collectives() {
        for name in [
            "ncclDevKernel_AllReduce_Sum",
            "cross_device_reduce_1stage",
            "void allReduce<half>",
            "one_shot_all_reduce_kernel",
            "reduce_scatter",
            "AllToAll",
            "all_to_all_v",
            "dpsk::ep::dispatch",
            "deep_ep::combine",
            "DeepEP",
            "multimem_all",
        ] {
            assert!(NameFacts::of(name).collective, "{name}");
        }
        for name in
            ["gemm", "reduce_kernel", "all__reduce", "allocate", "step_deeper", "triton_poi_fused_add_all_reduce_0"]
        {
            assert!(!NameFacts::of(name).collective, "{name}");
        }
    }

    #[test]
    fn names_tell_launches() {
        let of = |name| (NameFacts::of(name).call.launch, NameFacts::of(name).call.graph);
        assert_eq!(of("cudaLaunchKernelExC"), (true, false));
        assert_eq!(of("hipGraphLaunch"), (true, true));
        assert_eq!(of("cudaLaunchHostFunc"), (false, false));
        assert_eq!(of("cudaMemcpyAsync"), (false, false));
    }
}
