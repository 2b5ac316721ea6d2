//! One file for every kernel subsystem, one program for every hook.

mod calls;
mod sched;
mod stacks;
mod syscall;
mod tasks;
mod uring;
