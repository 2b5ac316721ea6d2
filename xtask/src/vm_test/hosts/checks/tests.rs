//! What the machine must have told for a check to be well.

use serde_json::json;

use super::*;

/// A record of the tool as far as it is looked at.
fn record(cgroup: &str, requests: u64, calls: u64) -> String {
    let stage = json!({
        "connections": 2,
        "observed_requests": requests,
        "syscalls": { "total": calls },
        "cgroup": { "cpu_limit": 0.5, "nr_throttled": 3 },
    });
    json!({ "targets": [{ "cgroup": cgroup, "stages": [stage] }] }).to_string()
}

fn said(check: &str, facts: &[&str], record: &str) -> String {
    format!("check {check}\n{}\nexit 0\nrecord {record}\ndone at 9\n", facts.join("\n"))
}

fn outcome_of(check: &str, said: &str) -> Outcome {
    let place = CHECKS.iter().position(|(key, ..)| *key == check).expect("a check");
    outcomes(said, &Ended::ByItself).swap_remove(place).outcome
}

#[track_caller]
fn fails(check: &str, said: &str, why: &str) {
    let outcome = outcome_of(check, said);
    assert!(matches!(&outcome, Outcome::Failed(text) if text.contains(why)), "{outcome:?}");
}

const UNIT: &str = "/sys/fs/cgroup/system.slice/lean.service";
const IN_UNIT: [&str; 1] = ["cgroup /system.slice/lean.service"];

#[test]
fn two_calls_a_request_are_well_and_what_is_under_way_at_the_edges() {
    for calls in [1991, 2000, 2009] {
        let told = said("unit", &IN_UNIT, &record(UNIT, 1000, calls));
        assert_eq!(outcome_of("unit", &told), Outcome::Ok);
    }
}

#[test]
fn other_counts_and_other_cgroups_are_not() {
    for (record, why) in [
        (record(UNIT, 1000, 1990), "1990 calls"),
        (record(UNIT, 1000, 2010), "2010 calls"),
        (record(UNIT, 1000, 0), "0 calls"),
        (record(UNIT, 20, 40), "20 requests"),
        (record("/sys/fs/cgroup/system.slice", 1000, 2000), "it watched /sys/fs/cgroup/system.sl"),
    ] {
        fails("unit", &said("unit", &IN_UNIT, &record), why);
    }
}

#[test]
fn a_quota_must_have_been_seen() {
    let facts = ["cgroup /system.slice/quota.scope"];
    let seen = record("/sys/fs/cgroup/system.slice/quota.scope", 1000, 2000);
    assert_eq!(outcome_of("quota", &said("quota", &facts, &seen)), Outcome::Ok);
    let never = seen.replace("\"nr_throttled\":3", "\"nr_throttled\":0");
    fails("quota", &said("quota", &facts, &never), "never throttled");
}

#[test]
fn podmans_process_is_below_the_scope_that_is_watched() {
    let scope = "/sys/fs/cgroup/machine.slice/libpod-ab.scope";
    let record = record(scope, 1000, 2000);
    let below = ["id ab", "cgroup /machine.slice/libpod-ab.scope/container"];
    let told = said("podman_container", &below, &record);
    assert_eq!(outcome_of("podman_container", &told), Outcome::Ok);
    let beside = ["id ab", "cgroup /machine.slice/libpod-ab.scope"];
    fails("podman_container", &said("podman_container", &beside, &record), "the process is in");
}

#[test]
fn a_nested_container_is_below_the_outer_one() {
    let record = record("/sys/fs/cgroup/m/outer/libpod-b", 1000, 2000);
    let facts = ["outer /m/outer", "cgroup /m/outer/libpod-b"];
    assert_eq!(outcome_of("nested", &said("nested", &facts, &record)), Outcome::Ok);
    let facts = ["outer /m/other", "cgroup /m/outer/libpod-b"];
    fails("nested", &said("nested", &facts, &record), "not in /m/other");
}

#[test]
fn an_adopted_process_must_be_back() {
    let record = record("/sys/fs/cgroup/bench-user/r/pid-1+adopted", 1000, 2000);
    let told = said("adopted", &["cgroup /", "after /"], &record);
    assert_eq!(outcome_of("adopted", &told), Outcome::Ok);
    fails("adopted", &said("adopted", &["cgroup /", "after /bench-user/r"], &record), "after");
}

#[test]
fn what_the_doctor_says_is_read_from_its_data() {
    let tries = |works: bool| {
        json!([
            { "name": "rights", "works": works, "needed": true, "why": "" },
            { "name": "perf", "works": false, "needed": false, "why": "" },
            { "name": "cgroup v2", "works": true, "needed": true, "why": "made (v2 mode)" },
        ])
        .to_string()
    };
    assert_eq!(outcome_of("doctor", &said("doctor", &[], &tries(true))), Outcome::Ok);
    fails("doctor", &said("doctor", &[], &tries(false)), "rights");
}

#[test]
fn a_check_that_the_machine_did_not_finish_has_failed() {
    let whole = said("unit", &IN_UNIT, &record(UNIT, 1000, 2000));
    fails("quota", &whole, "not begun");
    let cut = whole.split("done").next().expect("a beginning");
    fails("unit", cut, "did not end");
}
