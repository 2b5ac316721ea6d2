//! The measurements as a table.

use super::{Case, Event, Measurements, Round};
use crate::statistics::Quartiles;

/// A pipe exchange makes a read and a write for each context switch.
const SYSCALLS_PER_SWITCH: f64 = 2.0;

/// Prints what every tool adds, and how ours compares.
#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
pub(super) fn print(all: &Measurements) {
    let rounds = all.ours.0.len();
    println!("ns of CPU time that a tool adds to an event, median (quartiles) of {rounds} rounds;");
    println!("a switch is without its two syscalls\n");
    bare("a syscall (getppid)", &all.ours, |round| round.call);
    bare("a switch with two syscalls", &all.ours, |round| round.switch);
    println!();
    for (title, is_of_switches, added) in [
        ("syscall, in the cgroup", false, call_inside as fn(&Round) -> f64),
        ("syscall, elsewhere", false, call_outside),
        ("switch, in the cgroup", true, switch_inside),
        ("switch, elsewhere", true, switch_outside),
    ] {
        println!("{title}");
        println!("{}", line("bench-user", &all.ours, added, None));
        for (peer, case) in &all.peers {
            if peer.is_of_switches() == is_of_switches {
                println!("{}", line(peer.name(), case, added, Some(&all.ours)));
            }
        }
    }
    println!();
    if let Some(ms) = Quartiles::of(all.attach_ms.iter().copied()) {
        println!("start to attached: {:.0} ms ({:.0} .. {:.0})", ms.median, ms.low, ms.high);
    }
    println!("counted in the cgroup: {} of {} calls", all.counted, all.made);
    for (peer, why) in &all.left_out {
        println!("{} is left out: {why}", peer.name());
    }
}

#[expect(clippy::print_stdout, reason = "a line of the table")]
fn bare(title: &str, case: &Case, event: fn(&Round) -> Event) {
    if let Some(ns) = Quartiles::of(case.0.iter().map(|round| event(round).bare)) {
        println!("{title}, without any: {:.1} ({:.1} .. {:.1})", ns.median, ns.low, ns.high);
    }
}

fn call_inside(round: &Round) -> f64 {
    round.call.inside - round.call.bare
}

fn call_outside(round: &Round) -> f64 {
    round.call.outside - round.call.bare
}

/// What a round's switches cost more, less what its syscalls alone cost more.
fn switch_inside(round: &Round) -> f64 {
    round.switch.inside - round.switch.bare - SYSCALLS_PER_SWITCH * call_inside(round)
}

fn switch_outside(round: &Round) -> f64 {
    round.switch.outside - round.switch.bare - SYSCALLS_PER_SWITCH * call_outside(round)
}

/// What one tool adds; beside a peer the share of it that ours is, from the same rounds.
fn line(name: &str, case: &Case, added: fn(&Round) -> f64, ours: Option<&Case>) -> String {
    let Some(ns) = Quartiles::of(case.0.iter().map(added)) else {
        return format!("  {name}");
    };
    let of_it = ours.and_then(|ours| {
        let ratio = |(ours, peer): (&Round, &Round)| added(ours) / added(peer);
        Quartiles::of(ours.0.iter().zip(&case.0).map(ratio))
    });
    let of_it = of_it.map_or_else(String::new, |ratio| {
        format!("   ours is {:.2} of it ({:.2} .. {:.2})", ratio.median, ratio.low, ratio.high)
    });
    format!("  {name:<18}{:>+8.1} ({:+.1} .. {:+.1}){of_it}", ns.median, ns.low, ns.high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(call: f64, switch: f64) -> Round {
        let event = |bare: f64, added| Event { bare, outside: bare, inside: bare + added };
        Round { call: event(100.0, call), switch: event(1000.0, switch) }
    }

    #[test]
    fn the_switch_alone_is_what_its_two_syscalls_do_not_explain() {
        assert!((switch_inside(&round(30.0, 160.0)) - 100.0).abs() < 1e-9);
        assert!(switch_outside(&round(30.0, 160.0)).abs() < 1e-9);
    }

    #[test]
    fn a_ratio_is_taken_within_rounds() {
        let ours = Case(vec![round(10.0, 0.0), round(20.0, 0.0), round(30.0, 0.0)]);
        let peer = Case(vec![round(20.0, 0.0), round(40.0, 0.0), round(60.0, 0.0)]);
        let text = line("peer", &peer, call_inside, Some(&ours));
        assert!(text.contains("+40.0 (+30.0 .. +50.0)"), "{text}");
        assert!(text.contains("ours is 0.50 of it (0.50 .. 0.50)"), "{text}");
    }
}
