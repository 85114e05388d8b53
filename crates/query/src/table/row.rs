//! One row of a table.

use super::columns::Column;
use super::pool::{ShapePool, Shapes};
use super::{KernelRows, Record, Texts};
use crate::answer::RowRef;
use std::fmt;

/// One row of a compute table. Slots of absent arguments are left out.
#[derive(Clone, Copy)]
pub struct KernelRow<'t> {
    table: &'t KernelRows,
    number: u32,
}

impl<'t> KernelRow<'t> {
    #[inline]
    pub(super) fn new(table: &'t KernelRows, number: u32) -> Self {
        KernelRow { table, number }
    }

    #[inline]
    fn record(self) -> &'t Record {
        &self.table.content.records[self.number as usize]
    }

    #[inline]
    fn texts(self) -> &'t Texts {
        &self.table.content.texts[self.record().texts as usize]
    }

    #[inline]
    fn measured_us(self) -> f64 {
        self.table.content.durations_us[self.number as usize]
    }

    /// Line in the file.
    pub fn line(self) -> u64 {
        u64::from(self.record().line)
    }

    /// Shapes of the arguments, as they stand in the file.
    pub fn inputs(self) -> Shapes<'t> {
        self.table.content.shapes.list(self.record().inputs)
    }

    /// Data types of the arguments, in the profiler's spelling.
    pub fn input_types(self) -> &'t [Box<str>] {
        &self.texts().input_types
    }

    /// Formats of the arguments.
    pub fn input_formats(self) -> &'t [Box<str>] {
        &self.texts().input_formats
    }

    /// Shapes of the results; none where the cell cannot be read.
    pub fn outputs(self) -> Shapes<'t> {
        match self.record().outputs {
            ShapePool::UNREADABLE => self.table.content.shapes.list(ShapePool::EMPTY),
            at => self.table.content.shapes.list(at),
        }
    }

    /// Data types of the results.
    pub fn output_types(self) -> &'t [Box<str>] {
        &self.texts().output_types
    }

    /// Formats of the results.
    pub fn output_formats(self) -> &'t [Box<str>] {
        &self.texts().output_formats
    }

    /// The duration that counts: measured before profiled.
    pub fn duration_us(self) -> f64 {
        self.measured_us()
    }

    /// The expert-parallel size, where the table has one.
    pub fn ep_size(self) -> Option<i64> {
        self.cut(Column::EpSize)
    }

    /// Whether it may answer a call of this expert-parallel size: any row may where the call or the table has none.
    pub(crate) fn is_of_ep_size(self, ep_size: Option<i64>) -> bool {
        ep_size.is_none() || !self.table().has(Column::EpSize) || self.ep_size() == ep_size
    }

    #[inline]
    pub(crate) fn is_measured(self) -> bool {
        !self.measured_us().is_nan()
    }

    /// Its place among the rows of the table.
    pub(crate) fn number(self) -> u32 {
        self.number
    }

    /// Which duration column counts, 0 for the best.
    #[inline]
    pub(crate) fn priority(self) -> u8 {
        self.record().priority
    }

    /// The duration for exact search: that of the cores where it is out of proportion.
    #[inline]
    pub(crate) fn search_duration_us(self) -> f64 {
        self.envelope_us().unwrap_or(self.measured_us())
    }

    /// The duration of the cores, where it replaces a profiled one that is out of proportion.
    #[inline]
    pub(crate) fn envelope_us(self) -> Option<f64> {
        let envelopes = &self.table.content.envelopes;
        if envelopes.is_empty() { None } else { envelopes.get(&self.number).copied() }
    }

    /// Whether it is of the same case as another row of its table: both were measured for one question.
    pub(crate) fn is_case_of(self, other: KernelRow<'_>) -> bool {
        self.record().texts == other.record().texts
            && self.inputs().into_iter().eq(other.inputs())
            && self.outputs().into_iter().eq(other.outputs())
            && self.table.content.columns.are_equal(self.number, other.number)
    }

    /// The standard deviation of its durations over their mean, where the table has it.
    pub(crate) fn spread(self) -> Option<f64> {
        let spread = self.table.content.spreads.get(self.number as usize).copied();
        spread.filter(|spread| spread.is_finite()).map(f64::from)
    }

    /// The duration for interpolation, and whether it is of the preferred column.
    pub(crate) fn point_duration(self) -> (f64, bool) {
        let other = self.table.content.point_durations.get(&self.number).copied();
        (other.unwrap_or(self.measured_us()), self.record().is_preferred)
    }

    /// The column that has the duration for interpolation.
    pub(crate) fn duration_column(self) -> &'static str {
        super::reader::duration_column(self.record().duration_column)
    }

    /// Shapes of the arguments as matrices, for any format.
    #[inline]
    pub(crate) fn matrices(self) -> Shapes<'t> {
        match self.table.content.matrices.get(self.number as usize) {
            Some(at) => self.table.content.shapes.list(*at),
            None => self.inputs(),
        }
    }

    pub(crate) fn cell(self, column: Column) -> Option<&'t str> {
        self.table.content.columns.cell(column, self.number)
    }

    pub(crate) fn cut(self, column: Column) -> Option<i64> {
        self.table.content.columns.cut(column, self.number)
    }

    pub(crate) fn whole(self, column: Column) -> Option<i64> {
        self.table.content.columns.whole(column, self.number)
    }

    pub(crate) fn text(self, column: Column, float_texts: bool) -> Option<std::borrow::Cow<'t, str>> {
        self.table.content.columns.text(column, self.number, float_texts)
    }

    pub(crate) fn flag(self, column: Column) -> bool {
        self.table.content.columns.flag(column, self.number)
    }

    /// The average length, cut to an integer.
    #[inline]
    pub fn average_length(self) -> Option<i64> {
        let new = self.table.has(Column::AvgSeqLen);
        self.cut(if new { Column::AvgSeqLen } else { Column::OldAvgSeqLen }).filter(|length| *length >= 0)
    }

    /// File and line.
    #[inline]
    pub(crate) fn reference(self) -> RowRef {
        RowRef { path: self.table.path.clone(), line: self.record().line }
    }

    pub(crate) fn table(self) -> &'t KernelRows {
        self.table
    }
}

impl fmt::Debug for KernelRow<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KernelRow")
            .field("line", &self.line())
            .field("inputs", &self.inputs())
            .field("input_types", &self.input_types())
            .field("input_formats", &self.input_formats())
            .field("outputs", &self.outputs())
            .field("output_types", &self.output_types())
            .field("duration_us", &self.duration_us())
            .field("ep_size", &self.ep_size())
            .finish_non_exhaustive()
    }
}
