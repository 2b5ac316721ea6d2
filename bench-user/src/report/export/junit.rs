//! Claims as JUnit XML, which CI systems show as tests.
//!
//! A claim is a test case: its id is the name, the plan's name the class, so that a case has the same
//! name in every run. What holds has passed and what fails has failed. What is inconclusive or
//! unavailable is skipped, with the reason as its message: it neither broke nor proved anything,
//! and the format has no fourth answer. Its time is 0, because no claim takes one, and some schemas
//! want a time.

use std::io::{self, Write};
use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use crate::record::{ClaimResult, ClaimVerdict, RunRecord, StageClaim};
use crate::report::figures::word;

/// Writes one suite with a case for every claim.
pub(in crate::report) fn write(run: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    if run.claims.is_empty() {
        let why =
            "the run has no claims to write as tests: give a file of some to `bench-user check`";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mut suite = TestSuite::new(run.plan.name.as_str());
    suite.timestamp = run.started_at.parse().ok();
    suite.set_time(Duration::ZERO);
    suite.add_properties([
        Property::new("run", run.id.as_str()),
        Property::new("bench-user", run.tool.version.as_str()),
        Property::new("kernel", run.host.kernel.as_str()),
        Property::new("cpus", run.host.cpus.to_string()),
    ]);
    suite.add_test_cases(run.claims.iter().map(|result| case(&run.plan.name, result)));
    let mut report = Report::new("bench-user");
    report.set_time(Duration::ZERO);
    report.add_test_suite(suite);
    report.serialize(out).map_err(io::Error::other)
}

fn case(plan: &str, result: &ClaimResult) -> TestCase {
    let mut case = TestCase::new(result.claim.id.as_str(), status(result));
    case.set_classname(plan).set_time(Duration::ZERO);
    if result.verdict == ClaimVerdict::Holds {
        case.set_system_out(figures(result));
    }
    case
}

fn status(result: &ClaimResult) -> TestCaseStatus {
    let answer = word(result.verdict);
    match result.verdict {
        ClaimVerdict::Holds => TestCaseStatus::success(),
        ClaimVerdict::Fails => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(result.because.as_str()).set_type(answer);
            status.set_description(figures(result));
            status
        }
        ClaimVerdict::Inconclusive | ClaimVerdict::Unavailable => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("{answer}: {}", result.because));
            status.set_description(figures(result));
            status
        }
    }
}

/// What is claimed, and the answer of each stage in a line; without stages, the answer alone.
fn figures(result: &ClaimResult) -> String {
    let says = Some(result.claim.says.clone()).filter(|says| !says.is_empty());
    let whole = Some(result.because.clone()).filter(|_| result.stages.is_empty());
    let stages = result.stages.iter().map(stage);
    says.into_iter().chain(whole).chain(stages).collect::<Vec<_>>().join("\n")
}

fn stage(stage: &StageClaim) -> String {
    let level = stage.level();
    let at = if level.is_job() { String::new() } else { format!(" at {level}") };
    format!("{}{at}: {}", word(stage.verdict), stage.because)
}
