//! Threads for calls that run at the same time.

/// Where on a side each thread is free again.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    free_from_ns: Vec<i64>,
}

impl Lanes {
    /// The first thread that is free at the start of a call, from 0. Calls come in the order of their starts.
    pub(crate) fn take(&mut self, start_ns: i64, end_ns: i64) -> usize {
        let free = self.free_from_ns.iter().position(|&free_ns| free_ns <= start_ns);
        let lane = free.unwrap_or_else(|| {
            self.free_from_ns.push(start_ns);
            self.free_from_ns.len() - 1
        });
        self.free_from_ns[lane] = end_ns;
        lane
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_at_the_same_time_stand_apart() {
        let mut lanes = Lanes::default();
        let taken: Vec<usize> = [(0, 10), (2, 4), (3, 20), (4, 5), (10, 11)].map(|(a, b)| lanes.take(a, b)).into();
        assert_eq!(taken, [0, 1, 2, 1, 0]);
    }
}
