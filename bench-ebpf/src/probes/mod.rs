//! One file for every kernel subsystem, one program for every hook.

mod sched;
mod stacks;
mod syscall;
