//! The conformance suite of guests: one set of cases, run over all kinds. Beside it, what volumes
//! and limits do ([`storage`]).
//!
//! This file's own executable, called with `guest-program`, is the program that the guests run;
//! called with `controller`, it is a controller that makes guests and waits to be killed; with
//! `child-that-dies`, `device-user-that-dies`, `linker-that-dies`, `machine-linker-that-dies`,
//! `swapper-that-dies` or `way-maker-that-dies`, one that dies by itself. That is why there is no
//! harness of Rust's here.

mod bare_cases;
mod beyond;
mod block_devices;
mod cases;
mod container_cases;
mod dying;
mod fixture;
mod network_cases;
mod program;
mod storage;
mod swap_cases;
mod traces;
mod vm_cases;
mod vm_cloud_cases;
mod vm_connection_cases;
mod vm_failures;
mod vm_link_cases;
mod vm_network_cases;
mod vm_volume_cases;
mod way_cases;

use libtest_mimic::{Arguments, Failed, Trial};
use rookery_guest::{Kind, check_host};

type Case = (&'static str, fn(Kind));

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("guest-program") => program::run(&words[1..]),
        Some("vm-agent") => {
            if let Err(error) = rookery_guest::vm_agent() {
                eprintln!("{error}");
                std::process::exit(5);
            }
        }
        Some("child-that-dies") => storage::run_child_that_dies(&words[1..]),
        Some("device-user-that-dies") => block_devices::run_child_that_dies(&words[1..]),
        Some("linker-that-dies") => network_cases::run_linker_that_dies(&words[1..]),
        Some("machine-linker-that-dies") => {
            vm_link_cases::run_machine_linker_that_dies(&words[1..]);
        }
        Some("swapper-that-dies") => swap_cases::run_swapper_that_dies(&words[1..]),
        Some("way-maker-that-dies") => way_cases::run_way_maker_that_dies(&words[1..]),
        Some("controller") => fixture::run_controller(&words[1..]),
        _ => {
            let conclusion = libtest_mimic::run(&Arguments::from_args(), trials());
            fixture::discard_templates();
            conclusion.exit();
        }
    }
}

fn trials() -> Vec<Trial> {
    let bare: &[Case] = cases::PROCESS;
    let of_root = match rustix::process::geteuid().is_root() {
        true => bare_cases::CASES,
        false => &[],
    };
    let kinds: [(Kind, &str, Vec<&[Case]>); 4] = [
        (Kind::Fake, "fake", vec![cases::ALL]),
        (Kind::Bare, "bare", vec![cases::ALL, bare, of_root]),
        (
            Kind::Container,
            "container",
            vec![
                cases::ALL,
                bare,
                container_cases::CASES,
                network_cases::CASES,
                swap_cases::CASES,
                way_cases::CASES,
            ],
        ),
        (
            Kind::Vm,
            "vm",
            vec![
                cases::VM,
                vm_cases::CASES,
                vm_link_cases::CASES,
                vm_network_cases::CASES,
                vm_volume_cases::CASES,
                vm_failures::CASES,
                vm_cloud_cases::CASES,
                vm_connection_cases::CASES,
            ],
        ),
    ];
    let storage = storage::CASES.iter().chain(block_devices::CASES);
    let storage = storage.map(|(name, case)| {
        Trial::test(format!("storage::{name}"), move || {
            case();
            Ok(())
        })
    });
    let mut trials: Vec<Trial> = storage.collect();
    for (kind, name, sets) in kinds {
        for (case, body) in sets.into_iter().flatten() {
            let trial = Trial::test(format!("{name}::{case}"), move || run_case(kind, *body));
            let cloud = vm_cloud_cases::CASES.iter().any(|(name, _)| name == case);
            let wanted = if cloud {
                vm_cloud_cases::wanted()
            } else {
                machine_wanted(case)
            };
            trials.push(trial.with_ignored_flag(kind == Kind::Vm && !wanted));
        }
    }
    trials.extend(beyond::WAYS.iter().map(|(way, _)| {
        Trial::test(format!("container::is_barred::{way}"), move || {
            run_case(Kind::Container, |_| container_cases::is_barred(way))
        })
    }));
    trials
}

/// What `ROOKERY_VM_TESTS=few` runs: clones, life, sockets, links, data and a failure, in a minute
/// or so once the system is built.
const FEW_MACHINES: [&str; 10] = [
    "a_base_alone_is_refused",
    "closing_twice_is_fine",
    "two_guests_live_apart",
    "sockets_lead_to_the_host",
    "machines_of_a_tier_are_called_on_a_network_of_their_own",
    "what_a_tap_cannot_have_is_refused_by_name",
    "what_was_acknowledged_survives_writeback",
    "forty_clones_at_once",
    "a_broken_kernel_is_told",
    "volumes_of_others_are_not_held",
];

/// Whether machines are to be booted: one takes ten seconds to come up where it is translated, and
/// its system minutes to be built.
fn machine_wanted(case: &str) -> bool {
    match std::env::var("ROOKERY_VM_TESTS").as_deref() {
        Ok("1") => true,
        Ok("few") => FEW_MACHINES.contains(&case),
        _ => false,
    }
}

/// A host that cannot run containers fails the container cases, unless the caller says that it
/// knows.
fn run_case(kind: Kind, body: impl FnOnce(Kind)) -> Result<(), Failed> {
    if let Err(error) = check_host(kind) {
        if std::env::var("ROOKERY_SKIP_ROOT_TESTS").is_ok_and(|value| value == "1") {
            eprintln!("skipped, as asked by ROOKERY_SKIP_ROOT_TESTS: {error}");
            return Ok(());
        }
        return Err(format!(
            "{error}\n  or set ROOKERY_SKIP_ROOT_TESTS=1 to leave these cases out"
        )
        .into());
    }
    body(kind);
    Ok(())
}
