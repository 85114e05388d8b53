//! A call with its tensors in host memory: what a reference implementation gets to see.

use crate::kernels::number::Number;
use crate::kernels::shape::Shape;
use crate::kernels::tensor::{Data, Tensor};
use crate::kernels::typed::Stored;
use perfdb_store::dtype::DType;

use crate::argument::Argument;
use crate::case::{Attempt, Call};
use crate::refusal::CaseError;

/// The arguments of a call, tensors resolved.
#[derive(Debug)]
pub struct Bindings<'c> {
    call: &'c Call,
    attempt: Option<&'c Attempt>,
    tensors: Vec<Option<Tensor>>,
}

/// A tensor that was taken out of the bindings to be changed; it must be given back as [`Output::InPlace`].
#[derive(Debug)]
pub struct Taken {
    slot: usize,
    pub tensor: Tensor,
}

/// One output of a call.
#[derive(Debug)]
pub enum Output {
    /// A new tensor.
    New(Tensor),
    /// An input that the call changed.
    InPlace(Taken),
}

impl Output {
    /// A new tensor of that shape and those elements (`internal` error if they do not fit).
    pub fn new(shape: impl Into<Shape>, data: Data) -> Result<Output, CaseError> {
        let (shape, count) = (shape.into(), data.len());
        Tensor::new(shape.clone(), data).map(Output::New).ok_or_else(|| {
            CaseError::new(
                crate::refusal::ErrorKind::Internal,
                format!("{count} elements computed for shape {shape:?}"),
            )
        })
    }

    pub fn tensor(&self) -> &Tensor {
        match self {
            Output::New(tensor) | Output::InPlace(Taken { tensor, .. }) => tensor,
        }
    }
}

/// A new output of those elements.
pub(crate) fn output<T: Stored>(shape: impl Into<Shape>, values: Vec<T>) -> Result<Output, CaseError> {
    Output::new(shape, T::wrap(values))
}

impl<'c> Bindings<'c> {
    /// Binds the tensors, one per entry of `call.inputs`. Of several attempts the first is taken:
    /// a reference implementation accepts all that mean the same.
    pub fn new(call: &'c Call, tensors: Vec<Tensor>) -> Bindings<'c> {
        let tensors = tensors.into_iter().map(Some).collect();
        Bindings { call, attempt: call.attempts.first(), tensors }
    }

    pub fn call(&self) -> &'c Call {
        self.call
    }

    /// The positional argument at that index.
    pub fn arg(&self, index: usize) -> Result<&'c Argument, CaseError> {
        self.call.args.get(index).ok_or_else(|| CaseError::rejected(format!("argument {index} is missing")))
    }

    /// The named argument, that of the attempt first; `None` where it is absent or null.
    pub(crate) fn kwarg(&self, name: &str) -> Option<&'c Argument> {
        let of_attempt = self.attempt.and_then(|attempt| attempt.kwargs.get(name));
        of_attempt.or_else(|| self.call.kwargs.get(name)).filter(|argument| **argument != Argument::None)
    }

    /// The tensor at that positional argument.
    pub fn tensor(&self, index: usize) -> Result<&Tensor, CaseError> {
        self.resolve(self.arg(index)?, &format!("argument {index}"))
    }

    /// The tensor at that positional argument, `None` where it is absent or null.
    pub(crate) fn optional_tensor(&self, index: usize) -> Result<Option<&Tensor>, CaseError> {
        match self.call.args.get(index) {
            None | Some(Argument::None) => Ok(None),
            Some(argument) => self.resolve(argument, &format!("argument {index}")).map(Some),
        }
    }

    /// The tensor under that name.
    pub fn named(&self, name: &str) -> Result<&Tensor, CaseError> {
        self.optional_named(name)?.ok_or_else(|| CaseError::rejected(format!("{name} is missing")))
    }

    /// The tensor under that name, `None` where it is absent or null. A list of one tensor is that tensor.
    pub(crate) fn optional_named(&self, name: &str) -> Result<Option<&Tensor>, CaseError> {
        match self.kwarg(name) {
            None => Ok(None),
            Some(Argument::List(items)) => match items.as_slice() {
                [item] => self.resolve(item, name).map(Some),
                _ => Err(CaseError::unsupported(format!("{name}: a list of {} tensors", items.len()))),
            },
            Some(argument) => self.resolve(argument, name).map(Some),
        }
    }

    /// The tensors of the list under that name.
    pub(crate) fn named_list(&self, name: &str) -> Result<Vec<&Tensor>, CaseError> {
        match self.kwarg(name) {
            None => Ok(Vec::new()),
            Some(Argument::List(items)) => items.iter().map(|item| self.resolve(item, name)).collect(),
            Some(argument) => Ok(vec![self.resolve(argument, name)?]),
        }
    }

    /// Takes the tensor at that positional argument out, to be changed in place.
    pub fn take(&mut self, index: usize) -> Result<Taken, CaseError> {
        let argument = self.arg(index)?;
        self.take_argument(argument, &format!("argument {index}"))
    }

    /// Takes the tensor under that name out, to be changed in place.
    pub(crate) fn take_named(&mut self, name: &str) -> Result<Taken, CaseError> {
        let argument = self.kwarg(name).ok_or_else(|| CaseError::rejected(format!("{name} is missing")))?;
        self.take_argument(argument, name)
    }

    /// Puts a changed tensor back, for the next run of the same case.
    pub(crate) fn give_back(&mut self, taken: Taken) {
        if let Some(place) = self.tensors.get_mut(taken.slot) {
            *place = Some(taken.tensor);
        }
    }

    /// The number under that name, `None` where it is absent or null.
    pub fn number(&self, name: &str) -> Result<Option<f64>, CaseError> {
        self.kwarg(name).map(|argument| as_number(argument, name).map(Number::as_f64)).transpose()
    }

    /// The integer under that name, `None` where it is absent or null.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, CaseError> {
        self.kwarg(name).map(|argument| as_number(argument, name).map(Number::as_i64)).transpose()
    }

    /// The size under that name, `None` where it is absent or null.
    pub fn size(&self, name: &str) -> Result<Option<usize>, CaseError> {
        let value = self.integer(name)?;
        value.map(|value| usize::try_from(value).map_err(|_| expected(name, "a size"))).transpose()
    }

    /// The truth value under that name; absent or null counts as false.
    pub fn flag(&self, name: &str) -> Result<bool, CaseError> {
        self.integer(name).map(|value| value.unwrap_or(0) != 0)
    }

    /// The string under that name, `None` where it is absent or null.
    pub fn string(&self, name: &str) -> Result<Option<&'c str>, CaseError> {
        match self.kwarg(name) {
            None => Ok(None),
            Some(Argument::Text(text)) => Ok(Some(text)),
            Some(_) => Err(expected(name, "a string")),
        }
    }

    /// The integers of the list under that name, `None` where it is absent or null.
    pub fn integers(&self, name: &str) -> Result<Option<Vec<i64>>, CaseError> {
        match self.kwarg(name) {
            None => Ok(None),
            Some(Argument::List(items)) => {
                items.iter().map(|item| as_number(item, name).map(Number::as_i64)).collect::<Result<_, _>>().map(Some)
            }
            Some(_) => Err(expected(name, "a list of integers")),
        }
    }

    /// The type under that name, `None` where it is absent or null.
    pub fn dtype(&self, name: &str) -> Result<Option<DType>, CaseError> {
        match self.kwarg(name) {
            None => Ok(None),
            Some(Argument::DType(text)) => match text.parse() {
                Ok(dtype) => Ok(Some(dtype)),
                Err(_) => Err(CaseError::unsupported(format!("{name}: type {text}"))),
            },
            Some(_) => Err(expected(name, "a type")),
        }
    }

    /// The index of the input of that name.
    fn slot(&self, name: &str) -> Result<usize, CaseError> {
        let slot = self.call.inputs.iter().position(|spec| spec.name == name);
        slot.ok_or_else(|| CaseError::rejected(format!("the case has no tensor {name:?}")))
    }

    fn resolve(&self, argument: &Argument, place: &str) -> Result<&Tensor, CaseError> {
        let Argument::Tensor(name) = argument else {
            return Err(expected(place, "a tensor"));
        };
        let tensor = self.tensors.get(self.slot(name)?).and_then(Option::as_ref);
        tensor.ok_or_else(|| CaseError::rejected(format!("tensor {name:?} is used and changed at once")))
    }

    fn take_argument(&mut self, argument: &Argument, place: &str) -> Result<Taken, CaseError> {
        let Argument::Tensor(name) = argument else {
            return Err(expected(place, "a tensor"));
        };
        let slot = self.slot(name)?;
        let tensor = self.tensors.get_mut(slot).and_then(Option::take);
        let tensor =
            tensor.ok_or_else(|| CaseError::rejected(format!("tensor {name:?} is used and changed at once")))?;
        Ok(Taken { slot, tensor })
    }
}

fn expected(place: &str, what: &str) -> CaseError {
    CaseError::rejected(format!("{place} must be {what}"))
}

fn as_number(argument: &Argument, place: &str) -> Result<Number, CaseError> {
    match argument {
        Argument::Number(number) => Ok(*number),
        _ => Err(expected(place, "a number")),
    }
}
