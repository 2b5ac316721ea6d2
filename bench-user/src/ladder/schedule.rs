//! Which target climbs its ladder when.

use crate::plan::Order;

/// One climb: a target, by its place in the plan, and a repetition, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Climb {
    /// Place of the target in the plan.
    pub target: usize,
    /// Which of its climbs.
    pub repetition: u32,
}

/// All climbs of a run in their order: interleaved as A B B A A B ..., so that a machine that
/// drifts one way favours nobody, or serial.
#[must_use]
pub fn climbs(targets: usize, repeat: u32, order: Order) -> Vec<Climb> {
    match order {
        Order::Serial => (0..targets)
            .flat_map(|target| (0..repeat).map(move |repetition| Climb { target, repetition }))
            .collect(),
        Order::Interleaved => (0..repeat)
            .flat_map(|repetition| {
                (0..targets).map(move |n| {
                    let target = if repetition % 2 == 0 { n } else { targets - 1 - n };
                    Climb { target, repetition }
                })
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(targets: usize, repeat: u32, order: Order, expected: &str) {
        let letters = |c: &Climb| char::from(b"ABC"[c.target]);
        let found: String = climbs(targets, repeat, order).iter().map(letters).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn interleaved_climbs_mirror_each_other() {
        check(2, 4, Order::Interleaved, "ABBAABBA");
        check(3, 2, Order::Interleaved, "ABCCBA");
        check(1, 3, Order::Interleaved, "AAA");
    }

    #[test]
    fn serial_climbs_finish_one_target_first() {
        check(2, 3, Order::Serial, "AAABBB");
    }
}
