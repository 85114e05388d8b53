//! One slot of a row: shape, type and format of a tensor.

use crate::kernels::shape::{Shape, unfold_fractal_nz};
use crate::kernels::tensor::Data;
use perfdb_store::dtype::DType;

use crate::case::{Format, TensorSpec};
use crate::refusal::{Refusal, bad_rank, bad_shape, metadata_length, unsupported_dtype};

/// One slot: a tensor, or the place of an absent one.
#[derive(Clone, Debug)]
pub struct Slot<'a> {
    /// Position in the cell, from 0.
    pub position: usize,
    /// Recorded shape; `None` where the slot is empty.
    pub shape: Option<Shape>,
    pub(super) side: &'static str,
    pub(super) dtype: &'a str,
    /// `None` where the list of formats is too short.
    pub(super) format: Option<&'a str>,
}

/// A slot whose shape is there.
#[derive(Clone, Debug)]
pub struct Recorded<'a> {
    /// Position in the cell, from 0.
    pub position: usize,
    /// Recorded shape.
    pub shape: Shape,
    pub(super) side: &'static str,
    pub(super) dtype: &'a str,
    /// `None` where the list of formats is too short.
    pub(super) format: Option<&'a str>,
}

impl<'a> Slot<'a> {
    /// The slot with its shape, if that is there.
    pub fn recorded(self) -> Option<Recorded<'a>> {
        let Slot { position, shape, side, dtype, format } = self;
        shape.map(|shape| Recorded { position, shape, side, dtype, format })
    }

    /// The slot with its shape (`bad-shape` where that is empty).
    pub fn required(self) -> Result<Recorded<'a>, Refusal> {
        let (side, position) = (self.side, self.position);
        self.recorded().ok_or_else(|| bad_shape(format!("{side} {position} is required, its shape is empty")))
    }

    /// The type's word without `DT_`; an empty one is `UNDEFINED`.
    pub(crate) fn dtype_word(&self) -> &'a str {
        dtype_word(self.dtype)
    }

    /// The recorded format's word.
    pub(crate) fn format_word(&self) -> &'a str {
        self.format.unwrap_or_default()
    }

    pub(super) fn recorded_dtype(&self) -> Option<DType> {
        dtype_of_cell(self.dtype)
    }
}

/// The type that a cell names, with or without `DT_`, if replay can build tensors of it.
pub(crate) fn dtype_of_cell(cell: &str) -> Option<DType> {
    DType::from_database(cell).filter(|dtype| Data::DTYPES.contains(dtype))
}

fn dtype_word(text: &str) -> &str {
    match text.strip_prefix("DT_").unwrap_or(text) {
        "" => "UNDEFINED",
        word => word,
    }
}

impl<'a> Recorded<'a> {
    /// The type's word without `DT_`; an empty one is `UNDEFINED`.
    pub(crate) fn dtype_word(&self) -> &'a str {
        dtype_word(self.dtype)
    }

    /// The recorded format's word.
    pub(crate) fn format_word(&self) -> &'a str {
        self.format.unwrap_or_default()
    }

    /// The memory layout.
    pub fn format(&self) -> Format {
        Format::from_database(self.format_word())
    }

    /// True if neither type nor format is recorded.
    pub(crate) fn lacks_dtype(&self) -> bool {
        self.dtype.is_empty()
    }

    /// Insists on a recorded type and format (`metadata-length`).
    pub fn described(self) -> Result<Recorded<'a>, Refusal> {
        self.require_described().map(|()| self)
    }

    /// [`described`](Recorded::described), the slot left where it is.
    pub(crate) fn require_described(&self) -> Result<(), Refusal> {
        if self.format_word().is_empty() {
            return Err(self.lacks("format"));
        }
        if self.lacks_dtype() { Err(self.lacks("type")) } else { Ok(()) }
    }

    /// Insists on a recorded type, and on the format's place in its list: an empty word there is plain memory.
    pub(crate) fn described_in_place(self) -> Result<Recorded<'a>, Refusal> {
        match (self.lacks_dtype(), self.format) {
            (true, _) => Err(self.lacks("type")),
            (_, None) => Err(self.lacks("format")),
            _ => Ok(self),
        }
    }

    fn lacks(&self, what: &str) -> Refusal {
        metadata_length(format!("{} {} has no {what}", self.side, self.position))
    }

    /// The element type (`unsupported-dtype`).
    pub fn dtype(&self) -> Result<DType, Refusal> {
        dtype_of_cell(self.dtype).ok_or_else(|| self.unsupported_dtype("is not a type that replay can build"))
    }

    /// The element type, `default` where none is recorded.
    pub(crate) fn dtype_or(&self, default: DType) -> Result<DType, Refusal> {
        if self.lacks_dtype() { Ok(default) } else { self.dtype() }
    }

    /// The element type, which must fulfil `accepts` (`unsupported-dtype`); `expected` names what does.
    pub(crate) fn dtype_where(&self, expected: &str, accepts: impl Fn(DType) -> bool) -> Result<DType, Refusal> {
        match self.dtype_or(DType::Float32)? {
            dtype if accepts(dtype) => Ok(dtype),
            _ => Err(self.unsupported_dtype(&format!("is not {expected}"))),
        }
    }

    fn unsupported_dtype(&self, problem: &str) -> Refusal {
        unsupported_dtype(format!("{} {}: {} {problem}", self.side, self.position, self.dtype_word()))
    }

    /// The shape as the operator sees it: `FRACTAL_NZ` of rank 4 is unfolded, of another rank refused (`bad-rank`).
    pub fn logical(&self) -> Result<Shape, Refusal> {
        match self.format() {
            Format::Nd => Ok(self.shape.clone()),
            Format::FractalNz if self.shape.len() == 4 => {
                unfold_fractal_nz(&self.shape).ok_or_else(|| self.wrong_rank("FRACTAL_NZ with 4"))
            }
            Format::FractalNz => Err(self.wrong_rank("4 for FRACTAL_NZ")),
        }
    }

    /// The logical shape with exactly `N` dimensions (`bad-rank`).
    pub(crate) fn logical_rank<const N: usize>(&self) -> Result<[usize; N], Refusal> {
        let logical = if self.format() == Format::FractalNz { Some(self.logical()?) } else { None };
        logical.as_ref().unwrap_or(&self.shape).as_ref().try_into().map_err(|_| {
            let unfolded = if self.format() == Format::FractalNz { " after unfolding" } else { "" };
            self.wrong_rank(&format!("{N}{unfolded}"))
        })
    }

    /// The recorded shape with exactly `N` dimensions (`bad-rank`).
    pub fn rank<const N: usize>(&self) -> Result<[usize; N], Refusal> {
        self.shape.as_ref().try_into().map_err(|_| self.wrong_rank(&N.to_string()))
    }

    /// A tensor of that name, shape and type in the recorded format.
    pub fn tensor(&self, name: &'static str, shape: impl Into<Shape>, dtype: DType) -> TensorSpec {
        TensorSpec::new(name, shape, dtype).format(self.format())
    }

    /// A `bad-rank` refusal of this slot.
    pub(crate) fn wrong_rank(&self, expected: &str) -> Refusal {
        bad_rank(format!("{} {} has rank {}, expected {expected}", self.side, self.position, self.shape.len()))
    }
}
