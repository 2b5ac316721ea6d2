//! One file for every kernel subsystem, one program for every hook.

mod calls;
mod iterator;
mod offcpu;
mod runq;
mod sched;
mod softirq;
mod stacks;
mod syscall;
mod tasks;
mod uring;
