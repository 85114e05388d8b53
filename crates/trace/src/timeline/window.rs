//! What is shown: the calls of all sides in one stretch of a pass.

/// One stretch of a pass, which begins at the same place on all sides.
#[derive(Debug, Clone, Default)]
pub struct Window<'a> {
    /// What it is, such as `layer 3`.
    pub name: &'a str,
    /// Each side, as many as the timeline has.
    pub sides: Vec<Side<'a>>,
}

/// What one side did in a window.
#[derive(Debug, Clone, Default)]
pub struct Side<'a> {
    /// Its calls, in the order of their starts.
    pub calls: Vec<Call<'a>>,
    /// Where on the side's own clock the next window begins, or the last call ends, in picoseconds.
    pub until_ps: i64,
}

/// A call of a kernel.
#[derive(Debug, Clone, Copy, Default)]
pub struct Call<'a> {
    /// The kernel.
    pub name: &'a str,
    /// Its shape; empty where there is none.
    pub shape: &'a str,
    /// Its family; empty where there is none.
    pub family: &'a str,
    /// Why the sides differ; empty where they do not.
    pub cause: &'a str,
    /// What that makes per call, first less second side, in picoseconds.
    pub lost_ps: Option<i64>,
    /// Start on the side's own clock in picoseconds.
    pub start_ps: i64,
    /// Duration in picoseconds.
    pub duration_ps: i64,
    /// Calls of one number do the same work: the first of one side is joined with the first of the other, and so on.
    pub work: u32,
    /// How well the sides agree on it.
    pub agreement: Agreement,
}

/// How well two sides agree on a call; viewers that know colour names show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Agreement {
    /// Nothing is known of it.
    #[default]
    Unknown,
    /// Within a tenth.
    Close,
    /// Further off.
    Off,
    /// Nothing on the other side does this work.
    Alone,
}

impl Agreement {
    /// That of two times of the same work.
    pub fn of(first_ps: i128, second_ps: i128) -> Agreement {
        match (first_ps, second_ps) {
            (0, 0) => Agreement::Unknown,
            (0, _) | (_, 0) => Agreement::Alone,
            _ if (first_ps - second_ps).abs() * 10 <= second_ps.abs() => Agreement::Close,
            _ => Agreement::Off,
        }
    }

    /// A colour name of the trace format.
    pub(crate) fn color(self) -> Option<&'static str> {
        match self {
            Agreement::Unknown => None,
            Agreement::Close => Some("good"),
            Agreement::Off => Some("bad"),
            Agreement::Alone => Some("terrible"),
        }
    }
}
