//! What a forward pass is made of, as the simulator and as the profiler see it.

/// A shape.
pub(crate) type Shape = Vec<u64>;

/// One kernel on the device.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub(crate) kernel_type: &'static str,
    pub(crate) core: &'static str,
    /// Time it takes.
    pub(crate) measured_ns: u64,
    /// Time the simulator takes for it, in permille of the measured time.
    pub(crate) predicted_permille: u64,
    pub(crate) inputs: Vec<Shape>,
    pub(crate) output: Shape,
    pub(crate) dtype: &'static str,
}

impl Kernel {
    pub(crate) fn new(kernel_type: &'static str, measured_ns: u64, predicted_permille: u64) -> Kernel {
        let core = match kernel_type {
            _ if kernel_type.starts_with("hcom_") => "HCCL",
            _ if kernel_type.ends_with("AicpuKernel") => "AI_CPU",
            _ if kernel_type.contains("MatMul") || kernel_type.contains("Matmul") => "AI_CORE",
            "FusedInferAttentionScore" | "DispatchFFNCombine" => "MIX_AIC",
            _ => "AI_VECTOR_CORE",
        };
        let dtype = if kernel_type.starts_with("Quant") { "INT8" } else { "DT_BF16" };
        Kernel { kernel_type, core, measured_ns, predicted_permille, inputs: Vec::new(), output: Vec::new(), dtype }
    }

    pub(crate) fn shapes<const N: usize>(mut self, inputs: [&[u64]; N], output: &[u64]) -> Kernel {
        self.inputs = inputs.iter().map(|shape| shape.to_vec()).collect();
        self.output = output.to_vec();
        self
    }
}

/// One operator of the simulator, or one kernel that it does not know.
#[derive(Clone)]
pub(crate) enum Step {
    /// Found in the database: one kernel, or several for a composite operator.
    Found { operator: &'static str, shapes: Vec<Shape>, kernels: Vec<Kernel>, source: &'static str, rule: &'static str },
    /// A product and the collective behind it; the trace names the product alone.
    Fused { operator: &'static str, shapes: Vec<Shape>, product: Kernel, collective: Kernel },
    /// Not in the database: an analytic time stands in, the kernel runs all the same.
    Missed { operator: &'static str, shapes: Vec<Shape>, analytic_ns: u64, kernel: Option<Kernel> },
    /// A view: no kernel, no time.
    ZeroCost { operator: &'static str, shapes: Vec<Shape> },
    /// A kernel without an operator.
    Unmodelled(Kernel),
}

impl Step {
    pub(crate) fn found(operator: &'static str, shapes: &[&[u64]], kernels: Vec<Kernel>) -> Step {
        let rule = if kernels.len() > 1 { "decomposed" } else { "exact" };
        Step::Found { operator, shapes: owned(shapes), kernels, source: "MEASURED", rule }
    }

    pub(crate) fn with_source(self, new_source: &'static str) -> Step {
        match self {
            Step::Found { operator, shapes, kernels, rule, .. } => {
                Step::Found { operator, shapes, kernels, source: new_source, rule }
            }
            other => other,
        }
    }

    pub(crate) fn fused(operator: &'static str, shapes: &[&[u64]], product: Kernel, collective: Kernel) -> Step {
        Step::Fused { operator, shapes: owned(shapes), product, collective }
    }

    pub(crate) fn missed(operator: &'static str, shapes: &[&[u64]], analytic_ns: u64, kernel: Option<Kernel>) -> Step {
        Step::Missed { operator, shapes: owned(shapes), analytic_ns, kernel }
    }

    pub(crate) fn zero_cost(operator: &'static str, shapes: &[&[u64]]) -> Step {
        Step::ZeroCost { operator, shapes: owned(shapes) }
    }
}

fn owned(shapes: &[&[u64]]) -> Vec<Shape> {
    shapes.iter().map(|shape| shape.to_vec()).collect()
}

/// Prefill works on a whole prompt, decode on one token per sequence.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Phase {
    Prefill,
    Decode,
}

impl Phase {
    /// One of two values.
    pub(crate) fn pick<T>(self, prefill: T, decode: T) -> T {
        if self == Phase::Prefill { prefill } else { decode }
    }
}
