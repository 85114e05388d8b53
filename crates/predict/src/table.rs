//! The slices of one kernel type, learnt from when they are first asked.

use crate::estimate::Estimate;
use crate::explanation::Explanation;
use crate::model::Model;
use crate::place::Place;
use crate::rows::Rows;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A table is learnt from at once when one of its slices has fewer rows.
const SMALL_SLICE: usize = 60;
/// But only up to so many rows.
const MOST_TOGETHER: usize = 6000;

/// The measured rows of a kernel type: slices of rows that agree in everything that is not an axis.
///
/// Small slices are learnt from together: which of them a row is of is one more axis.
#[derive(Debug)]
pub struct Table {
    size: Option<usize>,
    is_joint: bool,
    slice_count: usize,
    parts: Vec<Part>,
}

/// One slice, or all together.
#[derive(Debug)]
struct Part {
    /// Taken when the model is built.
    rows: Mutex<Vec<Rows>>,
    model: OnceLock<Option<Model>>,
}

impl Part {
    fn new(rows: Vec<Rows>) -> Part {
        Part { rows: Mutex::new(rows), model: OnceLock::new() }
    }
}

impl Table {
    /// Of slices; `size` is the axis along which calls grow.
    pub fn new(slices: Vec<Rows>, size: Option<usize>) -> Table {
        let total: usize = slices.iter().map(Rows::len).sum();
        let is_joint =
            slices.len() > 1 && total < MOST_TOGETHER && slices.iter().any(|slice| slice.len() < SMALL_SLICE);
        let slice_count = slices.len();
        let parts = if is_joint {
            vec![Part::new(slices)]
        } else {
            slices.into_iter().map(|slice| Part::new(vec![slice])).collect()
        };
        Table { size, is_joint, slice_count, parts }
    }

    /// What was learnt of a slice, and the number of the slice there; `None` if there is none or it has no usable row.
    pub fn model(&self, slice: usize) -> Option<(&Model, usize)> {
        let (part, within) = if self.is_joint { (0, slice) } else { (slice, 0) };
        let part = self.parts.get(part)?;
        let build = || {
            let rows = std::mem::take(&mut *part.rows.lock().unwrap_or_else(PoisonError::into_inner));
            Model::build(rows, self.size)
        };
        Some((part.model.get_or_init(build).as_ref()?, within))
    }

    /// How many slices there are.
    pub fn slice_count(&self) -> usize {
        self.slice_count
    }

    /// How long a call of a slice takes, and which rows say so; `None` where nothing is known of the slice.
    pub fn explain(&self, slice: usize, place: &Place) -> Option<Explanation> {
        let (model, within) = self.model(slice)?;
        model.explain(within, place)
    }

    /// How long a call of a slice takes; `None` where nothing is known of the slice.
    pub fn predict(&self, slice: usize, place: &Place) -> Option<Estimate> {
        let (model, within) = self.model(slice)?;
        model.predict(within, place)
    }
}
