//! Sums over a GPU trace that must add up.

use perfdb_trace::time::Picoseconds;
use rustc_hash::{FxHashMap, FxHashSet};

use super::columns::Row;
use super::graph::layers;
use super::{Prepared, Replays};
use crate::certificate::Certificate;

impl Prepared {
    /// The sums, each one taken along its own way through the kernels.
    pub(crate) fn certificate(&self, replays: &Replays) -> Certificate {
        let mut certificate = Certificate::default();
        if self.kernels.is_empty() {
            return certificate;
        }
        let (busy, span) = self.busy_and_span();
        certificate.count("kernels", self.kernels.len());
        certificate.time("kernel_time_us", self.kernel_time);
        certificate.time("busy_us", busy);
        certificate.time("span_us", span.0);
        certificate.count("devices", span.1);
        certificate.count("streams", self.stream_count());
        certificate.holds("by_name", self.sum_by(|_, row| row.name) == self.kernel_time);
        certificate.holds("by_stream", self.sum_by_stream() == self.kernel_time);
        certificate.holds("by_launch", self.sum_by(|at, _| self.launch_index(at)) == self.kernel_time);
        certificate.holds("by_operation", self.sum_by(|_, row| row.external) == self.kernel_time);
        certificate.holds("by_layer", self.sum_by_layer(replays) == self.kernel_time);
        certificate.holds("busy_le_span", busy <= span.0 * span.1 as Picoseconds);
        certificate.holds("busy_le_sum", busy <= self.kernel_time);
        certificate.count("counted_plus_skipped", self.kernels.len() + self.columns.skipped_kernels as usize);
        let launched = self.kernels.iter().filter(|at| self.launch_index(**at).is_some());
        certificate.count("launched", launched.count());
        certificate
    }

    fn sum_by<K: Eq + std::hash::Hash>(&self, key: impl Fn(u32, &Row) -> K) -> Picoseconds {
        let mut sums: FxHashMap<K, Picoseconds> = FxHashMap::default();
        for (at, row) in self.kernel_rows() {
            *sums.entry(key(at, row)).or_default() += row.time();
        }
        sums.into_values().sum()
    }

    fn sum_by_stream(&self) -> Picoseconds {
        let streams = self.by_stream.chunk_by(|a, b| self.row(*a).stream == self.row(*b).stream);
        streams.map(|stream| stream.iter().map(|at| self.row(*at).time()).sum::<Picoseconds>()).sum()
    }

    /// By the layer of a graph replay; what is in none counts as one.
    fn sum_by_layer(&self, replays: &Replays) -> Picoseconds {
        let mut in_layers = 0;
        let mut outside: FxHashSet<u32> = self.kernels.iter().copied().collect();
        for replay in replays.iter() {
            for layer in layers(self, replay) {
                in_layers += layer.iter().map(|at| self.row(*at).time()).sum::<Picoseconds>();
                for at in layer {
                    outside.remove(at);
                }
            }
        }
        in_layers + outside.iter().map(|at| self.row(*at).time()).sum::<Picoseconds>()
    }

    fn stream_count(&self) -> usize {
        self.by_stream.chunk_by(|a, b| self.row(*a).stream == self.row(*b).stream).count()
    }

    /// Time in which any kernel ran, per device and summed; the longest span of a device, and the number of devices.
    fn busy_and_span(&self) -> (Picoseconds, (Picoseconds, usize)) {
        let mut order = self.kernels.clone();
        order.sort_unstable_by_key(|at| (self.row(*at).device, self.row(*at).start));
        let (mut busy, mut span, mut devices) = (0, 0, 0);
        for device in order.chunk_by(|a, b| self.row(*a).device == self.row(*b).device) {
            let first = self.row(device[0]).start;
            let mut until = first;
            for at in device {
                let row = self.row(*at);
                busy += (row.end() - row.start.max(until)).max(0);
                until = until.max(row.end());
            }
            span = span.max(until - first);
            devices += 1;
        }
        (busy, (span, devices))
    }
}
