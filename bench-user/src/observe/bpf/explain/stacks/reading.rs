//! The maps of stacks at one moment, and what two moments say of the time between.

use std::collections::{BTreeMap, HashMap, HashSet};

use aya::Ebpf;
use aya::maps::StackTraceMap;
use bench_ebpf::abi::stacks::{Blocked, StackCounts, StackKey, TRACE_SLOTS, maps, programs};

use super::fold::{self, Naming};
use super::{FREQUENCY_HZ, waits, why_no_off_cpu};
use crate::measured::Measured;
use crate::observe::bpf::part::is_loaded;
use crate::observe::bpf::{fdinfo, lost, map};
use crate::observe::explained::{
    OffCpuStack, OffCpuStacks, OnCpuStack, OnCpuStacks, STACKS_KEPT, Stacks,
};
use crate::observe::symbols::{Names, Processes};

/// What was counted since the probes were attached.
pub(in crate::observe::bpf::explain) struct Reading {
    on_cpu: HashMap<StackKey, u64>,
    off_cpu: Measured<OffCpu>,
    counts: StackCounts,
    on_cpu_missed: u64,
    /// Addresses of every stack by its id, from the innermost outwards.
    traces: HashMap<i32, Vec<u64>>,
    /// What names them; filled in by whoever keeps it.
    pub(in crate::observe::bpf::explain) processes: Processes,
}

struct OffCpu {
    ended: HashMap<StackKey, Blocked>,
    /// Waits that went on when this was read, ns.
    open: HashMap<StackKey, u64>,
    missed: u64,
}

impl Reading {
    /// Copies the maps.
    ///
    /// # Errors
    /// When the kernel refuses to read one.
    pub(in crate::observe::bpf::explain) fn read(ebpf: &Ebpf) -> Result<Self, String> {
        let on_cpu: HashMap<StackKey, u64> =
            map::sums(ebpf, maps::ON_CPU, |sum: &mut u64, n| *sum += n)?;
        let off_cpu = if is_loaded(ebpf, programs::OFF_CPU) {
            Measured::Value(OffCpu::read(ebpf)?)
        } else {
            Measured::unavailable(why_no_off_cpu())
        };
        let waiting =
            off_cpu.value().into_iter().flat_map(|off| off.ended.keys().chain(off.open.keys()));
        let traces = traces(ebpf, on_cpu.keys().chain(waiting))?;
        let counts = map::per_cpu(ebpf, maps::COUNTS)?;
        Ok(Self {
            on_cpu,
            off_cpu,
            counts: counts.iter().fold(StackCounts::default(), plus),
            on_cpu_missed: fdinfo::figure(ebpf, programs::ON_CPU, "recursion_misses")?,
            traces,
            processes: Processes::default(),
        })
    }

    /// The block of the record for the time between two readings, with names.
    pub(in crate::observe::bpf::explain) fn since(&self, then: &Self) -> Stacks {
        let mut names = Names::new(&self.processes);
        let oncpu = Measured::Value(self.on_cpu_since(then, &mut names));
        let mut off_cpu = || {
            let (now, before) = (self.off_cpu.as_result()?, then.off_cpu.as_result()?);
            Ok::<_, &str>(self.off_cpu_since(then, (now, before), &mut names))
        };
        let offcpu = off_cpu().into();
        Stacks { oncpu, offcpu, notes: names.notes() }
    }

    fn on_cpu_since(&self, then: &Self, names: &mut dyn Naming) -> OnCpuStacks {
        let mut by_stack = BTreeMap::<String, u64>::new();
        let mut samples = 0;
        for (key, now) in &self.on_cpu {
            let count = now - then.on_cpu.get(key).unwrap_or(&0);
            if count > 0 {
                samples += count;
                *by_stack.entry(fold::on_cpu(key, &self.traces, names)).or_default() += count;
            }
        }
        let (counts, before) = (&self.counts, &then.counts);
        let full = counts.sample_full - before.sample_full;
        let (kept, other) = fold::heaviest(by_stack, STACKS_KEPT, |count| *count);
        OnCpuStacks {
            frequency_hz: FREQUENCY_HZ,
            samples: samples + full,
            lost: lost::by_cause([
                ("collisions", counts.sample_collisions - before.sample_collisions),
                ("stacks_full", full),
                ("filter_failed", counts.sample_filter_failed - before.sample_filter_failed),
                ("missed", self.on_cpu_missed - then.on_cpu_missed),
            ]),
            folded: kept.into_iter().map(|(stack, count)| OnCpuStack { stack, count }).collect(),
            other,
        }
    }

    fn off_cpu_since(
        &self,
        then: &Self,
        (now, before): (&OffCpu, &OffCpu),
        names: &mut dyn Naming,
    ) -> OffCpuStacks {
        let mut by_stack = BTreeMap::<String, Blocked>::new();
        let mut all = Blocked::default();
        for key in now.ended.keys().chain(now.open.keys()).collect::<HashSet<_>>() {
            let blocked = now.waited(key, before);
            if blocked.ns > 0 || blocked.times > 0 {
                add(&mut all, &blocked);
                add(by_stack.entry(fold::off_cpu(key, &self.traces, names)).or_default(), &blocked);
            }
        }
        let (kept, other_ns) = fold::heaviest(by_stack, STACKS_KEPT, |blocked| blocked.ns);
        let (counts, was) = (&self.counts, &then.counts);
        OffCpuStacks {
            blocked_ns: all.ns,
            waits: all.times,
            lost: lost::by_cause([
                ("collisions", counts.wait_collisions - was.wait_collisions),
                ("stacks_full", counts.wait_full - was.wait_full),
                ("threads_full", counts.threads_full - was.threads_full),
                ("merged", counts.merged - was.merged),
                ("filter_failed", counts.wait_filter_failed - was.wait_filter_failed),
                ("missed", now.missed - before.missed),
            ]),
            folded: kept
                .into_iter()
                .map(|(stack, Blocked { times: count, ns: blocked_ns })| OffCpuStack {
                    stack,
                    count,
                    blocked_ns,
                })
                .collect(),
            other_ns,
        }
    }
}

impl OffCpu {
    fn read(ebpf: &Ebpf) -> Result<Self, String> {
        let ended = map::sums(ebpf, maps::OFF_CPU, add)?;
        // After those that have ended: a wait that ends between the two is left out, and none
        // is there twice.
        let away = map::read(ebpf, maps::AWAY, |map| {
            aya::maps::HashMap::try_from(map)?.iter().collect::<Result<HashMap<_, _>, _>>()
        })?;
        let missed = fdinfo::figure(ebpf, programs::OFF_CPU, "recursion_misses")?;
        Ok(Self { ended, open: waits::open(&away), missed })
    }

    /// What one stack waited between two readings: of a wait that spans one of them, the part
    /// between.
    fn waited(&self, key: &StackKey, before: &Self) -> Blocked {
        let (now, then) = (self.ended.get(key), before.ended.get(key));
        let (now, then) = (now.copied().unwrap_or_default(), then.copied().unwrap_or_default());
        let open = |reading: &Self| reading.open.get(key).copied().unwrap_or(0);
        Blocked {
            times: now.times - then.times,
            // The books of a running thread lag, so a wait may have looked longer than it was.
            ns: (now.ns + open(self)).saturating_sub(then.ns + open(before)),
        }
    }
}

fn add(sum: &mut Blocked, part: &Blocked) {
    sum.times += part.times;
    sum.ns += part.ns;
}

fn plus(sum: StackCounts, cpu: &StackCounts) -> StackCounts {
    StackCounts {
        sample_collisions: sum.sample_collisions + cpu.sample_collisions,
        sample_full: sum.sample_full + cpu.sample_full,
        sample_filter_failed: sum.sample_filter_failed + cpu.sample_filter_failed,
        wait_collisions: sum.wait_collisions + cpu.wait_collisions,
        wait_full: sum.wait_full + cpu.wait_full,
        threads_full: sum.threads_full + cpu.threads_full,
        merged: sum.merged + cpu.merged,
        wait_filter_failed: sum.wait_filter_failed + cpu.wait_filter_failed,
    }
}

fn traces<'a>(
    ebpf: &Ebpf,
    keys: impl Iterator<Item = &'a StackKey>,
) -> Result<HashMap<i32, Vec<u64>>, String> {
    let ids: HashSet<i32> = keys.flat_map(|key| [key.user, key.kernel]).collect();
    let ids = || ids.iter().filter_map(|id| Some((*id, u32::try_from(*id).ok()?)));
    let mut traces = frames(ebpf, maps::TRACES, ids().filter(|(_, id)| *id < TRACE_SLOTS))?;
    let spilt = ids().filter_map(|(id, key)| Some((id, key.checked_sub(TRACE_SLOTS)?)));
    traces.extend(frames(ebpf, maps::SPILL, spilt)?);
    Ok(traces)
}

/// Addresses of stacks by their id, found by their key in one map.
fn frames(
    ebpf: &Ebpf,
    name: &str,
    mut ids: impl Iterator<Item = (i32, u32)>,
) -> Result<HashMap<i32, Vec<u64>>, String> {
    map::read(ebpf, name, |map| {
        let map = StackTraceMap::try_from(map)?;
        let of = |(id, key)| {
            let trace = map.get(&key, 0)?;
            Ok((id, trace.frames().iter().map(|frame| frame.ip).collect()))
        };
        ids.by_ref().map(of).collect()
    })
}
