//! Which shapes DispatchFFNCombine takes on a device: 21 tries, each in an executor of its own, and the rules they show.

use std::sync::Arc;
use std::time::Duration;

use perfdb_store::dtype::DType;
use serde::Serialize;

use crate::argument::Argument;
use crate::case::{Call, Case, Check, Format, RecordedOutput, TensorSpec};
use crate::error::Error;
use crate::executor::{Executor, StartError, StartExecutor};
use crate::init::Init;
use crate::operators::DISPATCH_FFN_COMBINE;
use crate::refusal::{CaseError, ErrorKind};
use perfdb_files::interrupt::Interrupt;

/// One try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// Which size is varied.
    pub category: Category,
    /// `K=16`, `Inter=16`, `M=1`, `E=1`.
    pub case: String,
    /// Tokens.
    pub m: usize,
    /// Hidden size.
    pub k: usize,
    /// Intermediate size.
    pub inter: usize,
    pub experts: usize,
    /// Experts per token.
    pub topk: usize,
}

/// Which size is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Hidden size.
    Hidden,
    /// Intermediate size.
    Inter,
    Tokens,
    Experts,
}

impl Category {
    /// The word in results: `hidden`.
    pub const fn name(self) -> &'static str {
        match self {
            Category::Hidden => "hidden",
            Category::Inter => "inter",
            Category::Tokens => "tokens",
            Category::Experts => "experts",
        }
    }
}

/// What a try gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProbeResult {
    /// The try.
    #[serde(flatten)]
    pub probe: Probe,
    /// It ran.
    pub ok: bool,
    /// `SUCCESS`, `TIMEOUT/HANG`, `CRASH (ExitCode 139)` or the first line of the refusal.
    pub detail: String,
}

/// What all tries show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProbeReport {
    /// Every try.
    pub results: Vec<ProbeResult>,
    /// The rules they show.
    pub conclusions: Conclusions,
    /// What to do.
    pub advice: Advice,
}

/// Rules by category.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conclusions {
    /// Of the hidden size: `none`, `align-32`, `align-16` or `complex`.
    pub hidden: &'static str,
    /// Of the intermediate size.
    pub inter: &'static str,
    /// Of the number of tokens.
    pub tokens: &'static str,
    /// Largest number of experts that ran.
    pub experts_max: Option<usize>,
}

/// What to do about the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// Make hidden sizes a multiple of this.
    pub hidden_alignment: Option<usize>,
    /// Make intermediate sizes a multiple of this.
    pub inter_alignment: Option<usize>,
    /// Numbers of tokens are not free.
    pub tokens_caution: bool,
}

/// All tries, in order.
pub(crate) fn probes() -> Vec<Probe> {
    let probe = |category, name: &str, value: usize, [m, k, inter, experts]: [usize; 4]| Probe {
        category,
        case: format!("{name}={value}"),
        m,
        k,
        inter,
        experts,
        topk: 1,
    };
    let hidden = [16, 31, 32, 48, 64, 127, 128].map(|k| probe(Category::Hidden, "K", k, [1, k, 256, 8]));
    let model_size = probe(Category::Hidden, "K", 7168, [1, 7168, 2048, 8]);
    let inter = [16, 127, 128, 511, 512].map(|inter| probe(Category::Inter, "Inter", inter, [1, 512, inter, 8]));
    let tokens = [1, 7, 8].map(|m| probe(Category::Tokens, "M", m, [m, 512, 256, 8]));
    let experts = [1, 64, 256, 512, 1024].map(|e| probe(Category::Experts, "E", e, [1, 512, 256, e]));
    hidden.into_iter().chain([model_size]).chain(inter).chain(tokens).chain(experts).collect()
}

/// The replay case of a try; `row` is its number from 1.
pub fn case(probe: &Probe, row: u64) -> Case {
    let &Probe { m, k, inter, experts, topk, .. } = probe;
    let x = TensorSpec::new("x", [m, k], DType::BFloat16).init(Init::Normal);
    let weights = |name: &str, shape: [usize; 2]| -> Vec<TensorSpec> {
        let spec = |expert| {
            TensorSpec::new(format!("{name}_{expert}"), shape, DType::Int8)
                .format(Format::FractalNz)
                .init(Init::Randint { low: -1, high: 1 })
        };
        (0..experts).map(spec).collect()
    };
    let scales = |name: &str, size: usize| -> Vec<TensorSpec> {
        let spec = |expert| TensorSpec::new(format!("{name}_{expert}"), [size], DType::Int64).init(Init::zeros());
        (0..experts).map(spec).collect()
    };
    let expert_idx =
        TensorSpec::new("expert_idx", [m, topk], DType::Int32).init(Init::Randint { low: 0, high: experts as i64 });
    let probs = TensorSpec::new("probs", [m, topk], DType::Float32).init(Init::Normal);
    let out = TensorSpec::new("out", [m, k], DType::BFloat16).init(Init::zeros());
    let counts = TensorSpec::new("expert_token_nums", [1, experts], DType::Int32).init(Init::zeros());
    let mut call = Call::new("torch.ops._C_ascend.dispatch_ffn_combine").kwarg_tensor(x);
    call = with_list(call, "weight1", weights("weight1", [k, 2 * inter]));
    call = with_list(call, "weight2", weights("weight2", [inter, k]));
    call = call.kwarg_tensor(expert_idx);
    call = with_list(call, "scale1", scales("scale1", 2 * inter));
    call = with_list(call, "scale2", scales("scale2", k));
    let mut call = call
        .kwarg_tensor(probs)
        .kwarg("group", Argument::Group("ep".into()))
        .kwarg("max_output_size", 65536)
        .kwarg_tensor(out)
        .kwarg_tensor(counts);
    call.ranks = Some(1);
    let recorded = |shape: [usize; 2], dtype| RecordedOutput { shape: Some(shape.into()), dtype: Some(dtype) };
    Case {
        op: DISPATCH_FFN_COMBINE.into(),
        csv: "probe".into(),
        row,
        call,
        outputs: vec![recorded([m, k], DType::BFloat16), recorded([1, experts], DType::Int32)],
        check: Check::Warn,
        repeat: 1,
        warmup: 0,
        fresh_inputs: false,
    }
}

fn with_list(mut call: Call, name: &'static str, specs: Vec<TensorSpec>) -> Call {
    let names = specs.iter().map(|spec| Argument::Tensor(spec.name.clone())).collect::<Vec<_>>();
    call = call.kwarg(name, names);
    specs.into_iter().fold(call, Call::tensor)
}

/// Tries all shapes, each in an executor of its own, with a pause between. `report` gets each result.
pub fn run(
    start: &StartExecutor<'_>,
    pause: Duration,
    interrupt: &Interrupt,
    report: &mut dyn FnMut(&ProbeResult),
) -> Result<ProbeReport, Error> {
    let mut results = Vec::new();
    for (index, probe) in probes().into_iter().enumerate() {
        if index > 0 {
            sleep(pause, interrupt);
        }
        if let Some(signal) = interrupt.signal() {
            return Err(Error::Interrupted(signal));
        }
        let case = Arc::new(case(&probe, index as u64 + 1));
        let mut executor = start(None).map_err(|error| match error {
            StartError::Environment(detail) => Error::Run(detail),
            error => error.into(),
        })?;
        let outcome = run_one(executor.as_mut(), &case);
        executor.shut_down();
        if let Some(signal) = interrupt.signal() {
            return Err(Error::Interrupted(signal));
        }
        let (ok, detail) = match outcome {
            Ok(()) => (true, "SUCCESS".to_owned()),
            Err(error) => (false, failure_text(&error)),
        };
        let result = ProbeResult { probe, ok, detail };
        report(&result);
        results.push(result);
    }
    Ok(conclude(results))
}

fn run_one(executor: &mut dyn Executor, case: &Arc<Case>) -> Result<(), CaseError> {
    if executor.greeting().ops.as_ref().is_some_and(|ops| !ops.iter().any(|op| *op == case.op)) {
        return Err(CaseError::unsupported(format!("the worker cannot run {}", case.op)));
    }
    executor.run(1, case, false).map(|_| ())
}

fn sleep(pause: Duration, interrupt: &Interrupt) {
    let end = std::time::Instant::now() + pause;
    while interrupt.signal().is_none() {
        let left = end.saturating_duration_since(std::time::Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
}

fn failure_text(error: &CaseError) -> String {
    match error.kind {
        ErrorKind::Timeout => "TIMEOUT/HANG".to_owned(),
        ErrorKind::Crash => {
            let code = match error.detail.rsplit_once(' ') {
                Some(("exit code", code)) => code.to_owned(),
                Some(("signal", signal)) => format!("-{signal}"),
                _ => return format!("CRASH ({})", error.detail),
            };
            format!("CRASH (ExitCode {code})")
        }
        _ => {
            // The message without the exception's name.
            let message = error.detail.split_once(": ").map_or(error.detail.as_str(), |(_, message)| message);
            message.lines().next().unwrap_or_default().to_owned()
        }
    }
}

/// The rules that the results show.
pub(crate) fn conclude(results: Vec<ProbeResult>) -> ProbeReport {
    let tried = |category, size: fn(&Probe) -> usize| -> Vec<(usize, bool)> {
        let of_category = results.iter().filter(move |result| result.probe.category == category);
        of_category.map(|result| (size(&result.probe), result.ok)).collect()
    };
    let hidden = rule(&tried(Category::Hidden, |probe| probe.k));
    let inter = rule(&tried(Category::Inter, |probe| probe.inter));
    let tokens = rule(&tried(Category::Tokens, |probe| probe.m));
    let experts = tried(Category::Experts, |probe| probe.experts);
    let experts_max = experts.into_iter().filter(|(_, ok)| *ok).map(|(experts, _)| experts).max();
    let alignment = |rule| match rule {
        "align-32" => Some(32),
        "align-16" => Some(16),
        _ => None,
    };
    let advice = Advice {
        hidden_alignment: alignment(hidden),
        inter_alignment: alignment(inter),
        tokens_caution: tokens != "none",
    };
    ProbeReport { results, conclusions: Conclusions { hidden, inter, tokens, experts_max }, advice }
}

fn rule(tried: &[(usize, bool)]) -> &'static str {
    if tried.iter().all(|(_, ok)| *ok) {
        return "none";
    }
    let aligned_to = |step: usize| {
        let others_fail = tried.iter().all(|(size, ok)| size % step == 0 || !ok);
        others_fail && tried.iter().any(|(size, ok)| size % step == 0 && *ok)
    };
    match (aligned_to(32), aligned_to(16)) {
        (true, _) => "align-32",
        (false, true) => "align-16",
        (false, false) => "complex",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules() {
        assert_eq!(rule(&[(16, true), (31, true)]), "none");
        assert_eq!(rule(&[(16, false), (31, false), (32, true), (64, false)]), "align-32");
        assert_eq!(rule(&[(16, true), (31, false), (32, true)]), "align-16");
        assert_eq!(rule(&[(16, true), (31, true), (32, false)]), "complex");
        assert_eq!(rule(&[(16, false), (32, false)]), "complex");
    }

    #[test]
    fn there_are_twenty_one_tries_with_a_tensor_per_expert() {
        let probes = probes();
        assert_eq!(probes.len(), 21);
        let case = case(&probes[20], 21);
        assert_eq!(case.call.inputs.len(), 4 * 1024 + 5);
        assert_eq!(case.call.inputs[1].name, "weight1_0");
        assert_eq!(case.call.inputs[1].shape, [512, 512]);
    }

    #[test]
    fn deaths_by_signal_have_negative_codes() {
        let text = |kind, detail: &str| failure_text(&CaseError::new(kind, detail));
        assert_eq!(text(ErrorKind::Crash, "signal 9"), "CRASH (ExitCode -9)");
        assert_eq!(text(ErrorKind::Timeout, "no answer within 1 s"), "TIMEOUT/HANG");
        assert_eq!(text(ErrorKind::Rejected, "RuntimeError: aicore exception\nsecond line"), "aicore exception");
    }
}
