//! The measurements as a table.

use super::{Case, Measurements, Yardstick};
use crate::statistics::Quartiles;

/// A pipe exchange makes a read and a write for each context switch.
const SYSCALLS_PER_SWITCH: f64 = 2.0;

/// Prints the medians, the quartiles and what the probes add.
#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
pub(super) fn print(all: &Measurements) {
    println!(
        "ns of CPU time per event: median (quartiles) over {} rounds, and",
        all.call.bare.len()
    );
    println!(
        "what it is more than without probes: median (quartiles) of the rounds' differences\n"
    );
    for line in lines("syscall (getppid)", &all.call) {
        println!("{line}");
    }
    println!();
    for line in lines("context switch, with its two syscalls", &all.switch) {
        println!("{line}");
    }
    if let Some(added) = Quartiles::of(switch_alone(all)) {
        println!("  {:<26}{:>34}", "the switch alone, inside", signed(added));
    }
    println!();
    if let Some(ms) = Quartiles::of(all.attach_ms.iter().copied()) {
        println!("start to attached: {:.0} ms ({:.0} .. {:.0})", ms.median, ms.low, ms.high);
    }
    println!("counted in the cgroup: {} of {} calls", all.counted, all.made);
    match &all.bpftrace {
        Yardstick::Counted { made, counted } => {
            println!("counted by bpftrace: {counted} syscalls, of which {made} were the calls");
        }
        Yardstick::Without(why) => println!("no bpftrace to compare with: {why}"),
    }
}

fn lines(title: &str, case: &Case) -> Vec<String> {
    let mut lines = vec![title.to_owned()];
    lines.extend(line("without probes", &case.bare, None));
    let added = |with: &[f64]| Quartiles::of(with.iter().zip(&case.bare).map(|(w, bare)| w - bare));
    lines.extend(line("attached, outside", &case.outside, added(&case.outside)));
    lines.extend(line("attached, inside", &case.inside, added(&case.inside)));
    let counted: Vec<f64> = case.bpftrace.iter().map(|(_, with)| *with).collect();
    let more = Quartiles::of(case.bpftrace.iter().map(|(bare, with)| with - bare));
    lines.extend(line("bpftrace's count()", &counted, more));
    lines
}

fn line(name: &str, values: &[f64], added: Option<Quartiles>) -> Option<String> {
    let Quartiles { low, median, high } = Quartiles::of(values.iter().copied())?;
    let spread = format!("({low:.1} .. {high:.1})");
    let added = added.map(signed).unwrap_or_default();
    Some(format!("  {name:<20}{median:>9.1} {spread:<22}{added}").trim_end().to_owned())
}

fn signed(added: Quartiles) -> String {
    format!("{:+.1} ({:+.1} .. {:+.1})", added.median, added.low, added.high)
}

/// What a round's switches cost more, less what its syscalls alone cost more.
fn switch_alone(all: &Measurements) -> impl Iterator<Item = f64> {
    let added = |case: &Case| -> Vec<f64> {
        case.inside.iter().zip(&case.bare).map(|(inside, bare)| inside - bare).collect()
    };
    let (switch, call) = (added(&all.switch), added(&all.call));
    switch.into_iter().zip(call).map(|(switch, call)| switch - SYSCALLS_PER_SWITCH * call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switch_alone_is_what_its_two_syscalls_do_not_explain() {
        let case =
            |bare, inside| Case { bare: vec![bare], inside: vec![inside], ..Case::default() };
        let all = Measurements {
            call: case(100.0, 130.0),
            switch: case(1000.0, 1160.0),
            ..Measurements::default()
        };
        assert_eq!(switch_alone(&all).collect::<Vec<_>>(), [100.0]);
    }

    #[test]
    fn differences_are_taken_within_rounds() {
        let case = Case {
            bare: vec![100.0, 200.0, 300.0],
            inside: vec![110.0, 210.0, 310.0],
            ..Case::default()
        };
        let text = lines("x", &case).join("\n");
        assert!(text.contains("+10.0 (+10.0 .. +10.0)"), "{text}");
    }
}
