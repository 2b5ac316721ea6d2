//! What must be known of the machine to judge a record, looked at once before a run.
//!
//! Changes nothing; what cannot be found out is unavailable with its reason.

use std::collections::BTreeMap;
use std::path::Path;

use perf_event::Builder;
use perf_event::events::{Event, Hardware};
use procfs::{Current as _, Meminfo};

use super::{CgroupTrees, HostInfo, counters, topology};
use crate::measured::Measured;

const CPUS: &str = "/sys/devices/system/cpu";

/// Looks at the machine.
#[must_use]
pub fn look() -> HostInfo {
    let uname = rustix::system::uname();
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let clocksource = Path::new("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    HostInfo {
        kernel: uname.release().to_string_lossy().into_owned(),
        arch: uname.machine().to_string_lossy().into_owned(),
        // Every CPU that runs us is online; sysfs alone may be hidden, as in some containers.
        cpus: topology::online_cpus()
            .or_else(|_| topology::allowed_cpus())
            .map_or(1, |cpus| u32::try_from(cpus.len()).unwrap_or(u32::MAX)),
        cpu_model: cpu_model(&cpuinfo),
        governor: line_of(&Path::new(CPUS).join("cpu0/cpufreq/scaling_governor")),
        clocksource: line_of(clocksource),
        virtualization: virtualization(&cpuinfo),
        mitigations: mitigations(),
        cgroup_mode: CgroupTrees::discover().map_or("none", |trees| trees.mode()).into(),
        btf: Path::new("/sys/kernel/btf/vmlinux").exists(),
        pmu: pmu(),
        preemption: preemption(&uname.version().to_string_lossy()),
        memory_bytes: Meminfo::current().map(|memory| memory.mem_total).into(),
    }
}

fn line_of(path: &Path) -> Measured<String> {
    std::fs::read_to_string(path)
        .map(|text| text.trim().to_owned())
        .map_err(|e| format!("{} cannot be read: {e}", path.display()))
        .into()
}

/// The first value of a field of `/proc/cpuinfo`.
fn cpuinfo_field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (field, value) = line.split_once(':')?;
        (field.trim() == name).then(|| value.trim())
    })
}

fn cpu_model(cpuinfo: &str) -> Measured<String> {
    let field = |name| cpuinfo_field(cpuinfo, name);
    // ARM kernels give numbers in place of a name.
    let by_number = || {
        let (maker, part) = (field("CPU implementer")?, field("CPU part")?);
        Some(format!("implementer {maker}, part {part}"))
    };
    field("model name")
        .map(str::to_owned)
        .or_else(by_number)
        .ok_or("/proc/cpuinfo names no model")
        .into()
}

/// x86 kernels show a flag when a hypervisor is there; its name comes from the CPU itself, and
/// the machine's from the firmware.
fn virtualization(cpuinfo: &str) -> Measured<String> {
    let text = |path| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let flags = cpuinfo_field(cpuinfo, "flags");
    match flags.map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")) {
        Some(false) => Measured::Value("none".into()),
        Some(true) => {
            let names = [hypervisor_name(), text("/sys/class/dmi/id/product_name")];
            let names: Vec<_> = names.into_iter().flatten().collect();
            Measured::Value(if names.is_empty() { "unnamed".into() } else { names.join(", ") })
        }
        None => text("/sys/hypervisor/type")
            .ok_or("this architecture does not say whether the machine is virtual")
            .into(),
    }
}

/// Twelve letters in a CPUID leaf that hypervisors agree on.
#[cfg(target_arch = "x86_64")]
fn hypervisor_name() -> Option<String> {
    let leaf = std::arch::x86_64::__cpuid(0x4000_0000);
    let letters = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
    let name = String::from_utf8_lossy(&letters);
    let name = match name.trim_end_matches('\0') {
        "" => return None,
        "KVMKVMKVM" => "KVM",
        "Microsoft Hv" => "Hyper-V",
        "VMwareVMware" => "VMware",
        "XenVMMXenVMM" => "Xen",
        "TCGTCGTCGTCG" => "QEMU without KVM",
        other => other,
    };
    Some(name.to_owned())
}

/// Elsewhere the CPU has no such leaf.
#[cfg(not(target_arch = "x86_64"))]
fn hypervisor_name() -> Option<String> {
    None
}

fn mitigations() -> BTreeMap<String, String> {
    let Ok(entries) = std::fs::read_dir(Path::new(CPUS).join("vulnerabilities")) else {
        return BTreeMap::new();
    };
    entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let text = std::fs::read_to_string(entry.path()).ok()?;
            Some((entry.file_name().to_string_lossy().into_owned(), text.trim().to_owned()))
        })
        .collect()
}

fn pmu() -> Measured<bool> {
    let cycles = Event::Hardware(Hardware::CPU_CYCLES);
    match Builder::new().kind(cycles.clone()).observe_self().build() {
        Ok(_counter) => Measured::Value(true),
        Err(e) => Measured::unavailable(counters::why_not(&cycles, &e)),
    }
}

fn preemption(version: &str) -> Measured<String> {
    let mode = std::fs::read_to_string("/sys/kernel/debug/sched/preempt").ok();
    preemption_of(version, mode.as_deref()).into()
}

/// From `uname -v`, and for a kernel that can change it from debugfs, where the mode in force
/// stands in parentheses.
fn preemption_of(version: &str, mode: Option<&str>) -> Result<String, String> {
    let model = version.split(' ').find(|word| word.starts_with("PREEMPT")).unwrap_or_default();
    let in_force = mode.and_then(|mode| Some(mode.split_once('(')?.1.split_once(')')?.0));
    match (model, in_force) {
        (_, Some(mode)) => Ok(format!("dynamic: {mode}")),
        ("PREEMPT_DYNAMIC", None) => {
            Err("the kernel can change it while it runs, and the mode in force stands in \
                 /sys/kernel/debug/sched/preempt, which cannot be read: mount debugfs"
                .into())
        }
        ("PREEMPT_RT", None) => Ok("rt".into()),
        ("PREEMPT_LAZY", None) => Ok("lazy".into()),
        ("", None) => Ok("none or voluntary".into()),
        _ => Ok("full".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preemption_model_is_named_or_said_to_be_unknown() {
        let check = |version, mode, expect: &str| {
            assert_eq!(preemption_of(version, mode).unwrap(), expect, "{version}");
        };
        check("#1 SMP PREEMPT_DYNAMIC @0", Some("none voluntary (full) lazy\n"), "dynamic: full");
        check("#1 SMP PREEMPT_RT Debian 6.1", None, "rt");
        check("#1 SMP PREEMPT Mon", None, "full");
        check("#1 SMP Debian 4.19", None, "none or voluntary");
        assert!(preemption_of("#1 SMP PREEMPT_DYNAMIC @0", None).unwrap_err().contains("debugfs"));
    }

    #[test]
    fn a_cpu_has_a_name_or_numbers() {
        let check = |cpuinfo, expect: &str| {
            assert_eq!(cpu_model(cpuinfo).value().unwrap(), expect);
        };
        check("processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n", "AMD EPYC");
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        check(arm, "implementer 0x41, part 0xd0c");
        assert!(cpu_model("").why().is_some());
    }

    #[test]
    fn a_machine_without_the_flag_is_no_guest() {
        assert_eq!(virtualization("flags\t: fpu vme\n"), Measured::Value("none".into()));
        assert_ne!(virtualization("flags\t: fpu hypervisor\n"), Measured::Value("none".into()));
    }

    #[test]
    fn this_machine_is_described() {
        let host = look();
        assert!(!host.kernel.is_empty() && host.cpus > 0, "{host:?}");
        assert!(*host.memory_bytes.value().unwrap() > 1 << 20);
    }
}
