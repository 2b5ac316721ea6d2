//! Claims on a machine that other programs keep busy.

use super::forms::limited_by;
use super::*;
use crate::observe::MachineUse;
use crate::record::Bottleneck;

#[test]
fn other_programs_that_held_the_cpus_leave_open_what_else_would_have_limited_it() {
    let mut run = limited_by(&[Bottleneck::RunQueue]);
    let about = |text: &str| ClaimSpec {
        id: "c".into(),
        metric: Some("bottleneck".into()),
        expect: Some(text.into()),
        ..ClaimSpec::default()
    };
    // Its own children beside it, say: nobody else uses a CPU.
    expect(&run, &about("== single-thread"), ClaimVerdict::Fails, "limited by run-queue");
    let stage = &mut run.targets[0].stages[0];
    stage.machine = Measured::Value(MachineUse { busy_cpus: 2.0, ..MachineUse::default() });
    let open = "other programs used up to 1.4 CPUs of this machine while `a` waited";
    expect(&run, &about("== single-thread"), ClaimVerdict::Inconclusive, open);
    expect(&run, &about("!= single-thread"), ClaimVerdict::Inconclusive, open);
    expect(&run, &about("== run-queue"), ClaimVerdict::Holds, "run-queue");
}

#[test]
fn a_difference_beside_others_who_held_the_cpus_is_none_of_the_targets() {
    let mut run = pair(&NODE, &BUN);
    let rate = |text: &str| ClaimSpec {
        metric: Some("load.achieved_rps".into()),
        ..claim(text, "bun", Some("node"))
    };
    for stage in &mut run.targets[1].stages {
        stage.load.achieved_rps /= 2.0;
    }
    expect(&run, &rate("<= -40%"), ClaimVerdict::Holds, "-50.0 %");
    for (i, stage) in run.targets[1].stages.iter_mut().enumerate() {
        stage.verdict.bottleneck = Bottleneck::RunQueue;
        let machine = MachineUse { busy_cpus: 3.0, ..Default::default() };
        stage.machine = if i > 2 { stage.machine.clone() } else { Measured::Value(machine) };
    }
    let open = "CPUs of this machine while `bun` waited for one";
    expect(&run, &rate("<= -40%"), ClaimVerdict::Inconclusive, open);
}
