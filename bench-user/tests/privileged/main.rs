//! Tests that need root: the instruments against known amounts of work.

mod bottlenecks;
mod callers;
mod calls;
mod cgroup;
mod exec;
mod explain;
mod hooks;
mod hosts;
mod identities;
mod images;
mod job_plan;
mod jobs;
mod leaving;
mod limited_server;
mod lives;
mod local_ports;
mod many;
mod net;
mod netns;
mod odd;
mod offcpu;
mod outlets;
mod own_cost;
mod perf;
mod place;
mod probes;
mod run;
mod runq;
mod sched;
mod server;
mod services;
mod shares;
mod softirq;
mod stacks;
mod store;
mod studies;
mod target;
mod threads;
mod uring;
mod whole;
mod workload;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    workload::dispatch();
    limited_server::dispatch();
    hosts::dispatch();
    local_ports::dispatch();
    let mut arguments = Arguments::from_args();
    // They count what is attached and share two CPUs.
    arguments.test_threads.get_or_insert(1);
    let mut tests: Vec<Trial> = [
        probes::tests(),
        hooks::tests(),
        explain::tests(),
        sched::tests(),
        lives::tests(),
        calls::tests(),
        odd::tests(),
        uring::tests(),
        many::tests(),
        shares::tests(),
        offcpu::tests(),
        leaving::tests(),
        runq::tests(),
        softirq::tests(),
        perf::tests(),
        net::tests(),
        hosts::tests(),
        identities::tests(),
        cgroup::tests(),
        threads::tests(),
        outlets::tests(),
        target::tests(),
        stacks::tests(),
        store::tests(),
        studies::tests(),
        local_ports::tests(),
        run::tests(),
        images::tests(),
        exec::tests(),
        job_plan::tests(),
        services::tests(),
        whole::tests(),
        bottlenecks::tests(),
        own_cost::tests(),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !rustix::process::geteuid().is_root() {
        tests = tests.into_iter().map(|test| test.with_ignored_flag(true)).collect();
    }
    libtest_mimic::run(&arguments, tests).exit_code()
}
