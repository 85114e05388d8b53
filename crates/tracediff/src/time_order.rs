//! Kernels in the order of time.

use crate::rows::KernelRows;

/// Kernels by start, file order on ties; nothing where that is the file order.
#[derive(Debug)]
pub(crate) struct TimeOrder(Option<Vec<u32>>);

/// The numbers of each device by a key: those of `ordered` are by it already, `others` are few. What is equal keeps its order, `ordered` first.
/// Both give devices and numbers.
pub(crate) fn by_device<K: Ord>(
    devices: usize,
    ordered: impl Iterator<Item = (u32, u32)>,
    others: impl Iterator<Item = (u32, u32)>,
    key: impl Fn(u32) -> K,
) -> Vec<Vec<u32>> {
    let both = split(devices, ordered).into_iter().zip(split(devices, others));
    both.map(|(ordered, others)| merged(ordered, others, &key)).collect()
}

fn split(devices: usize, numbers: impl Iterator<Item = (u32, u32)>) -> Vec<Vec<u32>> {
    let mut by_device = vec![Vec::new(); devices];
    numbers.for_each(|(device, number)| by_device[device as usize].push(number));
    by_device
}

fn merged<K: Ord>(order: Vec<u32>, mut others: Vec<u32>, key: impl Fn(u32) -> K) -> Vec<u32> {
    if others.is_empty() {
        return order;
    }
    others.sort_by_key(|number| key(*number));
    let mut merged = Vec::with_capacity(order.len() + others.len());
    let mut others = others.into_iter().map(|number| (key(number), number)).peekable();
    for number in order {
        let own = key(number);
        while let Some((_, other)) = others.next_if(|(other, _)| *other < own) {
            merged.push(other);
        }
        merged.push(number);
    }
    merged.extend(others.map(|(_, number)| number));
    merged
}

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
