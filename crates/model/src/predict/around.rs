//! The rows that a point is predicted from: the nearest ones, and on each axis some on either side.

use crate::predict::forest::Nearest;
use crate::predict::kriging::MOST_NEIGHBOURS;
use crate::predict::model::Model;
use crate::predict::point::MOST_AXES;
use crate::predict::scale::Scale;
use crate::predict::side::SAME;
use smallvec::SmallVec;

/// How many times farther than the nearest ones a row may be that lies on a side where none of them does.
const REACH: f64 = 4.0;

/// Coordinates on which a point should lie between rows: the octaves of all axes, and coupled ones as they are.
pub(crate) type Coordinates = SmallVec<[f64; MOST_AXES]>;

/// Of a row or a point of a scale.
pub(crate) fn coordinates(scale: &Scale, point: &[f64]) -> Coordinates {
    let varying = scale.varying.len().min(point.len());
    let octaves = scale.uncoupled(point);
    let coupled = scale.coupling.iter().map(|[axis, _]| point[*axis] / scale.varying[*axis].1);
    octaves[..varying].iter().copied().chain(coupled).collect()
}

/// The least and the greatest of some rows.
pub(crate) fn ends(rows: impl Iterator<Item = Coordinates>) -> Vec<[f64; 2]> {
    let mut ends: Vec<[f64; 2]> = Vec::new();
    for row in rows {
        ends.resize(row.len(), [f64::INFINITY, f64::NEG_INFINITY]);
        for ([low, high], at) in ends.iter_mut().zip(row) {
            (*low, *high) = (low.min(at), high.max(at));
        }
    }
    ends
}

impl Model {
    /// The rows around a point that pass.
    ///
    /// The nearest alone may all lie at one or two points that differ only in what hardly counts, such as heads, with the point on one side of all of them
    /// although the table has rows on the other.
    pub(crate) fn around(&self, slice: usize, point: &[f64], passes: &dyn Fn(u32) -> bool) -> Nearest<MOST_NEIGHBOURS> {
        let mut near = self.forest.nearest(slice, point, self.neighbours, passes);
        self.add_sides(slice, point, &mut near, passes);
        near
    }

    /// Adds the nearest row on each side on which there is none yet.
    pub(crate) fn add_sides(
        &self,
        slice: usize,
        point: &[f64],
        near: &mut Nearest<MOST_NEIGHBOURS>,
        passes: &dyn Fn(u32) -> bool,
    ) {
        let Some(farthest) = near.distances().last().copied() else { return };
        if near.rows().len() < self.neighbours {
            return;
        }
        let of_row = |row: u32| coordinates(&self.scale, self.forest.row(row));
        let own = coordinates(&self.scale, point);
        let mut known: SmallVec<[Coordinates; MOST_NEIGHBOURS]> = near.rows().iter().map(|row| of_row(*row)).collect();
        let mut more: SmallVec<[(f64, u32); 4]> = SmallVec::new();
        for (axis, (here, [low, high])) in own.iter().zip(&self.ends).enumerate() {
            for side in [-1.0, 1.0] {
                let is_there = |row: &Coordinates| side * (row[axis] - here) >= -SAME;
                let has_any = if side < 0.0 { *low <= here + SAME } else { *high >= here - SAME };
                if !has_any || known.iter().any(is_there) {
                    continue;
                }
                let passes = |row: u32| is_there(&of_row(row)) && passes(row);
                let found = self.forest.nearest_within(slice, point, REACH * farthest, &passes);
                if let Some((distance, row)) = found {
                    known.push(of_row(row));
                    more.push((distance, row));
                }
            }
        }
        if !more.is_empty() {
            near.add(&more);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::predict::{Attention, Class, Point, Rows, Table};

    /// Decoding with many numbers of heads, which hardly count, over a grid of batches and lengths.
    fn call(batch: f64, tokens: f64, heads: f64) -> Point {
        Point::decode(Attention { batch, tokens, heads, kv_heads: 8.0, head_size: 128.0, window: 0.0 }, 2.0)
    }

    fn time_us(batch: f64, tokens: f64, heads: f64) -> f64 {
        // A cache is read in blocks of 64 tokens.
        12.0 + batch * ((tokens + 1.0) / 64.0).ceil() * 0.3 + heads * 0.02
    }

    #[test]
    fn places_between_lengths_have_rows_on_both_sides() {
        let mut rows = Rows::new(4);
        let mut number = 0;
        for batch in (0..11).map(|power| f64::from(1 << power)) {
            for tokens in (0..13).map(|power| f64::from((2 << power) - 1)) {
                for heads in [8.0, 16.0, 24.0, 32.0, 40.0, 48.0, 64.0, 96.0] {
                    rows.push(number, &call(batch, tokens, heads), time_us(batch, tokens, heads), None);
                    number += 1;
                }
            }
        }
        let table = Table::new(vec![rows], Some(1));
        for (batch, tokens) in [(256.0, 40.0), (256.0, 48.0), (256.0, 56.0), (64.0, 700.0), (437.0, 55.0), (50.0, 34.0)]
        {
            let answer = table.predict(0, &call(batch, tokens, 64.0)).expect("rows");
            assert_eq!(answer.class, Class::Inside, "{batch} {tokens}");
            let explained = table.explain(0, &call(batch, tokens, 64.0)).expect("rows");
            let lengths = explained.neighbours.iter().map(|near| f64::from((2 << (near.row / 8 % 13)) - 1));
            let [shorter, longer] = [lengths.clone().fold(f64::INFINITY, f64::min), lengths.fold(0.0, f64::max)];
            assert!(shorter < tokens && tokens < longer, "{batch} {tokens}: {shorter} to {longer}");
        }
    }
}
