//! Sums over a GPU trace that must add up.

use perfdb_trace::id::Id;
use perfdb_trace::time::Picoseconds;
use rustc_hash::FxHashMap;

use super::graph::Layers;
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
        certificate.holds("by_name", self.sum_by_name() == self.kernel_time);
        certificate.holds("by_stream", self.sum_by_stream() == self.kernel_time);
        certificate.holds("by_launch", self.sum_by_launch() == self.kernel_time);
        certificate.holds("by_operation", self.sum_by_operation() == self.kernel_time);
        certificate.holds("by_layer", self.sum_by_layer(replays) == self.kernel_time);
        certificate.holds("busy_le_span", busy <= span.0 * span.1 as Picoseconds);
        certificate.holds("busy_le_sum", busy <= self.kernel_time);
        certificate.count("counted_plus_skipped", self.kernels.len() + self.columns.skipped_kernels as usize);
        let launched = self.kernels.iter().filter(|at| self.launch_index(**at).is_some());
        certificate.count("launched", launched.count());
        certificate
    }

    /// The number of kernels alone.
    pub(crate) fn kernel_count(&self) -> Certificate {
        let mut certificate = Certificate::default();
        if !self.kernels.is_empty() {
            certificate.count("kernels", self.kernels.len());
        }
        certificate
    }

    fn sum_by_name(&self) -> Picoseconds {
        let mut sums = vec![0; self.name_count()];
        for (_, row) in self.kernel_rows() {
            sums[row.name as usize] += row.time();
        }
        sums.into_iter().sum()
    }

    /// What has no launch counts as one.
    fn sum_by_launch(&self) -> Picoseconds {
        let mut sums = vec![0; self.columns.call_count() + 1];
        for (at, row) in self.kernel_rows() {
            sums[self.launch_index(at).map_or(0, |launch| launch as usize + 1)] += row.time();
        }
        sums.into_iter().sum()
    }

    fn sum_by_operation(&self) -> Picoseconds {
        let mut sums: FxHashMap<Id, Picoseconds> = FxHashMap::default();
        for (_, row) in self.kernel_rows() {
            *sums.entry(row.external).or_default() += row.time();
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
        let mut outside = vec![true; self.rows().len()];
        let mut layers = Layers::default();
        for replay in replays.iter() {
            for layer in layers.of(self, replay) {
                in_layers += layer.iter().map(|at| self.row(*at).time()).sum::<Picoseconds>();
                for at in layer {
                    outside[*at as usize] = false;
                }
            }
        }
        let outside = self.kernel_rows().filter(|(at, _)| outside[*at as usize]);
        in_layers + outside.map(|(_, row)| row.time()).sum::<Picoseconds>()
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
