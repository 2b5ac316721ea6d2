//! What both sides of the BPF boundary agree on.
//!
//! The library is the contract (types, names, histogram buckets) and compiles for the host too;
//! the binary of this package is the object that the kernel loads.

#![cfg_attr(target_arch = "bpf", no_std)]

/// Map values, names and constants.
pub mod abi;

/// The time between two switches away from a thread.
pub mod gap;

/// Who holds a CPU while threads wait for it.
pub mod queue;

/// The histogram that the probes fill and the observers read.
pub mod hist;
