//! Kernels in the order of time.

use crate::rows::KernelRows;

/// Kernels by start, file order on ties; nothing where that is the file order.
#[derive(Debug)]
pub(crate) struct TimeOrder(Option<Vec<u32>>);

impl TimeOrder {
    pub(crate) fn of(kernels: &KernelRows) -> TimeOrder {
        if kernels.iter().is_sorted_by_key(|kernel| kernel.start) {
            return TimeOrder(None);
        }
        let mut order: Vec<u32> = (0..kernels.len() as u32).collect();
        order.sort_by_key(|at| kernels.at(*at as usize).start);
        TimeOrder(Some(order))
    }

    /// The numbers of all `count` kernels.
    pub(crate) fn numbers(&self, count: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        (0..count).map(move |at| self.0.as_ref().map_or(at, |order| order[at] as usize))
    }
}
