//! What is told of the checks of trials.

use rookery_analysis::trust::CheckKind;
use rookery_store::ProgramOutput;

use super::{
    analysed,
    fixture::{end, header, planned},
};

#[test]
fn each_matter_that_the_checks_remark_on_is_told_once() {
    let fixture = planned(&header(1));
    (1..=5).for_each(|trial| {
        end(&fixture, trial, |record| {
            record
                .resources
                .iter_mut()
                .filter(|sample| sample.subject == "g1")
                .for_each(|sample| {
                    sample.memory_bytes += (sample.at_s as u64) << 22;
                });
        });
    });
    let caveats = analysed(&fixture).1.caveats;
    let told: Vec<&String> = caveats
        .iter()
        .filter(|caveat| caveat.contains("none serious enough to discard them"))
        .collect();
    assert!(
        matches!(told[..], [told] if told.starts_with("Memory grew within the window in 5 good \
            trials") && told.contains("the memory of g1 grew by")),
        "{caveats:?}"
    );
}

#[test]
fn of_a_load_by_another_program_no_punctuality_is_told() {
    let fixture = planned(&header(1));
    (1..=5).for_each(|trial| {
        end(&fixture, trial, |record| {
            record.outputs.push(ProgramOutput {
                guest: "g1".to_owned(),
                program: "iperf 3.12".to_owned(),
                text: "{}".to_owned(),
            });
        });
    });
    let trust = analysed(&fixture).1.analysis.trust;
    assert_eq!(trust.driver, None);
    let mut checks = trust.checks.iter();
    let driver = checks.find(|checked| checked.check == CheckKind::Driver);
    let driver = driver.expect("a kind of checks");
    assert_eq!((driver.passed, driver.not_asked), (0, 5));
}
