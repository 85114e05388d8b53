//! Builds the tensors of a case in host memory, the same values on every machine and at any number of threads.

use crate::kernels::jobs::Jobs;
use crate::kernels::number::Number;
use crate::kernels::shape::elements;
use crate::kernels::tensor::{Data, Tensor};
use half::{bf16, f16};
use perfdb_store::dtype::DType;

use crate::case::{Case, TensorSpec, View};
use crate::init::Init;
use crate::refusal::{CaseError, ErrorKind};

/// Elements that make a job: a smaller tensor is filled on one thread, where starting more costs more than it saves.
const PARALLEL_FROM: usize = 1 << 15;

/// Builds all inputs of a case, in order.
pub fn build_inputs(case: &Case, seed: u64) -> Result<Vec<Tensor>, CaseError> {
    let mut tensors: Vec<Tensor> = Vec::with_capacity(case.call.inputs.len());
    for spec in &case.call.inputs {
        let tensor = match &spec.init {
            Init::CopyOf { of } => {
                let source = case.call.inputs.iter().position(|other| other.name == of.as_str());
                let source = source.and_then(|at| tensors.get(at)).ok_or_else(|| {
                    CaseError::rejected(format!("{}: copy of {of:?}, which does not stand before it", spec.name))
                })?;
                if *source.shape() != *spec.shape || source.dtype() != spec.dtype {
                    return Err(CaseError::rejected(format!("{}: unlike {of:?}, whose copy it is", spec.name)));
                }
                source.clone()
            }
            _ => build(case, spec, seed)?,
        };
        tensors.push(tensor);
    }
    Ok(tensors)
}

fn build(case: &Case, spec: &TensorSpec, seed: u64) -> Result<Tensor, CaseError> {
    let storage = spec.storage_shape();
    let fits = match spec.view {
        None => *storage == spec.shape,
        Some(View::T) => crate::kernels::shape::swap_last_two(storage) == spec.shape,
    };
    if !fits {
        return Err(CaseError::rejected(format!("{}: shape does not fit its storage", spec.name)));
    }
    let values = Values::new(spec, storage, || key(seed, &case.op, case.row, &spec.name))?;
    let tensor = Tensor::new(storage.clone(), values.fill(spec.dtype, elements(storage))?)
        .ok_or_else(|| CaseError::new(ErrorKind::Internal, format!("{}: wrong number of elements", spec.name)))?;
    Ok(if spec.view == Some(View::T) { tensor.transposed_view() } else { tensor })
}

/// The key of a tensor's random numbers: FNV-1a of `<seed>/<op>/<row>/<tensor name>`.
pub fn key(seed: u64, op: &str, row: u64, tensor: &str) -> u64 {
    let text = format!("{seed}/{op}/{row}/{tensor}");
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Word `index` of the key's random sequence: SplitMix64 of `key + (index + 1)·0x9E3779B97F4A7C15`.
pub(crate) fn random_word(key: u64, index: u64) -> u64 {
    let mut word = key.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A random double in [0, 1).
fn unit(word: u64) -> f64 {
    (word >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

/// Element values as a function of the flat index, so that they can be computed in any order.
enum Values<'a> {
    Uniform { key: u64, low: f64, high: f64 },
    Randint { key: u64, low: i64, span: u64 },
    Normal { key: u64 },
    Integers(Vec<i64>),
    Arange { start: i64 },
    ArangeMod { modulus: u64 },
    ArangeClip { last: usize, max: i64 },
    Full(Number),
    Flat(&'a [Number]),
    Triu { rows: usize, columns: usize, diagonal: i64, value: Number },
    RankRoundRobin { ranks: u64, per_rank: u64 },
}

impl<'a> Values<'a> {
    fn new(spec: &'a TensorSpec, storage: &[usize], key: impl Fn() -> u64) -> Result<Values<'a>, CaseError> {
        let wrong = |what: &str| CaseError::rejected(format!("{}: {what}", spec.name));
        let count = elements(storage);
        let last = storage.last().copied().unwrap_or(1);
        Ok(match &spec.init {
            Init::Uniform { low, high } => Values::Uniform { key: key(), low: low.as_f64(), high: high.as_f64() },
            Init::Randint { low, high } => {
                let span = high.checked_sub(*low).and_then(|span| u64::try_from(span).ok()).filter(|span| *span > 0);
                Values::Randint { key: key(), low: *low, span: span.ok_or_else(|| wrong("empty randint range"))? }
            }
            Init::Normal => Values::Normal { key: key() },
            Init::Permutation { n, take } => {
                if *take != count as u64 || take > n || *n > u64::from(u32::MAX) {
                    return Err(wrong("a permutation that does not fit"));
                }
                Values::Integers(permutation(key(), *n, count))
            }
            Init::Arange { start } => Values::Arange { start: *start },
            Init::ArangeMod { modulus: 0 } => return Err(wrong("modulus 0")),
            Init::ArangeMod { modulus } => Values::ArangeMod { modulus: *modulus },
            Init::ArangeClip { max } => Values::ArangeClip { last: last.max(1), max: *max },
            Init::Full { value } => Values::Full(*value),
            Init::Values { values } if values.len() != count => {
                return Err(wrong(&format!("{} values for {count} elements", values.len())));
            }
            Init::Values { values } => Values::Flat(values),
            Init::Triu { diagonal, value } => {
                let [.., rows, columns] = *storage else { return Err(wrong("triu needs two dimensions")) };
                Values::Triu { rows: rows.max(1), columns: columns.max(1), diagonal: *diagonal, value: *value }
            }
            Init::RankRoundRobin { ranks, per_rank } => {
                if *ranks == 0 || *per_rank == 0 {
                    return Err(wrong("no ranks"));
                }
                Values::RankRoundRobin { ranks: *ranks, per_rank: *per_rank }
            }
            Init::BlockPrefix { counts, modulus } => {
                if *modulus == 0 || counts.len() != count / last.max(1) || counts.iter().any(|&used| used > last as u64)
                {
                    return Err(wrong("block_prefix counts do not fit"));
                }
                Values::Integers(block_prefix(counts, *modulus, last))
            }
            Init::CopyOf { .. } => return Err(wrong("a copy has no values of its own")),
        })
    }

    fn at(&self, index: usize) -> Number {
        let flat = index as u64;
        match *self {
            Values::Uniform { key, low, high } => uniform(key, low, high, index),
            Values::Randint { key, low, span } => randint(key, low, span, index),
            Values::Normal { key } => {
                let radius = (-2.0 * (1.0 - unit(random_word(key, 2 * flat))).ln()).sqrt();
                let angle = std::f64::consts::TAU * unit(random_word(key, 2 * flat + 1));
                Number::Float(radius * angle.cos())
            }
            Values::Integers(ref values) => Number::Int(values.get(index).copied().unwrap_or_default()),
            Values::Arange { start } => Number::Int(start.wrapping_add_unsigned(flat)),
            Values::ArangeMod { modulus } => Number::Int((flat % modulus) as i64),
            Values::ArangeClip { last, max } => Number::Int(((index % last) as i64).min(max)),
            Values::Full(value) => value,
            Values::Flat(values) => values.get(index).copied().unwrap_or(Number::Int(0)),
            Values::Triu { rows, columns, diagonal, value } => {
                let (row, column) = ((index / columns % rows) as i64, (index % columns) as i64);
                if column - row >= diagonal { value } else { Number::Int(0) }
            }
            Values::RankRoundRobin { ranks, per_rank } => {
                Number::Int(((flat % ranks) * per_rank + (flat / ranks) % per_rank) as i64)
            }
        }
    }

    fn fill(&self, dtype: DType, count: usize) -> Result<Data, CaseError> {
        Ok(match dtype {
            DType::Float32 => Data::Float32(self.collect(count, |value| value.as_f64() as f32)),
            DType::Float16 => Data::Float16(self.collect(count, |value| f16::from_f32(value.as_f64() as f32))),
            DType::BFloat16 => Data::BFloat16(self.collect(count, |value| bf16::from_f32(value.as_f64() as f32))),
            DType::Float64 => Data::Float64(self.collect(count, Number::as_f64)),
            DType::Int8 => Data::Int8(self.collect(count, |value| value.as_i64() as i8)),
            DType::UInt8 => Data::UInt8(self.collect(count, |value| value.as_i64() as u8)),
            DType::Int16 => Data::Int16(self.collect(count, |value| value.as_i64() as i16)),
            DType::Int32 => Data::Int32(self.collect(count, |value| value.as_i64() as i32)),
            DType::Int64 => Data::Int64(self.collect(count, Number::as_i64)),
            DType::Bool => Data::Bool(self.collect(count, |value| value.as_f64() != 0.0)),
            other => return Err(CaseError::unsupported(format!("tensors of {other}"))),
        })
    }

    fn collect<T: Copy + Default + Send>(&self, count: usize, convert: impl Fn(Number) -> T + Sync) -> Vec<T> {
        match *self {
            Values::Full(value) => vec![convert(value); count],
            // The usual kinds have loops of their own; in the others the kind is looked at for every element.
            Values::Uniform { key, low, high } => each(count, |index| convert(uniform(key, low, high, index))),
            Values::Randint { key, low, span } => each(count, |index| convert(randint(key, low, span, index))),
            _ => each(count, |index| convert(self.at(index))),
        }
    }
}

fn uniform(key: u64, low: f64, high: f64, index: usize) -> Number {
    Number::Float(low + unit(random_word(key, index as u64)) * (high - low))
}

fn randint(key: u64, low: i64, span: u64, index: usize) -> Number {
    Number::Int(low.wrapping_add_unsigned(random_word(key, index as u64) % span))
}

/// The values of `at` for the indices below `count`, on many threads where that is worth it.
fn each<T: Copy + Default + Send>(count: usize, at: impl Fn(usize) -> T + Sync) -> Vec<T> {
    if count < PARALLEL_FROM {
        return (0..count).map(at).collect();
    }
    let mut values = vec![T::default(); count];
    let mut jobs = Jobs::new();
    for (part, values) in values.chunks_mut(PARALLEL_FROM).enumerate() {
        let at = &at;
        jobs.add(move || {
            let indices = part * PARALLEL_FROM..;
            values.iter_mut().zip(indices).for_each(|(value, index)| *value = at(index));
        });
    }
    jobs.run();
    values
}

/// The first `take` entries of a Fisher–Yates shuffle of `0..n`, from the last position down.
fn permutation(key: u64, n: u64, take: usize) -> Vec<i64> {
    let mut order: Vec<i64> = (0..n as i64).collect();
    for position in (1..order.len()).rev() {
        let word = random_word(key, position as u64);
        order.swap(position, (word % (position as u64 + 1)) as usize);
    }
    order.truncate(take);
    order
}

fn block_prefix(counts: &[u64], modulus: u64, width: usize) -> Vec<i64> {
    let mut counter = 0_u64;
    let mut values = vec![0_i64; counts.len() * width];
    for (row, &used) in values.chunks_mut(width.max(1)).zip(counts) {
        for value in row.iter_mut().take(used as usize) {
            *value = (counter % modulus) as i64;
            counter += 1;
        }
    }
    values
}
