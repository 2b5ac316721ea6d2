//! The counts side by side.

use super::{Column, Seen, why};

/// Prints the table, what explains it, and who is not in it.
#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
pub(super) fn print(seen: &Seen) {
    println!("{:<18}{:>12}{:>12}{:>12}{:>12}", "", "getppid", "switches", "waits", "says lost");
    for column in std::iter::once(&seen.truth).chain(&seen.tools) {
        println!("{}", line(column));
    }
    println!(
        "\n{:.0} calls/s from the cgroup, then {:.0} switches/s between two threads on one CPU, with \
         all of these tools attached",
        seen.calls_per_sec, seen.switches_per_sec
    );
    for reason in why::reasons(seen) {
        println!("* {reason}");
    }
    for (name, reason) in &seen.left_out {
        println!("* {name} is left out: {reason}");
    }
}

fn line(column: &Column) -> String {
    let show = |n: Option<u64>| n.map_or_else(String::new, |n| n.to_string());
    let Column { name, calls, switches, waits, lost } = column;
    let figures = [calls, switches, waits, lost].map(|n| format!("{:>12}", show(*n)));
    format!("{name:<18}{}", figures.concat()).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_does_not_count_stays_empty() {
        let column = Column { name: "runqlat", waits: Some(7), ..Column::default() };
        assert_eq!(line(&column), format!("runqlat{:>35}{:>12}", "", 7));
    }
}
