//! The duration of an operator's call, from rows, between them, or from the limits of the device.

use super::curve::{Source, neighbours};
use super::operators::{Phase, Work};
use super::precision::Scheme;
use super::tables::{ExpertsKey, Heads, Key, Rows, Spread, TableKind, Tables, attention_tables};
use crate::Error;
use perfdb_model::roofline::{self, Device, Operands, Precision};

/// The duration of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    pub duration_us: f64,
    /// Where it is from.
    pub source: Source,
}

/// Share of the memory bandwidth, and of the peak of operations, that kernels reach for which there is no table.
const REACHED: [f64; 2] = [0.8, 0.5];
/// How much of the growth of a case's work its duration shows, where only a smaller or a larger share was measured.
const SHARE_POWER: f64 = 0.7;
/// What a sum over twice as many devices as were measured takes longer.
const MORE_DEVICES: f64 = 0.3;

impl Tables {
    /// The duration of a call.
    ///
    /// # Errors
    /// A table that cannot be read, or a case that no table has anything about.
    pub fn answer(&mut self, work: &Work) -> Result<Answer, Error> {
        let found = match *work {
            Work::Product { rows, columns, inner, scheme } => self.product(rows, columns, inner, scheme)?,
            Work::Attention { .. } => self.attention(work)?,
            Work::LatentAttention { phase, sequences, length, heads, cache, .. } => {
                self.latent(phase, sequences, length, heads, cache)?
            }
            Work::LatentProducts { is_before, tokens, heads, .. } => {
                let key = Key::LatentProducts { is_before, heads };
                self.find(TableKind::LatentProducts, |rows| rows.curves.get(&key)?.at(tokens as f64, 1.0))?
            }
            Work::LinearAttention { phase, tokens, heads: [_, heads], widths, .. } => {
                self.linear(phase, tokens, heads, widths)?
            }
            Work::Experts { .. } => self.experts(work)?,
            Work::AllReduce { elements, ranks } => self.sum(elements, ranks)?,
            Work::Bytes { .. } => None,
        };
        let limit_us = limit(self.device, work);
        Ok(match found {
            Some((duration_us, Source::Measured)) => Answer { duration_us, source: Source::Measured },
            Some((duration_us, source)) => Answer { duration_us: duration_us.max(limit_us), source },
            None if matches!(work, Work::AllReduce { .. } | Work::Product { .. } | Work::Attention { .. }) => {
                let (what, format) = (tables_of(work).name(), scheme(work).map_or("", Scheme::name));
                let in_format = if format.is_empty() { String::new() } else { format!(" in {format}") };
                return Err(Error::Malformed {
                    path: format!("{}/{}", self.system, self.framework).into(),
                    reason: format!("no version has a table of {what}{in_format}, which this model needs"),
                });
            }
            None => Answer { duration_us: reached(self.device, work), source: Source::Roofline },
        })
    }

    fn product(&mut self, rows: u64, columns: u64, inner: u64, scheme: Scheme) -> Result<Option<(f64, Source)>, Error> {
        let mut at = |scheme| self.find(TableKind::Products, |tables| product(tables, [rows, columns, inner], scheme));
        // The weights of this format are widened, and multiplied in 16 bits.
        let other = if scheme == Scheme::Mxfp4 { Some(Scheme::Bf16) } else { other_eight_bits(scheme) };
        let found = match (at(scheme)?, other) {
            (None, Some(other)) => at(other)?,
            (found, _) => found,
        };
        // Small steps of quantised products were timed together with the launches of their quantisation.
        if other_eight_bits(scheme).is_some()
            && let Some((duration_us, _)) = found
            && let Some(plain) = at(Scheme::Bf16)?.filter(|(plain_us, _)| *plain_us < duration_us)
        {
            return Ok(Some(plain));
        }
        Ok(found)
    }

    fn attention(&mut self, work: &Work) -> Result<Option<(f64, Source)>, Error> {
        let Work::Attention { phase, sequences, length, heads, kv_heads, head_dim, window, cache } = *work else {
            return Ok(None);
        };
        // Without a table for the window, decode attention sees no more keys than it.
        let seen = if window > 0 && phase == Phase::Decode { length.min(window) } else { length };
        for (window, length) in [(window, length), (0, seen)] {
            for (computes, cache) in [(cache, cache), (Scheme::Bf16, cache), (Scheme::Bf16, Scheme::Bf16)] {
                let asked = Heads { computes, cache, head_dim, window, kv_heads, heads };
                let found =
                    self.find(attention_tables(phase), |rows| attention(rows, phase, &asked, sequences, length))?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }

    fn latent(
        &mut self,
        phase: Phase,
        sequences: u64,
        length: u64,
        heads: u64,
        cache: Scheme,
    ) -> Result<Option<(f64, Source)>, Error> {
        let kind = if phase == Phase::Prefill { TableKind::LatentPrefill } else { TableKind::LatentDecode };
        let power = if phase == Phase::Prefill { 2.0 } else { 1.0 };
        for cache in [cache, Scheme::Bf16] {
            let found = self.find(kind, |rows| {
                let of_heads = rows.latent.get(&cache)?;
                let all: Vec<u64> = of_heads.keys().copied().collect();
                let (near, more) = neighbours(&all, heads);
                between(&near, |heads| {
                    let batches = of_heads.get(&heads)?;
                    let (near, more) = neighbours(batches, sequences);
                    let found = between(&near, |batch| {
                        rows.curves.get(&Key::Latent { cache, heads, batch })?.at(length as f64, power)
                    })?;
                    Some(grown(found, more))
                })
                .map(|found| grown(found, more))
            })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The convolution and the delta rule, which tables have apart.
    fn linear(
        &mut self,
        phase: Phase,
        tokens: u64,
        heads: u64,
        widths: [u64; 2],
    ) -> Result<Option<(f64, Source)>, Error> {
        let mut kernel = |is_convolution| {
            self.find(TableKind::LinearAttention, |rows| {
                let key = |heads| Key::Linear { phase, is_convolution, widths, heads };
                // Keys are ordered by their heads last.
                let known = rows.curves.range(key(0)..=key(u64::MAX)).filter_map(|(known, _)| match *known {
                    Key::Linear { heads, .. } => Some(heads),
                    _ => None,
                });
                let (near, more) = neighbours(&known.collect::<Vec<_>>(), heads);
                let found = between(&near, |heads| rows.curves.get(&key(heads))?.at(tokens as f64, 1.0))?;
                Some(grown(found, more))
            })
        };
        let (convolution, rule) = (kernel(true)?, kernel(false)?);
        Ok(convolution.zip(rule).map(|((one_us, one), (other_us, other))| (one_us + other_us, one.max(other))))
    }

    fn experts(&mut self, work: &Work) -> Result<Option<(f64, Source)>, Error> {
        let Work::Experts { tokens, hidden, inner, per_token, count, tensor, expert, scheme } = *work else {
            return Ok(None);
        };
        let spread = Spread::PowerLaw12;
        let asked = ExpertsKey { scheme, hidden, inner, per_token, count, tensor, expert, spread };
        let schemes = || std::iter::once(scheme).chain(other_eight_bits(scheme));
        for scheme in schemes() {
            for spread in [Spread::PowerLaw12, Spread::PowerLaw101, Spread::Balanced] {
                let key = Key::Experts(ExpertsKey { scheme, spread, ..asked });
                let found = self.shortest(TableKind::Experts, |rows| rows.curves.get(&key)?.at(tokens as f64, 1.0))?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        let device = self.device;
        for scheme in schemes() {
            let asked = ExpertsKey { scheme, ..asked };
            let found = self.find(TableKind::Experts, |rows| nearest_experts(rows, device, &asked, tokens))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn sum(&mut self, elements: u64, ranks: u64) -> Result<Option<(f64, Source)>, Error> {
        if ranks <= 1 {
            return Ok(Some((0.0, Source::Measured)));
        }
        self.find(TableKind::AllReduce, |rows| {
            let measured = rows.ranks.range(..=ranks).next_back().or_else(|| rows.ranks.first()).copied()?;
            let (duration_us, source) =
                rows.curves.get(&Key::AllReduce { ranks: measured })?.at(elements as f64 * 2.0, 1.0)?;
            if measured == ranks {
                return Some((duration_us, source));
            }
            let more = 1.0 + MORE_DEVICES * (ranks as f64 / measured as f64).log2().max(0.0);
            Some((duration_us * more, Source::Extrapolated))
        })
    }
}

/// Floats of 8 bits with the other scales: blocks for tensors, tensors for blocks.
fn other_eight_bits(scheme: Scheme) -> Option<Scheme> {
    match scheme {
        Scheme::Fp8 => Some(Scheme::Fp8Block),
        Scheme::Fp8Block => Some(Scheme::Fp8),
        _ => None,
    }
}

fn tables_of(work: &Work) -> TableKind {
    match work {
        Work::Product { .. } | Work::Bytes { .. } => TableKind::Products,
        Work::Attention { phase, .. } => attention_tables(*phase),
        Work::LatentAttention { phase: Phase::Prefill, .. } => TableKind::LatentPrefill,
        Work::LatentAttention { .. } => TableKind::LatentDecode,
        Work::LatentProducts { .. } => TableKind::LatentProducts,
        Work::LinearAttention { .. } => TableKind::LinearAttention,
        Work::Experts { .. } => TableKind::Experts,
        Work::AllReduce { .. } => TableKind::AllReduce,
    }
}

/// The number format by which tables of the work differ.
fn scheme(work: &Work) -> Option<Scheme> {
    match *work {
        Work::Product { scheme, .. } | Work::Experts { scheme, .. } => Some(scheme),
        _ => None,
    }
}

fn product(tables: &Rows, [rows, columns, inner]: [u64; 3], scheme: Scheme) -> Option<(f64, Source)> {
    let at = |columns, inner| tables.curves.get(&Key::Product { scheme, columns, inner })?.at(rows as f64, 1.0);
    if let Some(found) = at(columns, inner) {
        return Some(found);
    }
    let [all_columns, all_inner] = tables.products.get(&scheme)?;
    let ((near_columns, wider), (near_inner, deeper)) =
        (neighbours(all_columns, columns), neighbours(all_inner, inner));
    let (mut sum, mut weight) = (0.0, 0.0);
    for (columns, share) in &near_columns {
        for (inner, other) in &near_inner {
            if let Some((duration_us, _)) = at(*columns, *inner) {
                sum += share * other * duration_us.ln();
                weight += share * other;
            }
        }
    }
    let is_outside = wider != 1.0 || deeper != 1.0;
    let source = if is_outside { Source::Extrapolated } else { Source::Interpolated };
    (weight > 1e-9).then(|| ((sum / weight).exp() * wider.max(1.0) * deeper.max(1.0), source))
}

fn attention(rows: &Rows, phase: Phase, asked: &Heads, sequences: u64, length: u64) -> Option<(f64, Source)> {
    let power = if phase == Phase::Prefill && asked.window == 0 { 2.0 } else { 1.0 };
    let same = |known: &&Heads| Heads { heads: asked.heads, ..**known } == *asked;
    let all: Vec<u64> = rows.batches.keys().filter(same).map(|known| known.heads).collect();
    let (near, more) = neighbours(&all, asked.heads);
    let found = between(&near, |heads| {
        let heads = Heads { heads, ..*asked };
        let (near, more) = neighbours(rows.batches.get(&heads)?, sequences);
        let found =
            between(&near, |batch| rows.curves.get(&Key::Attention { heads, batch })?.at(length as f64, power))?;
        Some(grown(found, more))
    })?;
    Some(grown(found, more))
}

/// The geometric mean of neighbours by their weights; of several sources the least certain one.
fn between(near: &[(u64, f64)], at: impl Fn(u64) -> Option<(f64, Source)>) -> Option<(f64, Source)> {
    let mut sum = 0.0;
    let mut source = if near.len() > 1 { Source::Interpolated } else { Source::Measured };
    for (neighbour, share) in near {
        let (duration_us, of_neighbour) = at(*neighbour)?;
        sum += share * duration_us.ln();
        source = source.max(of_neighbour);
    }
    (!near.is_empty()).then(|| (sum.exp(), source))
}

/// A duration at the last neighbour, for a size that is this many times as large; smaller ones take as long as the first.
fn grown((duration_us, source): (f64, Source), more: f64) -> (f64, Source) {
    if more == 1.0 { (duration_us, source) } else { (duration_us * more.max(1.0), Source::Extrapolated) }
}

/// Experts that were not measured: those of the same weights on another number of devices by their share, or other ones by what they reach
/// of the device's limits.
fn nearest_experts(rows: &Rows, device: &Device, asked: &ExpertsKey, tokens: u64) -> Option<(f64, Source)> {
    let distance = |known: &ExpertsKey| {
        let ratio = |a: u64, b: u64| (a.max(1) as f64 / b.max(1) as f64).ln().abs();
        let weights = ratio(known.hidden * known.inner, asked.hidden * asked.inner);
        let parts = ratio(known.tensor, asked.tensor) + ratio(known.expert, asked.expert);
        4.0 * weights + 2.0 * ratio(known.count, asked.count) + ratio(known.per_token, asked.per_token) + parts
    };
    let candidates = rows.experts.iter().filter(|known| known.scheme == asked.scheme && known.spread == asked.spread);
    let nearest = candidates.min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let (duration_us, _) = rows.curves.get(&Key::Experts(*nearest))?.at(tokens as f64, 1.0)?;
    let is_same_model = ExpertsKey { tensor: asked.tensor, expert: asked.expert, ..*nearest } == *asked;
    let factor = if is_same_model {
        ((nearest.tensor * nearest.expert) as f64 / (asked.tensor * asked.expert) as f64).powf(SHARE_POWER)
    } else {
        reached(device, &experts_work(asked, tokens)) / reached(device, &experts_work(nearest, tokens))
    };
    Some((duration_us * factor, Source::Extrapolated))
}

fn experts_work(key: &ExpertsKey, tokens: u64) -> Work {
    let ExpertsKey { scheme, hidden, inner, per_token, count, tensor, expert, .. } = *key;
    Work::Experts { tokens, hidden, inner, per_token, count, tensor, expert, scheme }
}

/// What a call must do, and on which units.
fn demand(work: &Work) -> (roofline::Work, Precision) {
    match *work {
        Work::Product { rows, columns, inner, scheme } => {
            let product = roofline::MatMul { rows: rows as f64, columns: columns as f64, inner: inner as f64 };
            let work = product.work(Operands::of(Precision::Bf16));
            let saved = (2.0 - scheme.bytes()) * (columns * inner) as f64;
            (roofline::Work { bytes: work.bytes - saved, ..work }, units(scheme))
        }
        Work::Attention { phase, sequences, length, heads, kv_heads, head_dim, window, cache } => {
            let seen = if window > 0 { length.min(window) } else { length } as f64;
            let (sequences, width) = (sequences as f64, (heads * head_dim) as f64);
            let keys = sequences * seen * (2 * kv_heads * head_dim) as f64 * cache.bytes();
            let pairs = if phase == Phase::Prefill { length as f64 * seen / 2.0 } else { seen };
            (roofline::Work { operations: 4.0 * sequences * pairs * width, bytes: keys }, units(cache))
        }
        Work::LatentAttention { phase, sequences, length, heads, width, cache } => {
            let pairs = if phase == Phase::Prefill { (length * length) as f64 / 2.0 } else { length as f64 };
            // In a prefill heads work on their own keys and values, which are narrower than the latent vector.
            let per_pair = if phase == Phase::Prefill { 2.0 * 320.0 } else { 4.0 * width as f64 };
            let bytes = (sequences * length * width) as f64 * cache.bytes();
            (roofline::Work { operations: sequences as f64 * pairs * heads as f64 * per_pair, bytes }, Precision::Bf16)
        }
        Work::LatentProducts { tokens, heads, widths: [from, to], .. } => {
            let weights = (heads * from * to) as f64;
            (roofline::Work { operations: 2.0 * tokens as f64 * weights, bytes: 2.0 * weights }, Precision::Bf16)
        }
        Work::LinearAttention {
            sequences,
            tokens,
            heads: [key_heads, value_heads],
            widths: [key_dim, value_dim],
            ..
        } => {
            let (keys, values) = (key_heads * key_dim, value_heads * value_dim);
            let state = (values * key_dim) as f64;
            let (tokens, states) = (tokens as f64, sequences as f64 * state);
            let bytes = 2.0 * tokens * (2 * keys + 3 * values) as f64 + 2.0 * 4.0 * states;
            (roofline::Work { operations: 8.0 * state * tokens, bytes }, Precision::Bf16)
        }
        Work::Experts { tokens, hidden, inner, per_token, count, tensor, expert, scheme } => {
            let weights = 3.0 * (hidden * inner) as f64 / tensor as f64;
            let choices = (tokens * per_token) as f64 / expert as f64;
            let here = count as f64 / expert as f64;
            let touched = here * (1.0 - (1.0 - 1.0 / here).powf(choices));
            let work =
                roofline::Work { operations: 2.0 * choices * weights, bytes: touched * weights * scheme.bytes() };
            (work, units(scheme))
        }
        Work::AllReduce { elements, .. } => {
            (roofline::Work { operations: 0.0, bytes: 4.0 * elements as f64 }, Precision::Bf16)
        }
        Work::Bytes { bytes, operations } => (roofline::Work { operations, bytes }, Precision::Bf16),
    }
}

fn units(scheme: Scheme) -> Precision {
    match scheme {
        Scheme::Bf16 | Scheme::Mxfp4 | Scheme::Int4 => Precision::Bf16,
        Scheme::Fp8 | Scheme::Fp8Block => Precision::Fp8,
        Scheme::Nvfp4 => Precision::Fp4,
    }
}

/// The shortest time that the device's limits allow.
fn limit(device: &Device, work: &Work) -> f64 {
    let (work, precision) = demand(work);
    shortest(device, work, precision)
}

/// The time at what kernels usually reach of the device's limits.
fn reached(device: &Device, work: &Work) -> f64 {
    let (work, precision) = demand(work);
    let work = roofline::Work { operations: work.operations / REACHED[1], bytes: work.bytes / REACHED[0] };
    shortest(device, work, precision)
}

/// On units of 16 bits where the device has none for the type.
fn shortest(device: &Device, work: roofline::Work, precision: Precision) -> f64 {
    device.shortest_us(work, precision).or_else(|| device.shortest_us(work, Precision::Bf16)).unwrap_or(0.0)
}
