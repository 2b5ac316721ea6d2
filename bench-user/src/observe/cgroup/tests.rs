//! Both layouts as folders of files: what is read, from where, and why something is not.

use tempfile::TempDir;

use super::*;

/// A folder that looks like a cgroup tree, given as `(path below it, text)`.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (file, text) in files {
        let path = dir.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path.with_file_name("cgroup.procs"), "").unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

fn observer(dirs: &[(&str, &Path)], is_v1: bool, v2: Option<&Path>) -> CgroupObserver {
    let controllers = dirs
        .iter()
        .map(|(name, path)| ((*name).into(), ControllerDir { path: path.to_path_buf(), is_v1 }))
        .collect();
    CgroupObserver::new(&controllers, v2)
}

fn v2_tree(cpu_stat: &str) -> TempDir {
    tree(&[
        ("web/cpu.stat", cpu_stat),
        ("web/cpu.max", "max 100000\n"),
        ("cpu.max", "150000 100000\n"),
        ("cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_usec 250\n"),
        ("web/cpuset.cpus.effective", "0-2,7\n"),
        ("web/memory.peak", "9000\n"),
        ("web/memory.current", "8000\n"),
        ("web/memory.max", "max\n"),
        ("web/memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 0\n"),
        ("web/pids.current", "12\n"),
        ("web/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\n"),
    ])
}

const ALL: [&str; 4] = ["cpu", "cpuset", "memory", "pids"];

#[test]
fn a_v2_cgroup_is_read_in_nanoseconds_and_limited_by_its_ancestors() {
    let dir = v2_tree(
        "usage_usec 900\nuser_usec 600\nsystem_usec 300\n\
         nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
    );
    let web = dir.path().join("web");
    let reading = observer(&ALL.map(|name| (name, &*web)), false, Some(&web)).read();
    assert_eq!(reading.usage_ns, Measured::Value(900_000));
    assert_eq!(reading.user_ns, Measured::Value(600_000));
    assert_eq!(reading.system_ns, Measured::Value(300_000));
    assert_eq!(reading.throttled_ns, Measured::Value(250_000));
    assert_eq!(reading.nr_throttled, Measured::Value(4));
    assert_eq!(reading.cpu_limit, Measured::Value(1.5));
    assert_eq!(reading.cpus_allowed, Measured::Value(4));
    assert_eq!(reading.memory_peak_bytes, Measured::Value(9000));
    assert_eq!(reading.memory_current_bytes, Measured::Value(8000));
    assert_eq!(reading.memory_limit_bytes.why(), Some("no memory limit is set"));
    assert_eq!(reading.oom_kills, Measured::Value(1));
    let events = [("high", 0), ("low", 0), ("max", 9), ("oom", 1), ("oom_group_kill", 0)];
    let expected: BTreeMap<String, Measured<u64>> = events
        .into_iter()
        .chain([("oom_kill", 1)])
        .map(|(name, n)| (name.to_owned(), Measured::Value(n)))
        .collect();
    assert_eq!(reading.memory_events, expected);
    assert_eq!(reading.pids_current, Measured::Value(12));
    assert!(reading.pids_peak.why().unwrap().contains("pids.peak"));
    assert_eq!(reading.psi["cpu.some"], Measured::Value(77_000));
    assert!(reading.psi["cpu.full"].why().unwrap().contains("full"));
    assert!(reading.psi["io.some"].why().unwrap().contains("CONFIG_PSI"));
}

#[test]
fn v1_controllers_are_read_from_their_own_trees() {
    let dir = tree(&[
        ("cpu/web/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 250000\n"),
        ("cpu/web/cpu.cfs_quota_us", "50000\n"),
        ("cpu/web/cpu.cfs_period_us", "100000\n"),
        ("cpu/cpu.cfs_quota_us", "-1\n"),
        ("cpu/cpu.cfs_period_us", "100000\n"),
        ("cpuacct/web/cpuacct.usage", "900001\n"),
        ("cpuacct/web/cpuacct.usage_user", "600001\n"),
        ("cpuacct/web/cpuacct.usage_sys", "300000\n"),
        ("cpuset/web/cpuset.effective_cpus", "0-1\n"),
        ("memory/web/memory.max_usage_in_bytes", "9000\n"),
        ("memory/web/memory.usage_in_bytes", "8000\n"),
        ("memory/web/memory.limit_in_bytes", "9223372036854771712\n"),
        ("memory/memory.limit_in_bytes", "65536\n"),
        ("memory/web/memory.failcnt", "41\n"),
        ("memory/web/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
    ]);
    let web = |name: &str| dir.path().join(name).join("web");
    let dirs = ["cpu", "cpuacct", "cpuset", "memory"].map(|name| (name, web(name)));
    let reading = observer(&dirs.each_ref().map(|(n, d)| (*n, &**d)), true, None).read();
    assert_eq!(reading.usage_ns, Measured::Value(900_001));
    assert_eq!(reading.user_ns, Measured::Value(600_001));
    assert_eq!(reading.system_ns, Measured::Value(300_000));
    assert_eq!(reading.throttled_ns, Measured::Value(250_000));
    assert_eq!(reading.cpu_limit, Measured::Value(0.5));
    assert_eq!(reading.cpus_allowed, Measured::Value(2));
    assert_eq!(reading.memory_peak_bytes, Measured::Value(9000));
    assert_eq!(reading.memory_current_bytes, Measured::Value(8000));
    assert_eq!(reading.memory_limit_bytes, Measured::Value(65_536));
    assert_eq!(reading.oom_kills, Measured::Value(2));
    assert_eq!(reading.memory_events["failcnt"], Measured::Value(41));
    assert_eq!(reading.memory_events["oom_kill"], Measured::Value(2));
    assert!(reading.pids_current.why().unwrap().contains("pids controller"));
    assert!(reading.psi["cpu.some"].why().unwrap().contains("v2"));
}

#[test]
fn pressure_that_is_off_or_not_built_is_unavailable_and_says_what_to_do() {
    let why = |errno: Errno| no_psi(&errno.into());
    assert!(why(Errno::OPNOTSUPP).contains("psi=1"));
    assert!(why(Errno::NOENT).contains("CONFIG_PSI"));
    assert!(why(Errno::ACCESS).contains("cannot be read"));
}

#[test]
fn a_window_is_the_difference_of_two_readings() {
    let stat = |usage, user| format!("usage_usec {usage}\nuser_usec {user}\nsystem_usec 0\n");
    let dir = v2_tree(&stat(1000, 3));
    let web = dir.path().join("web");
    let observer = observer(&ALL.map(|name| (name, &*web)), false, Some(&web));
    let earlier = observer.read();
    std::fs::write(web.join("cpu.stat"), stat(4000, 2)).unwrap();
    let used = observer.read().since(&earlier, 2_000_000);
    assert_eq!(used.cpu_ratio, Measured::Value(1.5));
    assert_eq!(used.oom_kills, Measured::Value(0));
    assert_eq!(used.psi["cpu.some"], Measured::Value(0));
    assert_eq!(used.memory_current_bytes, Measured::Value(8000));
    assert!(used.user_ns.why().unwrap().contains("set back"));
    assert!(used.psi["memory.full"].why().is_some());
}

#[test]
fn a_cgroup_that_is_gone_is_unavailable_and_never_zero() {
    let dir = v2_tree("usage_usec 1\n");
    let web = dir.path().join("web");
    let observer = observer(&ALL.map(|name| (name, &*web)), false, Some(&web));
    let earlier = observer.read();
    drop(dir);
    let used = observer.read().since(&earlier, 1);
    for why in [used.cpu_ratio.why(), used.oom_kills.why(), used.memory_current_bytes.why()] {
        assert!(why.unwrap().contains("is gone"), "{why:?}");
    }
    assert!(used.cpu_limit.why().is_some() && used.cpus_allowed.why().is_some());
}

#[test]
fn without_controllers_every_value_says_which_one_is_missing() {
    let reading = observer(&[], false, None).read();
    assert!(reading.nr_periods.why().unwrap().contains("cpu controller"));
    assert!(reading.cpu_limit.why().unwrap().contains("cpu controller"));
    assert!(reading.usage_ns.why().unwrap().contains("cpuacct controller"));
    assert!(reading.memory_limit_bytes.why().unwrap().contains("memory controller"));
}

#[test]
fn the_affinity_of_the_main_process_is_what_counts() {
    let own = observer(&[], false, None).with_main_pid(Some(std::process::id())).read();
    let allowed = topology::allowed_cpus_of(&std::process::id().to_string()).unwrap().len();
    assert_eq!(own.cpus_allowed, Measured::Value(u32::try_from(allowed).unwrap()));
}
