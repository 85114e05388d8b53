//! Questions: calls of a simulator operator, or a kernel with its operands.

use perfdb_store::dtype::DType;
use perfdb_store::op_mapping::Entry;
use std::sync::Arc;

/// Dimensions, outermost first.
pub type Shape = Vec<i64>;

/// A tensor of a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tensor {
    /// Its shape.
    pub shape: Shape,
    /// Its data type.
    pub dtype: DType,
    /// What it holds, where that is known: lengths of sequences.
    pub values: Option<Vec<i64>>,
}

impl Tensor {
    /// A tensor of unknown contents.
    pub fn new(shape: impl Into<Shape>, dtype: DType) -> Self {
        Tensor { shape: shape.into(), dtype, values: None }
    }

    /// A vector with contents.
    pub fn of_values(values: impl Into<Vec<i64>>, dtype: DType) -> Self {
        let values = values.into();
        Tensor { shape: vec![values.len() as i64], dtype, values: Some(values) }
    }

    /// The number of its elements.
    pub fn elements(&self) -> i64 {
        elements(&self.shape)
    }
}

/// The number of elements of a shape.
pub(crate) fn elements(shape: &[i64]) -> i64 {
    shape.iter().fold(1, |product: i64, dimension| product.saturating_mul(*dimension))
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// A tensor.
    Tensor(Tensor),
    /// A list or tuple.
    List(Vec<Argument>),
    /// A number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A truth value.
    Boolean(bool),
    /// A text, also the name of a type or a device.
    Text(String),
    /// Nothing.
    None,
}

impl Argument {
    /// The tensor, if it is one.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match self {
            Argument::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn as_list(&self) -> Option<&[Argument]> {
        match self {
            Argument::List(items) => Some(items),
            _ => None,
        }
    }

    /// The number, if it is a whole one.
    pub(crate) fn as_integer(&self) -> Option<i64> {
        match self {
            Argument::Integer(number) => Some(*number),
            _ => None,
        }
    }
}

impl From<Tensor> for Argument {
    fn from(tensor: Tensor) -> Self {
        Argument::Tensor(tensor)
    }
}

/// What a call returns, where known.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Results {
    /// Unknown.
    #[default]
    Unknown,
    /// One value.
    One(Argument),
    /// A tuple or list.
    Many(Vec<Argument>),
}

impl Results {
    /// The first result.
    pub fn first(&self) -> Option<&Argument> {
        match self {
            Results::Unknown => None,
            Results::One(value) => Some(value),
            Results::Many(values) => values.first(),
        }
    }

    /// The first tensor found anywhere in it.
    pub(crate) fn first_tensor(&self) -> Option<&Tensor> {
        fn find(argument: &Argument) -> Option<&Tensor> {
            match argument {
                Argument::Tensor(tensor) => Some(tensor),
                Argument::List(items) => items.iter().find_map(find),
                _ => None,
            }
        }
        match self {
            Results::Unknown => None,
            Results::One(value) => find(value),
            Results::Many(values) => values.iter().find_map(find),
        }
    }

    /// All results; none if one of them is not a tensor or nothing is known.
    pub(crate) fn tensors(&self) -> Option<Vec<&Tensor>> {
        self.values()?.iter().map(Argument::as_tensor).collect()
    }

    /// The values, one by one; `None` if nothing is known.
    pub(crate) fn values(&self) -> Option<&[Argument]> {
        match self {
            Results::Unknown => None,
            Results::One(Argument::List(values)) | Results::Many(values) => Some(values),
            Results::One(value) => Some(std::slice::from_ref(value)),
        }
    }
}

/// The device grid: sizes from the outermost dimension to the innermost, and the tiers that have tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// Devices in each dimension.
    pub shape: Vec<i64>,
    /// Numbers of the tiers.
    pub tiers: Vec<i64>,
}

/// What is looked up.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Target {
    Operator(String),
    Kernel,
}

/// A question: an operator call with its parallel.
///
/// ```
/// use perfdb_query::{DType, Query, Tensor};
///
/// let query = Query::operator("aten.mm.default")
///     .input(Tensor::new([16, 5120], DType::BFloat16))
///     .input(Tensor::new([5120, 768], DType::BFloat16))
///     .output(Tensor::new([16, 768], DType::BFloat16))
///     .tp_size(4);
/// assert_eq!(query.name(), "aten.mm.default");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub(crate) target: Target,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) keywords: Vec<(String, Argument)>,
    pub(crate) results: Results,
    pub(crate) ep_size: Option<i64>,
    pub(crate) tp_size: Option<i64>,
    pub(crate) sequence_parallel: bool,
    pub(crate) grid: Option<Grid>,
    pub(crate) tier: Option<i64>,
    /// In place of the mapping's entry.
    pub(crate) entry: Option<Arc<Entry>>,
    /// The entry as a manifest has it.
    pub(crate) entry_json: Option<Arc<serde_json::Value>>,
}

impl Query {
    /// A call of an operator, `aten.mm.default`, with or without `torch.ops.` in front.
    pub fn operator(name: impl Into<String>) -> Self {
        let name: String = name.into();
        let short = name.strip_prefix("torch.ops.").map(str::to_owned);
        Query::of(Target::Operator(short.unwrap_or(name)))
    }

    /// A kernel by its inputs, for any mapping of operators.
    #[allow(clippy::field_reassign_with_default)]
    pub fn kernel(kernel_type: impl Into<String>) -> Self {
        let mut entry = Entry::default();
        entry.kernel_type = Some(kernel_type.into());
        Query { entry: Some(Arc::new(entry)), ..Query::of(Target::Kernel) }
    }

    fn of(target: Target) -> Self {
        Query {
            target,
            arguments: Vec::new(),
            keywords: Vec::new(),
            results: Results::Unknown,
            ep_size: None,
            tp_size: None,
            sequence_parallel: false,
            grid: None,
            tier: None,
            entry: None,
            entry_json: None,
        }
    }

    /// Adds a tensor as the next positional argument.
    #[must_use]
    pub fn input(self, tensor: Tensor) -> Self {
        self.argument(Argument::Tensor(tensor))
    }

    /// Adds the next positional argument.
    #[must_use]
    pub fn argument(mut self, argument: Argument) -> Self {
        self.arguments.push(argument);
        self
    }

    /// Adds positional arguments.
    #[must_use]
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = Argument>) -> Self {
        self.arguments.extend(arguments);
        self
    }

    /// Adds a keyword argument.
    #[must_use]
    pub fn keyword(mut self, name: impl Into<String>, value: Argument) -> Self {
        self.keywords.push((name.into(), value));
        self
    }

    /// Says that the call returns one tensor.
    #[must_use]
    pub fn output(self, tensor: Tensor) -> Self {
        self.results(Results::One(Argument::Tensor(tensor)))
    }

    /// Says that the call returns a tuple of tensors.
    #[must_use]
    pub fn outputs(self, tensors: impl IntoIterator<Item = Tensor>) -> Self {
        self.results(Results::Many(tensors.into_iter().map(Argument::Tensor).collect()))
    }

    /// Says what the call returns.
    #[must_use]
    pub fn results(mut self, results: Results) -> Self {
        self.results = results;
        self
    }

    /// The expert-parallel size.
    #[must_use]
    pub fn ep_size(mut self, size: impl Into<Option<i64>>) -> Self {
        self.ep_size = size.into();
        self
    }

    /// The tensor-parallel size.
    #[must_use]
    pub fn tp_size(mut self, size: impl Into<Option<i64>>) -> Self {
        self.tp_size = size.into();
        self
    }

    /// Whether sequence parallelism is on.
    #[must_use]
    pub fn sequence_parallel(mut self, is_on: bool) -> Self {
        self.sequence_parallel = is_on;
        self
    }

    /// The device grid, by which collectives find their tier.
    #[must_use]
    pub fn grid(mut self, grid: impl Into<Option<Grid>>) -> Self {
        self.grid = grid.into();
        self
    }

    /// The tier of the rank group, where the grid is not at hand.
    #[must_use]
    pub fn tier(mut self, tier: impl Into<Option<i64>>) -> Self {
        self.tier = tier.into();
        self
    }

    /// Asks by this entry in place of the mapping's.
    #[must_use]
    pub fn entry(mut self, entry: Entry) -> Self {
        self.entry = Some(Arc::new(entry));
        self.entry_json = None;
        self
    }

    /// The operator, or the kernel type.
    pub fn name(&self) -> &str {
        match &self.target {
            Target::Operator(name) => name,
            Target::Kernel => self.entry.as_ref().and_then(|entry| entry.kernel_type.as_deref()).unwrap_or_default(),
        }
    }

    /// Whether a kernel is queried by its inputs, not an operator.
    pub fn is_of_kernel(&self) -> bool {
        self.target == Target::Kernel
    }

    /// The shapes of the tensors among its arguments, as they are written on a command line: `16,5120 5120,768`.
    pub fn input_shapes(&self) -> String {
        let shape = |tensor: &Tensor| tensor.shape.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        self.input_tensors().map(shape).collect::<Vec<_>>().join(" ")
    }

    /// The positional arguments.
    pub fn positional(&self) -> &[Argument] {
        &self.arguments
    }

    /// What the call returns, where known.
    pub fn returns(&self) -> &Results {
        &self.results
    }

    /// The same query with tensors of one data type in another one.
    pub(crate) fn in_type(&self, from: DType, to: DType) -> Query {
        fn change(argument: &mut Argument, from: DType, to: DType) {
            match argument {
                Argument::Tensor(tensor) if tensor.dtype == from => tensor.dtype = to,
                Argument::List(items) => items.iter_mut().for_each(|item| change(item, from, to)),
                _ => {}
            }
        }
        let mut query = self.clone();
        query.arguments.iter_mut().for_each(|argument| change(argument, from, to));
        match &mut query.results {
            Results::Unknown => {}
            Results::One(result) => change(result, from, to),
            Results::Many(results) => results.iter_mut().for_each(|result| change(result, from, to)),
        }
        query
    }

    pub(crate) fn tensor(&self, at: usize) -> Option<&Tensor> {
        self.arguments.get(at)?.as_tensor()
    }

    pub(crate) fn keyword_value(&self, name: &str) -> Option<&Argument> {
        self.keywords.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The ranks, if the last argument is a list of them.
    pub(crate) fn ranks(&self) -> Option<&[Argument]> {
        let items = self.arguments.last()?.as_list()?;
        items.iter().all(|item| matches!(item, Argument::Integer(_))).then_some(items)
    }

    /// The tensors with at least one dimension among the positional arguments, and in lists among these.
    pub(crate) fn input_tensors(&self) -> impl Iterator<Item = &Tensor> {
        fn items(argument: &Argument) -> std::slice::Iter<'_, Argument> {
            match argument {
                Argument::List(items) => items.iter(),
                other => std::slice::from_ref(other).iter(),
            }
        }
        let tensors = self.arguments.iter().flat_map(items).filter_map(Argument::as_tensor);
        tensors.filter(|tensor| !tensor.shape.is_empty())
    }
}
