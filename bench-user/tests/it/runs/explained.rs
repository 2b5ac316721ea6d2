//! Explanations of a stage, with figures around round numbers.

use std::collections::BTreeMap;

use bench_user::measured::Measured::Value;
use bench_user::observe::{Explained, OffCpuStack, OffCpuStacks, OnCpuStack, OnCpuStacks, Stacks};

/// What was explained of a stage in which the busiest thread was on a CPU for this share of it.
pub(super) fn explained(busiest: f64) -> Explained {
    Explained { stacks: Some(Value(stacks(busiest))), ..Explained::default() }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of five seconds"
)]
fn stacks(busiest: f64) -> Stacks {
    let samples = (busiest * 500.0) as u64;
    let waited = (5e9 * (1.0 - busiest)) as u64;
    let on = |stack: &str, count| OnCpuStack { stack: stack.into(), count };
    let off =
        |stack: &str, count, blocked_ns| OffCpuStack { stack: stack.into(), count, blocked_ns };
    Stacks {
        oncpu: Value(OnCpuStacks {
            frequency_hz: 99,
            samples,
            lost: BTreeMap::from([("collisions".into(), 2)]),
            folded: vec![
                on("node;main;serve;render <a & b>_[j]", samples / 2),
                on("node;main;serve;write;do_syscall_64_[k];tcp_sendmsg_[k]", samples / 4),
                on("node;main;[unknown] libuv.so.1+0x1c2f0", samples / 10),
            ],
            other: samples - samples / 2 - samples / 4 - samples / 10,
        }),
        offcpu: Value(OffCpuStacks {
            blocked_ns: waited,
            waits: 1_200,
            lost: BTreeMap::new(),
            folded: vec![
                off("node;main;epoll_wait;do_epoll_wait_[k];__schedule_[k]", 1_000, waited / 2),
                off("node-pool;worker;futex_wait_[k];__schedule_[k]", 200, waited / 4),
            ],
            other_ns: waited - waited / 2 - waited / 4,
        }),
        notes: vec!["process 42 (node) ran code that no file names".into()],
    }
}
