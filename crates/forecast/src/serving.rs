//! Time per output token and time to first token of a served model, from measured operators.
//!
//! A server with B requests in flight decodes one token of each in a step, and every request that ends is replaced by a prefill: between
//! the steps of the others, or within one of them, which then reads its weights for both. With `T` the time of a step,
//!
//! ```text
//! TTFT = T_prefill(input) · (1 + waiting · (B − 1)) + start + steps · T_decode
//! TPOT = T_decode(B, input + output/2) + interference · (B − 1)/output · D · share
//! D    = T_prefill(input) between steps, T(decode and prefill together) − T_decode within one
//! share = output · TPOT / (TTFT + output · TPOT)
//! ```
//!
//! where the share is that of the requests in flight that have their first token: the others delay nobody. A step is the sum of its
//! operators on one device, times a factor, and a time of the host. Factors and times are those that a framework shows on measured
//! servers ([`Calibration`]).
//!
//! ```no_run
//! use perfdb_forecast::serving::{Architecture, Calibration, Parallel, Request, Tables, forecast};
//!
//! let model = Architecture::read("Llama-3.1-70B/config.json".as_ref())?;
//! let mut tables = Tables::open("gpus/h100_sxm/vllm/0.19.0".as_ref())?;
//! let request = Request { parallel: Parallel::tensor(4), batch: 64, input: 1024, output: 512, cache: None };
//! let found = forecast(&model, &request, &mut tables, &Calibration::built_in()?)?;
//! println!("{:.1} ms, {:.1} to {:.1}", found.tpot.value_ms, found.tpot.low_ms, found.tpot.high_ms);
//! # Ok::<(), perfdb_forecast::Error>(())
//! ```

mod against;
mod answer;
mod architecture;
mod calibration;
mod curve;
mod joined;
mod operators;
mod parallel;
mod plan;
pub mod points;
mod precision;
mod tables;

use crate::Error;
pub use against::{Against, Reference};
pub use answer::Answer;
pub(crate) use architecture::architecture;
pub use architecture::{Architecture, FeedForward, Indexer, Layers, Listed, Mixer, Split};
pub use calibration::{Calibration, Constants, Interval};
pub use curve::Source;
pub use operators::{Operator, Part, Phase, Step, Work, operators};
pub use parallel::Parallel;
pub use plan::{Described, Plan, Planned};
pub use precision::{Scheme, Storage};
pub use tables::{Tables, Version};

/// Share of a device's memory that weights and caches may take.
const USABLE_MEMORY: f64 = 0.95;

/// No replica holds more tokens; so no product of sizes leaves 64 bits.
const MOST_TOKENS: u64 = 1 << 36;

/// What is served.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Over how many devices.
    pub parallel: Parallel,
    /// Requests in flight, on each of the groups with sequences of their own.
    pub batch: u64,
    /// Tokens of a prompt.
    pub input: u64,
    /// Tokens of an answer.
    pub output: u64,
    /// How the cache is stored; `None` is what the framework does.
    pub cache: Option<Scheme>,
}

/// A time, and its 90 % interval over measured servers of all models and systems.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The time.
    pub value_ms: f64,
    /// The lower end.
    pub low_ms: f64,
    /// The upper end.
    pub high_ms: f64,
}

/// An operator with the duration of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Priced {
    /// What is called.
    pub operator: Operator,
    /// How long a call takes.
    pub answer: Answer,
}

impl Priced {
    /// The time of all calls of a step.
    pub fn total_ms(&self) -> f64 {
        self.operator.calls as f64 * self.answer.duration_us / 1e3
    }
}

/// A step of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct PricedStep {
    pub operators: Vec<Priced>,
}

impl PricedStep {
    /// The sum of all calls.
    pub fn total_ms(&self) -> f64 {
        self.operators.iter().map(Priced::total_ms).sum()
    }

    /// The sum of the calls of a part.
    pub fn part_ms(&self, part: Part) -> f64 {
        self.operators.iter().filter(|priced| priced.operator.part == part).map(Priced::total_ms).sum()
    }

    /// The sum of the calls whose durations come from a source.
    pub(crate) fn source_ms(&self, source: Source) -> f64 {
        self.operators.iter().filter(|priced| priced.answer.source == source).map(Priced::total_ms).sum()
    }

    /// Sums over devices.
    pub fn sums(&self) -> u64 {
        let is_sum = |priced: &&Priced| matches!(priced.operator.work, Work::AllReduce { .. });
        self.operators.iter().filter(is_sum).map(|priced| priced.operator.calls).sum()
    }

    /// Relative standard deviation of the sum, from those of its operators: errors of one source are taken as shared.
    fn deviation(&self) -> f64 {
        let total = self.total_ms().max(f64::MIN_POSITIVE);
        Source::ALL
            .iter()
            .map(|source| (self.source_ms(*source) / total * source.deviation()).powi(2))
            .sum::<f64>()
            .sqrt()
    }
}

/// What a device holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    pub weight_bytes: f64,
    /// Keys, values and states of all sequences at their longest.
    pub cache_bytes: f64,
    /// What the device has, where its maker says so.
    pub device_bytes: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// Time per output token behind the first one.
    pub tpot: Estimate,
    /// Time to the first token, without waiting for a place among the requests.
    pub ttft: Estimate,
    /// A decode step.
    pub decode: PricedStep,
    /// The prefill of a request.
    pub prefill: PricedStep,
    /// What the prefill of a request adds to a step that decodes as well, in milliseconds.
    pub joined_ms: f64,
    /// Milliseconds of prefills of other requests in a TPOT.
    pub interference_ms: f64,
    /// The constants that were used.
    pub constants: Constants,
    /// What a device holds.
    pub memory: Memory,
    /// Layers of the model.
    pub layers: u64,
    /// Those with routed experts.
    pub expert_layers: u64,
    /// Devices of a replica.
    pub devices: u64,
    /// Requests in flight over all groups.
    pub in_flight: u64,
}

impl Forecast {
    /// Milliseconds of a decode step that its operators do not show.
    pub fn beyond_operators_ms(&self) -> f64 {
        beyond_ms(&self.decode, self.expert_layers, &self.constants)
    }

    /// Output tokens per second of a replica and device.
    pub fn tokens_per_device(&self) -> f64 {
        self.in_flight as f64 / self.tpot.value_ms * 1e3 / self.devices as f64
    }
}

/// Waiting for other devices, small kernels around experts, and the host.
fn beyond_ms(step: &PricedStep, expert_layers: u64, constants: &Constants) -> f64 {
    let us = step.sums() as f64 * constants.collective_us + expert_layers as f64 * constants.routing_us;
    us / 1e3 + constants.host_ms
}

/// Deployments of a model that differ in devices and in requests in flight.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// Devices that share each matrix.
    pub tensor: Vec<u64>,
    /// Requests in flight.
    pub batch: Vec<u64>,
    /// Groups of devices with sequences of their own.
    pub data: u64,
    /// Groups of devices that hold different experts.
    pub expert: u64,
    /// Stages of layers.
    pub pipeline: u64,
    /// Tokens of a prompt.
    pub input: u64,
    /// Tokens of an answer.
    pub output: u64,
    /// How the cache is stored; `None` is what the framework does.
    pub cache: Option<Scheme>,
}

/// A deployment, and its forecast or why there is none.
pub(crate) type Forecasted = (Request, Result<Forecast, Error>);

impl Sweep {
    /// Each deployment with its forecast.
    ///
    /// # Errors
    /// Devices that cannot be spread so. A deployment that cannot be forecast has an error of its own.
    pub fn forecast(
        &self,
        model: &Architecture,
        tables: &mut Tables,
        calibration: &Calibration,
    ) -> Result<Vec<Forecasted>, Error> {
        let Sweep { input, output, cache, .. } = *self;
        let mut found = Vec::new();
        for tensor in &self.tensor {
            let parallel = Parallel::spread(model, *tensor, self.data, self.expert, self.pipeline)?;
            for batch in &self.batch {
                let request = Request { parallel, batch: *batch, input, output, cache };
                let forecast = forecast(model, &request, tables, calibration);
                found.push((request, forecast));
            }
        }
        Ok(found)
    }
}

/// The forecast of a served model.
///
/// # Errors
/// Sizes that do not fit together, a model that does not fit into memory, an operator that no table knows.
pub fn forecast(
    model: &Architecture,
    request: &Request,
    tables: &mut Tables,
    calibration: &Calibration,
) -> Result<Forecast, Error> {
    let Request { parallel, batch, input, output, .. } = *request;
    parallel.check(model)?;
    for (field, size) in [("batch", batch), ("input", input), ("output", output)] {
        if !(1..=1 << 24).contains(&size) {
            return Err(Error::Deployment { field, reason: format!("must be from 1 to {}, not {size}", 1 << 24) });
        }
    }
    let tokens = batch * (input + output);
    if tokens > MOST_TOKENS / parallel.data {
        let reason = format!("{tokens} tokens on each of {} groups are more than {MOST_TOKENS}", parallel.data);
        return Err(Error::Deployment { field: "batch", reason });
    }
    let cache = request.cache.or(model.storage.cache).unwrap_or_else(|| usual_cache(model, &tables.framework));
    let memory = memory(model, request, cache, tables)?;
    let step = |phase, sequences, length| Step { phase, sequences, length, cache };
    let decode = priced(model, &parallel, &step(Phase::Decode, batch, input + output / 2), tables)?;
    let prefill = priced(model, &parallel, &step(Phase::Prefill, 1, input), tables)?;
    let constants = calibration.of(&tables.framework);
    // Stages work on other requests meanwhile, and a token goes through all of them.
    let time =
        |step: &PricedStep| step.total_ms() * constants.factor + beyond_ms(step, model.expert_layers(), constants);
    let (decode_ms, prefill_ms) = (time(&decode), time(&prefill));
    let others = (batch - 1) as f64;
    let joined_ms = joined::added_ms(&decode, &prefill, tables)?;
    let delay_ms = if constants.mixes { joined_ms * constants.factor } else { prefill_ms };
    let delayed_ms = constants.interference * others / output as f64 * delay_ms;
    let ttft_ms = prefill_ms * (1.0 + constants.waiting * others) + constants.start_ms + constants.steps * decode_ms;
    let tpot_ms = per_token(decode_ms, delayed_ms, ttft_ms, output as f64);
    Ok(Forecast {
        tpot: estimate(tpot_ms, &constants.tpot, decode.deviation(), calibration.usual_deviation),
        ttft: estimate(ttft_ms, &constants.ttft, prefill.deviation(), calibration.usual_deviation),
        decode,
        prefill,
        joined_ms,
        interference_ms: tpot_ms - decode_ms,
        constants: constants.clone(),
        memory,
        layers: model.layer_count(),
        expert_layers: model.expert_layers(),
        devices: parallel.devices(),
        in_flight: batch * parallel.data,
    })
}

/// The time per output token, of which the decode step is one part, and prefills another if all requests in flight decode. Of a request's
/// time only that behind its first token counts to these: `t = decode + delayed · output · t / (ttft + output · t)`.
fn per_token(decode_ms: f64, delayed_ms: f64, ttft_ms: f64, output: f64) -> f64 {
    let waits = ttft_ms / output;
    let half = (decode_ms + delayed_ms - waits) / 2.0;
    half + (half * half + decode_ms * waits).sqrt()
}

/// The interval of residuals, widened where operators are less certain than those behind the residuals.
fn estimate(value_ms: f64, interval: &Interval, deviation: f64, usual: f64) -> Estimate {
    let own = (deviation.powi(2) - usual.powi(2)).max(0.0).sqrt() * 1.645;
    let end = |ratio: f64| (ratio.abs().hypot(own)).copysign(ratio);
    Estimate { value_ms, low_ms: value_ms * end(interval.low).exp(), high_ms: value_ms * end(interval.high).exp() }
}

/// TensorRT-LLM stores the caches of quantised models in 8 bits.
fn usual_cache(model: &Architecture, framework: &str) -> Scheme {
    let is_quantised = matches!(model.storage.dense, Scheme::Fp8 | Scheme::Nvfp4);
    if framework == "trtllm" && is_quantised { Scheme::Fp8 } else { Scheme::Bf16 }
}

fn memory(model: &Architecture, request: &Request, cache: Scheme, tables: &Tables) -> Result<Memory, Error> {
    let Request { parallel, batch, input, output, .. } = *request;
    let stages = parallel.pipeline as f64;
    let found = Memory {
        weight_bytes: model.weight_bytes(parallel.tensor, parallel.expert_tensor, parallel.expert) / stages,
        cache_bytes: batch as f64 * model.cache_bytes(input + output, parallel.tensor, cache.bytes()) / stages,
        device_bytes: tables.device.memory_bytes(),
    };
    let needed = found.weight_bytes + found.cache_bytes;
    match found.device_bytes {
        Some(has) if needed > USABLE_MEMORY * has => Err(Error::Deployment {
            field: "memory",
            reason: format!(
                "{:.1} GB of weights and {:.1} GB of cache do not fit into {:.0} % of the {:.0} GB of {}: more devices or a smaller batch",
                found.weight_bytes / 1e9,
                found.cache_bytes / 1e9,
                USABLE_MEMORY * 100.0,
                has / 1e9,
                tables.device.name
            ),
        }),
        _ => Ok(found),
    }
}

fn priced(model: &Architecture, parallel: &Parallel, step: &Step, tables: &mut Tables) -> Result<PricedStep, Error> {
    let priced = |operator: Operator| Ok(Priced { answer: tables.answer(&operator.work)?, operator });
    Ok(PricedStep {
        operators: operators(model, parallel, step).into_iter().map(priced).collect::<Result<_, Error>>()?,
    })
}
