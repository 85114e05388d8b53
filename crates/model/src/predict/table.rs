//! The slices of one kernel type, learnt from when they are first asked.

use crate::predict::collocated::{Collocated, Seen};
use crate::predict::estimate::Estimate;
use crate::predict::explanation::Explanation;
use crate::predict::model::Model;
use crate::predict::partners::partners;
use crate::predict::point::Point;
use crate::predict::rows::Rows;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A table is learnt from at once when one of its slices has fewer rows.
const SMALL_SLICE: usize = 60;
/// But only up to this many rows.
const MOST_TOGETHER: usize = 6000;

/// The measured rows of a kernel type: slices of rows that agree in everything that is not an axis.
///
/// Small slices are learnt from together: which of them a row is of is one more axis. Of others, what a slice has at a point more than
/// its neighbours say counts in part for a slice that has the same ups and downs.
#[derive(Debug)]
pub struct Table {
    size: Option<usize>,
    is_joint: bool,
    parts: Vec<Part>,
}

/// One slice, or all together.
#[derive(Debug)]
struct Part {
    /// Taken when the model is built.
    rows: Mutex<Vec<Rows>>,
    model: OnceLock<Option<Model>>,
    /// Other parts that have rows at points of this one.
    partners: Vec<usize>,
    collocated: OnceLock<Option<Collocated>>,
}

impl Part {
    fn new(rows: Vec<Rows>, partners: Vec<usize>) -> Part {
        Part { rows: Mutex::new(rows), model: OnceLock::new(), partners, collocated: OnceLock::new() }
    }

    fn model(&self, size: Option<usize>) -> Option<&Model> {
        let build = || {
            let rows = std::mem::take(&mut *self.rows.lock().unwrap_or_else(PoisonError::into_inner));
            Model::build(rows, size)
        };
        self.model.get_or_init(build).as_ref()
    }
}

/// Slices as they are learnt from: all at once where one is small, else each alone.
pub(crate) fn together(slices: Vec<Rows>) -> Vec<Vec<Rows>> {
    let total: usize = slices.iter().map(Rows::len).sum();
    let is_joint = slices.len() > 1 && total < MOST_TOGETHER && slices.iter().any(|slice| slice.len() < SMALL_SLICE);
    if is_joint { vec![slices] } else { slices.into_iter().map(|slice| vec![slice]).collect() }
}

/// For each part those that have rows at its points; none where slices are learnt from together.
pub(crate) fn partners_of(parts: &[Vec<Rows>]) -> Vec<Vec<usize>> {
    let alone: Option<Vec<&Rows>> =
        parts.iter().map(|slices| if let [one] = slices.as_slice() { Some(one) } else { None }).collect();
    alone.map_or(vec![Vec::new(); parts.len()], |slices| partners(&slices))
}

impl Table {
    /// Of slices; `size` is the axis along which calls grow.
    pub fn new(slices: Vec<Rows>, size: Option<usize>) -> Table {
        let slice_count = slices.len();
        let parts = together(slices);
        let partners = partners_of(&parts);
        let parts: Vec<Part> =
            parts.into_iter().zip(partners).map(|(rows, partners)| Part::new(rows, partners)).collect();
        Table { size, is_joint: parts.len() < slice_count, parts }
    }

    /// What was learnt of a slice, and the number of the slice there; `None` if there is none or it has no usable row.
    pub fn model(&self, slice: usize) -> Option<(&Model, usize)> {
        let (part, within) = if self.is_joint { (0, slice) } else { (slice, 0) };
        Some((self.parts.get(part)?.model(self.size)?, within))
    }

    /// What was learnt of all slices: one model for each, or one for all together.
    pub fn models(&self) -> impl Iterator<Item = &Model> {
        self.parts.iter().filter_map(|part| part.model(self.size))
    }

    /// The memory that what was learnt so far holds.
    pub fn bytes(&self) -> usize {
        let of_part = |part: &Part| {
            let model = part.model.get().and_then(Option::as_ref).map_or(0, Model::bytes);
            let collocated = part.collocated.get().and_then(Option::as_ref).map_or(0, Collocated::bytes);
            model + collocated
        };
        self.parts.iter().map(of_part).sum()
    }

    /// How long a call of a slice takes, and which rows say so; `None` where nothing is known of the slice.
    pub fn explain(&self, slice: usize, point: &Point) -> Option<Explanation> {
        let (model, within) = self.model(slice)?;
        let mut explanation = model.explain_with(within, point, || self.seen(slice, point))?;
        if !self.is_joint {
            explanation.slice = slice;
            explanation.neighbours.iter_mut().for_each(|near| near.slice = slice);
        }
        Some(explanation)
    }

    /// How long a call of a slice takes; `None` where nothing is known of the slice.
    pub fn predict(&self, slice: usize, point: &Point) -> Option<Estimate> {
        let (model, within) = self.model(slice)?;
        model.predict_with(within, point, || self.seen(slice, point))
    }

    /// The row of another slice at a point that tells something of this one.
    fn seen(&self, slice: usize, point: &Point) -> Option<Seen<'_>> {
        let part = self.parts.get(slice).filter(|part| !part.partners.is_empty())?;
        let collocated = part.collocated.get_or_init(|| {
            let others = part.partners.iter().filter_map(|other| Some((*other, self.parts[*other].model(self.size)?)));
            Collocated::of(part.model(self.size)?, others)
        });
        let collocated = collocated.as_ref()?;
        collocated.at(self.parts[collocated.slice].model(self.size)?, point)
    }
}
