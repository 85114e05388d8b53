//! Time ratio = ratio of rooflines × ratio of efficiencies.

/// Sums over the operators of both traces, per pass, in ms.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Ratios {
    /// T of trace 1 and 2.
    pub(super) time: [f64; 2],
    /// R of the work of a trace (outer) on the device of a trace (inner).
    roofline: [[f64; 2]; 2],
}

impl Ratios {
    /// Takes in an operator: its times and calls per pass, and the least time of a call on each device.
    pub(super) fn add(&mut self, time: [f64; 2], calls: [f64; 2], limit: [f64; 2]) {
        for side in 0..2 {
            self.time[side] += time[side];
            for (device, limit) in limit.into_iter().enumerate() {
                self.roofline[side][device] += calls[side] * limit;
            }
        }
    }

    fn are_known(&self) -> bool {
        self.time.iter().chain(self.roofline.iter().flatten()).all(|part| *part > 0.0)
    }

    /// T2/T1
    pub(super) fn time_ratio(&self) -> Option<f64> {
        self.are_known().then(|| self.time[1] / self.time[0])
    }

    /// R2/R1, each trace with its work on its device.
    pub(super) fn roofline_ratio(&self) -> Option<f64> {
        self.are_known().then(|| self.roofline[1][1] / self.roofline[0][0])
    }

    /// E1/E2
    pub(super) fn efficiency_ratio(&self) -> Option<f64> {
        Some(self.time_ratio()? / self.roofline_ratio()?)
    }

    /// The geometric mean over the work of both traces of what the devices make of it.
    pub(super) fn hardware_ratio(&self) -> Option<f64> {
        let of = |side: usize| self.roofline[side][1] / self.roofline[side][0];
        self.are_known().then(|| (of(0) * of(1)).sqrt())
    }

    /// What is left of the ratio of the rooflines.
    pub(super) fn work_ratio(&self) -> Option<f64> {
        Some(self.roofline_ratio()? / self.hardware_ratio()?)
    }
}

/// The difference of an operator's times, in ms.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Split {
    pub(super) work_ms: f64,
    pub(super) hardware_ms: f64,
    pub(super) kernel_ms: f64,
}

impl Split {
    /// Splits `time[1] − time[0]`; nothing where either side has no time.
    pub(super) fn of(time: [f64; 2], calls: [f64; 2], limit: [f64; 2]) -> Option<Split> {
        if time.into_iter().chain(calls).chain(limit).any(|part| part <= 0.0) {
            return None;
        }
        let difference = time[1] - time[0];
        let change = difference / time[0];
        // Of times that are nearly equal, the rounded ratio says less than their difference.
        let logarithm = if change.abs() < 1e-3 { change.ln_1p() } else { (time[1] / time[0]).ln() };
        let mean = if logarithm == 0.0 { time[0] } else { difference / logarithm };
        let work_ms = mean * (calls[1] / calls[0]).ln();
        let hardware_ms = mean * (limit[1] / limit[0]).ln();
        Some(Split { work_ms, hardware_ms, kernel_ms: difference - work_ms - hardware_ms })
    }

    pub(super) fn add(&mut self, other: &Split) {
        self.work_ms += other.work_ms;
        self.hardware_ms += other.hardware_ms;
        self.kernel_ms += other.kernel_ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(one: f64, other: f64, scale: f64) -> bool {
        (one - other).abs() <= 1e-12 * scale.abs()
    }

    proptest! {
        #[test]
        fn ratios_multiply_and_differences_add_up(
            rows in proptest::collection::vec(([1e-6_f64..1e3, 1e-6..1e3], [0.01_f64..1e4, 0.01..1e4], [1e-6_f64..10.0, 1e-6..10.0]), 1..20)
        ) {
            let mut all = Ratios::default();
            for (time, calls, limit) in rows {
                let mut one = Ratios::default();
                one.add(time, calls, limit);
                all.add(time, calls, limit);
                for ratios in [one, all] {
                    let (time, roofline, efficiency) = (ratios.time_ratio(), ratios.roofline_ratio(), ratios.efficiency_ratio());
                    let (time, roofline, efficiency) = (time.expect("times"), roofline.expect("limits"), efficiency.expect("both"));
                    prop_assert!(near(roofline * efficiency, time, time));
                    let parts = ratios.hardware_ratio().expect("limits") * ratios.work_ratio().expect("limits");
                    prop_assert!(near(parts, roofline, roofline));
                }
                // The efficiencies themselves, from their definition.
                let efficiency = [0, 1].map(|side| calls[side] * limit[side] / time[side]);
                let ratio = efficiency[0] / efficiency[1];
                prop_assert!(near(one.efficiency_ratio().expect("both"), ratio, ratio));
                let split = Split::of(time, calls, limit).expect("all positive");
                let sum = split.work_ms + split.hardware_ms + split.kernel_ms;
                let scale = split.work_ms.abs() + split.hardware_ms.abs() + split.kernel_ms.abs() + time[0] + time[1];
                prop_assert!(near(sum, time[1] - time[0], scale));
                // The other way round, every part has the other sign.
                let back = Split::of([time[1], time[0]], [calls[1], calls[0]], [limit[1], limit[0]]).expect("all positive");
                prop_assert!(near(back.hardware_ms, -split.hardware_ms, scale) && near(back.kernel_ms, -split.kernel_ms, scale));
            }
        }
    }

    #[test]
    fn times_that_are_nearly_equal_are_split_to_the_last_digits() {
        // By the series of the logarithmic mean: that of both times, less a twelfth of the square of their difference by their mean.
        for apart in [1e-12, 1e-9, 1e-6, 7e-6, 1e-4] {
            let times = [1000.0, 1000.0 * (1.0 + apart)];
            let split = Split::of(times, [1.0, 1.0], [1.0, 0.5]).expect("all positive");
            let (middle, difference) = ((times[0] + times[1]) / 2.0, times[1] - times[0]);
            let mean = middle - difference * difference / (12.0 * middle);
            assert!(near(split.hardware_ms, mean * 0.5_f64.ln(), 1000.0), "{apart} {}", split.hardware_ms);
        }
    }

    #[test]
    fn the_device_makes_what_it_makes_of_the_same_work() {
        // Half the bandwidth, the same efficiency, the same calls.
        let split = Split::of([1.0, 2.0], [3.0, 3.0], [0.5, 1.0]).expect("all positive");
        assert!((split.hardware_ms - 1.0).abs() < 1e-12 && split.kernel_ms.abs() < 1e-12 && split.work_ms == 0.0);
        // The same device, and a kernel that takes twice as long.
        let split = Split::of([1.0, 2.0], [3.0, 3.0], [0.5, 0.5]).expect("all positive");
        assert!((split.kernel_ms - 1.0).abs() < 1e-12 && split.hardware_ms == 0.0);
        assert_eq!(Split::of([0.0, 2.0], [3.0, 3.0], [0.5, 0.5]), None);
        // Equal times: what the device gives, the kernel takes.
        let split = Split::of([2.0, 2.0], [1.0, 1.0], [1.0, 0.5]).expect("all positive");
        assert!((split.hardware_ms + split.kernel_ms).abs() < 1e-12 && split.hardware_ms < -1.3);
    }
}
