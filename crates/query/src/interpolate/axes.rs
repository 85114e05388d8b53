//! Axes, and rows as points on them.

use smallvec::SmallVec;

/// Most axes of any kind.
pub(crate) const MOST_AXES: usize = 5;

/// Coordinates; not a number where a point lacks an axis.
pub(crate) type Coordinates = [f64; MOST_AXES];

/// No coordinate.
pub(crate) const ABSENT: f64 = f64::NAN;

/// A coordinate as bits for a hash. Sizes are whole numbers, whose last bits are zeros: swapped, the hash tells them apart.
pub(crate) fn swapped_bits(coordinate: f64) -> u64 {
    coordinate.to_bits().swap_bytes()
}

/// Numbers below eight as bits.
pub(crate) fn bits_of(numbers: impl Iterator<Item = u8>) -> u8 {
    numbers.fold(0, |all, number| all | 1 << number)
}

/// Axes by their numbers.
pub(crate) type AxisSet = &'static [u8];

/// Which coordinates the points of a kind have, and which are varied.
#[derive(Debug)]
pub(crate) struct Axes {
    pub(crate) names: &'static [&'static str],
    pub(crate) sets: &'static [AxisSet],
    /// An axis on which equal or padded is near enough.
    pub(crate) padded: Option<u8>,
}

/// A row with its coordinates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowPoint {
    pub(crate) at: Coordinates,
    pub(crate) duration_us: f64,
    pub(crate) row: u32,
    /// The standard deviation of its durations over their mean; not a number where it is not known.
    pub(crate) spread: f32,
}

impl RowPoint {
    /// How far the durations of its calls spread, where that is known.
    pub(crate) fn deviation_us(&self) -> Option<f64> {
        Some(f64::from(self.spread) * self.duration_us).filter(|deviation_us| deviation_us.is_finite())
    }
}

/// What must agree between a group and a target, as bytes.
#[derive(Debug, Default, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(SmallVec<[u8; 128]>);

impl Key {
    /// Takes back all that was added.
    pub(crate) fn clear(&mut self) -> &mut Self {
        self.0.clear();
        self
    }

    /// Makes it another one.
    pub(crate) fn set(&mut self, other: &Key) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }

    pub(crate) fn integer(&mut self, number: i64) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(crate) fn shape(&mut self, shape: &[i64]) -> &mut Self {
        self.integer(shape.len() as i64);
        shape.iter().for_each(|dimension| {
            self.integer(*dimension);
        });
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0xff);
        self
    }

    pub(crate) fn texts<'s>(&mut self, texts: impl IntoIterator<Item = &'s str>) -> &mut Self {
        for text in texts {
            self.text(text);
        }
        self.0.push(0xfe);
        self
    }
}
