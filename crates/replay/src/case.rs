//! The replay case: everything an executor needs to run one row, and nothing else.
//!
//! The JSON form is fixed (`docs/formats/replay-protocol.md`, "Replay case").

mod text;

pub(crate) use text::{Raw, WriteJson, write_parts};

use std::sync::Arc;

use crate::kernels::shape::{Shape, swap_last_two};
use indexmap::IndexMap;
use perfdb_store::dtype::DType;
use serde::Deserialize;

use crate::argument::Argument;
pub use crate::argument::Name;
use crate::init::Init;

/// One row, ready to run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Case {
    /// Operator, as in the database: `MatMulV2`.
    pub op: Name,
    /// Path of the table as given or found.
    pub csv: Arc<str>,
    /// Position of the record in the table, the header being 1.
    pub row: u64,
    /// The call and its tensors.
    #[serde(flatten)]
    pub call: Call,
    /// Recorded outputs by position.
    #[serde(default)]
    pub outputs: Vec<RecordedOutput>,
    /// What an output unlike the recorded one does.
    pub check: Check,
    /// Timed runs.
    pub repeat: u32,
    /// Untimed runs before them.
    #[serde(default)]
    pub warmup: u32,
    /// Build new inputs before every run.
    #[serde(default)]
    pub fresh_inputs: bool,
}

/// What an operator makes of a row: tensors, function, arguments.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Call {
    /// Dotted name of the function; a `torch.Tensor.` name is a method of the first argument.
    pub api: Name,
    /// Tensors in the order to be built.
    pub inputs: Vec<TensorSpec>,
    /// Positional arguments.
    #[serde(default)]
    pub args: Vec<Argument>,
    /// Named arguments, in the order of the call.
    #[serde(default)]
    pub kwargs: IndexMap<Name, Argument>,
    /// QuantBatchMatmulV3: `eager` or `graph`.
    #[serde(default)]
    pub mode: Option<Name>,
    /// `contiguous`: make the result contiguous inside the timed part.
    #[serde(default)]
    pub then: Option<Name>,
    /// Take only this element of a tuple result.
    #[serde(default)]
    pub unwrap: Option<usize>,
    /// Alternatives tried in order until one is accepted.
    #[serde(default)]
    pub attempts: Vec<Attempt>,
    /// Number of ranks (DispatchFFNCombine).
    #[serde(default)]
    pub ranks: Option<u32>,
}

/// One alternative of a call: named arguments that complete `kwargs`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Attempt {
    /// Name that results give.
    pub name: Name,
    /// Arguments of this alternative.
    #[serde(flatten)]
    pub kwargs: IndexMap<Name, Argument>,
}

/// One tensor of a case.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TensorSpec {
    /// Unique name within the case.
    pub name: Name,
    /// Shape as the operator sees it.
    pub shape: Shape,
    /// Element type.
    pub dtype: DType,
    /// Memory layout on the device.
    #[serde(default)]
    pub format: Format,
    /// How it is filled.
    pub init: Init,
    /// How `shape` looks at `storage`.
    #[serde(default)]
    pub view: Option<View>,
    /// Shape that is allocated, where a view is passed.
    #[serde(default)]
    pub storage: Option<Shape>,
    /// Where it lives: the executor's device by default.
    #[serde(default)]
    pub device: Option<Device>,
}

/// A view of a tensor's storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// The last two dimensions swapped.
    T,
}

/// Where a tensor lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// Host memory.
    Host,
}

/// Memory layout on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Format {
    /// Plain row-major memory.
    #[default]
    #[serde(rename = "ND")]
    Nd,
    /// The device's blocked matrix layout (internal format 29).
    #[serde(rename = "FRACTAL_NZ")]
    FractalNz,
}

impl Format {
    /// The format that a database word means; every word but `FRACTAL_NZ` is plain memory.
    pub(crate) fn from_database(word: &str) -> Format {
        if word == "FRACTAL_NZ" { Format::FractalNz } else { Format::Nd }
    }
}

/// What an output unlike the recorded one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// Another shape fails the row.
    Error,
    /// A line on stderr and `"match": false`.
    Warn,
}

/// A recorded output; both parts are absent for an empty slot, the type for one outside the table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RecordedOutput {
    /// Recorded shape.
    pub shape: Option<Shape>,
    /// Recorded type.
    pub dtype: Option<DType>,
}

impl TensorSpec {
    /// A plain tensor with the default values of its type.
    pub fn new(name: impl Into<Name>, shape: impl Into<Shape>, dtype: DType) -> TensorSpec {
        TensorSpec {
            name: name.into(),
            shape: shape.into(),
            dtype,
            format: Format::Nd,
            init: Init::default_for(dtype),
            view: None,
            storage: None,
            device: None,
        }
    }

    /// Allocates `storage` and passes it with the last two dimensions swapped.
    pub fn transposed(name: impl Into<Name>, storage: impl Into<Shape>, dtype: DType) -> TensorSpec {
        let storage = storage.into();
        TensorSpec {
            view: Some(View::T),
            storage: Some(storage.clone()),
            ..TensorSpec::new(name, swap_last_two(&storage), dtype)
        }
    }

    /// The same with that format.
    pub fn format(self, format: Format) -> TensorSpec {
        TensorSpec { format, ..self }
    }

    /// The same with those values.
    pub fn init(self, init: Init) -> TensorSpec {
        TensorSpec { init, ..self }
    }

    /// The same in host memory.
    pub(crate) fn on_host(self) -> TensorSpec {
        TensorSpec { device: Some(Device::Host), ..self }
    }

    /// The shape that is allocated.
    pub fn storage_shape(&self) -> &Shape {
        self.storage.as_ref().unwrap_or(&self.shape)
    }
}

impl Call {
    /// A call of that function without tensors or arguments.
    pub fn new(api: impl Into<Name>) -> Call {
        Call { api: api.into(), ..Call::default() }
    }

    /// Adds a tensor that no argument names yet.
    pub fn tensor(mut self, spec: TensorSpec) -> Call {
        self.inputs.push(spec);
        self
    }

    /// Adds a positional argument.
    pub fn arg(mut self, argument: impl Into<Argument>) -> Call {
        self.args.push(argument.into());
        self
    }

    /// Adds a tensor and passes it as the next positional argument.
    pub fn arg_tensor(mut self, spec: TensorSpec) -> Call {
        self.args.push(Argument::Tensor(spec.name.clone()));
        self.tensor(spec)
    }

    /// Adds a named argument.
    pub(crate) fn kwarg(mut self, name: impl Into<Name>, argument: impl Into<Argument>) -> Call {
        self.kwargs.insert(name.into(), argument.into());
        self
    }

    /// Adds a tensor and passes it under its own name.
    pub(crate) fn kwarg_tensor(mut self, spec: TensorSpec) -> Call {
        self.kwargs.insert(spec.name.clone(), Argument::Tensor(spec.name.clone()));
        self.tensor(spec)
    }

    /// Adds a tensor and passes it under its own name, as a list of one.
    pub(crate) fn kwarg_tensor_list(mut self, spec: TensorSpec) -> Call {
        self.kwargs.insert(spec.name.clone(), Argument::List(vec![Argument::Tensor(spec.name.clone())]));
        self.tensor(spec)
    }

    /// Adds a tensor under its own name, or `null` where there is none.
    pub(crate) fn kwarg_tensor_or_none(self, name: impl Into<Name>, spec: Option<TensorSpec>) -> Call {
        match spec {
            Some(spec) => self.kwarg_tensor(spec),
            None => self.kwarg(name, Argument::None),
        }
    }
}

impl Case {
    /// Bytes of all inputs as allocated; `u64::MAX` where the sum is larger.
    pub(crate) fn input_bytes(&self) -> u64 {
        self.call.inputs.iter().map(TensorSpec::bytes).fold(0, u64::saturating_add)
    }
}

impl TensorSpec {
    /// Bytes of the storage; `u64::MAX` where the product is larger.
    pub fn bytes(&self) -> u64 {
        (crate::kernels::shape::elements(self.storage_shape()) as u64).saturating_mul(self.dtype.size_bytes() as u64)
    }
}
