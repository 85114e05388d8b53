//! Putting a plan together, point by point.

use super::{Batch, BenchMode, Group, LARGE_MESSAGE_BYTES, PLAN_SCHEMA, Plan, PlanRequest, Point, Skipped};
use crate::collective::Collective;
use crate::error::Error;
use crate::topology::Grid;
use indexmap::{IndexMap, IndexSet};

/// The largest group that a plan lists rank by rank.
const LARGEST_GROUP: u64 = 1 << 20;

/// A plan being built.
pub(super) struct Builder<'a> {
    request: &'a PlanRequest,
    grid: &'a Grid,
    /// Group sizes; ranks are always 0 to size - 1, so the size names the group.
    groups: IndexSet<u64>,
    points: Vec<Point>,
    skipped: Vec<Skipped>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(request: &'a PlanRequest, grid: &'a Grid) -> Self {
        Self { request, grid, groups: IndexSet::new(), points: Vec::new(), skipped: Vec::new() }
    }

    /// Adds the points of one operator, group size and tier, or notes that the group does not fit.
    pub(super) fn add(&mut self, op: Collective, devices: u64, tier: u64, own_tier: u64) -> Result<(), Error> {
        let span = self.grid.span(tier as usize);
        if devices > span {
            self.skipped.push(Skipped { op, num_devices: devices, topology_tier: tier, span });
            return Ok(());
        }
        if devices > LARGEST_GROUP {
            let reason = format!("{devices}: groups of more than {LARGEST_GROUP} ranks are not supported");
            return Err(Error::usage("num_devices", reason));
        }
        let (group, _) = self.groups.insert_full(devices);
        let element_size = self.request.dtype.size_bytes();
        for &message_bytes in &self.request.bytes_grid {
            let elements = op.elements(message_bytes / element_size, devices);
            let tensor_elements = match op {
                Collective::AllReduce => elements.chunk,
                _ => elements.input.saturating_add(elements.output),
            };
            self.points.push(Point {
                op,
                message_bytes,
                num_devices: devices,
                topology_tier: tier,
                resolved_tier: own_tier,
                group,
                chunk_elements: elements.chunk,
                input_elements: elements.input,
                output_elements: elements.output,
                peak_tensor_bytes: tensor_elements.saturating_mul(element_size),
                dispatch_overhead_us: op.dispatch_overhead_us(devices),
                csv: op.table_file(),
            });
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Plan, Error> {
        let request = self.request;
        if self.points.is_empty() {
            let groups: Vec<String> = self
                .skipped
                .iter()
                .map(|s| format!("{} devices at tier {} (span {})", s.num_devices, s.topology_tier, s.span))
                .collect();
            let distinct: IndexSet<String> = groups.into_iter().collect();
            let groups = distinct.into_iter().collect::<Vec<_>>().join(", ");
            return Err(Error::NothingToRun { groups });
        }
        let distinct: IndexSet<_> = self.points.iter().map(|p| (p.op, p.message_bytes, p.group)).collect();
        let batches = match request.bench_mode {
            BenchMode::Kernel => batches(&self.points),
            BenchMode::Event => Vec::new(),
        };
        Ok(Plan {
            schema: PLAN_SCHEMA.into(),
            bench_mode: request.bench_mode,
            dtype: request.dtype,
            dtype_csv: request.dtype.table_name().into(),
            element_size: request.dtype.size_bytes(),
            grid_shape: request.grid_shape.clone(),
            bytes_grid: request.bytes_grid.clone(),
            min_world_size: self.groups.iter().copied().max().unwrap_or(0),
            groups: self.groups.iter().map(|devices| Group { ranks: (0..*devices).collect() }).collect(),
            warmup_points: distinct.len(),
            configs: self.points,
            skipped: self.skipped,
            batches,
        })
    }
}

/// Batches of points with equal operator and equal ranks, in the order of their first point.
fn batches(points: &[Point]) -> Vec<Batch> {
    let mut batches: IndexMap<(Collective, usize), Batch> = IndexMap::new();
    for (index, point) in points.iter().enumerate() {
        let batch = batches.entry((point.op, point.group)).or_insert_with(|| Batch {
            op: point.op,
            group: point.group,
            small: Vec::new(),
            large: Vec::new(),
        });
        let part = if point.message_bytes < LARGE_MESSAGE_BYTES { &mut batch.small } else { &mut batch.large };
        part.push(index);
    }
    batches.into_values().collect()
}
