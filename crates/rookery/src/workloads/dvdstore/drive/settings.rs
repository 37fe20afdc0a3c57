//! What is to be driven and how: the command line, then the parameter file, then the defaults.

use std::{fmt::Display, net::SocketAddr, time::Duration};

use rookery_driver::Phases;
use rookery_stats::Pacing;
use rookery_workload::dvdstore::{ShopperParams, Size};

use crate::{
    address::address_of,
    exit::{Code, Failure},
};

use super::{
    args::DriveDvdstoreArgs,
    config_file::{self, Original},
};

/// Everything that was asked for, checked.
pub(super) struct Settings {
    pub(super) targets: Vec<Target>,
    /// Per target.
    pub(super) users: u32,
    pub(super) shopper: ShopperParams,
    pub(super) page_type: String,
    pub(super) phases: Phases,
    pub(super) pacing: Pacing,
    pub(super) think_time: Duration,
    pub(super) timeout: Duration,
    pub(super) detailed: bool,
    /// What was left unheeded, in words.
    pub(super) remarks: Vec<String>,
}

/// One system under load.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) url: String,
    pub(super) address: SocketAddr,
    pub(super) directory: String,
}

fn usage(error: impl Display) -> Failure {
    Failure::new(Code::Usage, error)
}

impl Settings {
    /// Put together what was typed and what the parameter file says.
    pub(super) fn of(args: &DriveDvdstoreArgs) -> Result<Self, Failure> {
        let file = args
            .config_file
            .as_deref()
            .map(config_file::read)
            .transpose()?
            .unwrap_or_default();
        let targets = targets(args, &file)?;
        refuse_foreign(&targets, args)?;
        let users = at_least_one("users", args.users, file.users, 1)?;
        Ok(Self {
            users,
            shopper: shopper(args, &file)?,
            page_type: args
                .page_type
                .clone()
                .or(file.page_type.clone())
                .unwrap_or_else(|| "php".to_owned()),
            phases: phases(args, &file, users, targets.len())?,
            pacing: args.pacing,
            think_time: duration("--think-time", args.think_time.as_deref())?
                .or(file.think_time)
                .unwrap_or_default(),
            timeout: duration("--timeout", Some(&args.timeout))?.unwrap_or_default(),
            detailed: args.detailed || file.detailed,
            remarks: file.remarks,
            targets,
        })
    }
}

fn duration(option: &str, text: Option<&str>) -> Result<Option<Duration>, Failure> {
    text.map(|text| {
        rookery_study::parse_duration(text).map_err(|error| usage(format!("{option}: {error}")))
    })
    .transpose()
}

fn at_least_one(
    option: &str,
    typed: Option<u32>,
    filed: Option<u32>,
    default: u32,
) -> Result<u32, Failure> {
    match typed.or(filed).unwrap_or(default) {
        0 => {
            Err(usage(format!("--{option} 0 does nothing"))
                .help("write a whole number of at least 1"))
        }
        value => Ok(value),
    }
}

fn shopper(args: &DriveDvdstoreArgs, file: &Original) -> Result<ShopperParams, Failure> {
    let new_customers = args.new_customers.or(file.new_customers).unwrap_or(0.2);
    if !(0.0..=1.0).contains(&new_customers) {
        return Err(
            usage(format!("--new-customers {new_customers} is not a share"))
                .help("write a number from 0 to 1, such as 0.2"),
        );
    }
    let size = args
        .size
        .as_deref()
        .map(|size| size.parse().map_err(usage))
        .transpose()?;
    Ok(ShopperParams {
        size: size.or(file.size).unwrap_or(Size::Mb(10)),
        new_customers,
        searches: at_least_one("searches", args.searches, file.searches, 3)?,
        search_batch: at_least_one("search-batch", args.search_batch, file.search_batch, 5)?,
        line_items: at_least_one("line-items", args.line_items, file.line_items, 5)?,
    })
}

/// The original's ramp rate is of all users together.
fn phases(
    args: &DriveDvdstoreArgs,
    file: &Original,
    users: u32,
    targets: usize,
) -> Result<Phases, Failure> {
    let by_rate = file
        .ramp_rate
        .map(|rate| Duration::from_secs_f64(f64::from(users) * targets as f64 / f64::from(rate)));
    let second = Duration::from_secs;
    Ok(Phases {
        ramp_up: duration("--ramp-up", args.ramp_up.as_deref())?
            .or(by_rate)
            .unwrap_or(second(2)),
        settle: duration("--settle", args.settle.as_deref())?
            .or(file.settle)
            .unwrap_or(second(3)),
        steady: duration("--steady", args.steady.as_deref())?
            .or(file.steady)
            .unwrap_or(second(30)),
        ramp_down: Duration::ZERO,
        drain: duration("--drain", Some(&args.drain))?.unwrap_or_default(),
    })
}

fn targets(args: &DriveDvdstoreArgs, file: &Original) -> Result<Vec<Target>, Failure> {
    let directory = file.directory.as_deref().unwrap_or("ds2");
    let urls: Vec<String> = if args.target.is_empty() {
        file.targets
            .iter()
            .map(|host| format!("http://{host}"))
            .collect()
    } else {
        args.target.clone()
    };
    if urls.is_empty() {
        return Err(
            usage("no system to drive: the parameter file names no target")
                .help("add --target http://HOST[:PORT][/DIRECTORY], or a line target=HOST[:PORT]"),
        );
    }
    urls.iter().map(|url| target(url, directory)).collect()
}

/// A target from its URL; `directory` where the URL names none.
fn target(url: &str, directory: &str) -> Result<Target, Failure> {
    let wrong = |what: &str| {
        usage(format!("--target {url}: {what}"))
            .help("write http://HOST[:PORT][/DIRECTORY], such as http://127.0.0.1:8080/ds2")
    };
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| wrong("only http:// is driven"))?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, directory));
    let directory = path.trim_matches('/');
    if directory.is_empty()
        || !directory
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte))
    {
        return Err(wrong(
            "the directory takes letters, digits, `.`, `_`, `-` and `/`",
        ));
    }
    let address = address_of(authority, 80).map_err(|why| wrong(&why.to_string()))?;
    Ok(Target {
        url: url.to_owned(),
        address,
        directory: directory.to_owned(),
    })
}

fn refuse_foreign(targets: &[Target], args: &DriveDvdstoreArgs) -> Result<(), Failure> {
    for target in targets {
        let ip = target.address.ip();
        // `::ffff:127.0.0.1` is this machine, too.
        if !ip.to_canonical().is_loopback() && !args.confirm_target.contains(&ip) {
            return Err(usage(format!(
                "{} is at {ip}, which is not this machine: no load goes to other hosts without \
                 your consent",
                target.url
            ))
            .help(format!(
                "if that system is yours to load, add --confirm-target {ip}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{
        cli::{Cli, Command},
        workloads::DriveCommand,
    };

    fn settings(typed: &[&str], file: Option<&str>) -> Result<Settings, String> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("driver.txt").display().to_string();
        let mut all = vec!["rookery", "drive", "dvdstore"];
        all.extend(typed);
        if let Some(text) = file {
            std::fs::write(&path, text).expect("written");
            all.extend(["--config-file", &path]);
        }
        let cli = Cli::try_parse_from(all).map_err(|error| error.to_string())?;
        let Command::Drive(DriveCommand::Dvdstore(args)) = cli.command else {
            return Err("another command".to_owned());
        };
        Settings::of(&args).map_err(|failure| failure.to_string())
    }

    #[test]
    fn the_command_line_wins_over_the_file_and_the_file_over_the_defaults() {
        let file = "target=127.0.0.1:81;127.0.0.1:82\nn_threads=50\nramp_rate=20\nrun_time=2\nwarmup_time=1\nvirt_dir=shop\nthink_time=0.5\n";
        let both = settings(&["--users", "3", "--run-time", "7s"], Some(file)).expect("settings");
        assert_eq!(
            (both.users, both.phases.steady, both.phases.settle),
            (3, Duration::from_secs(7), Duration::from_secs(60))
        );
        assert_eq!(
            both.phases.ramp_up,
            Duration::from_millis(300),
            "six users, twenty a second"
        );
        assert_eq!(both.think_time, Duration::from_millis(500));
        let urls: Vec<(u16, &str)> = both
            .targets
            .iter()
            .map(|t| (t.address.port(), t.directory.as_str()))
            .collect();
        assert_eq!(urls, [(81, "shop"), (82, "shop")]);
        let typed =
            settings(&["--target", "http://127.0.0.1:90/x/"], Some(file)).expect("settings");
        assert_eq!(
            (typed.targets.len(), typed.targets[0].directory.as_str()),
            (1, "x")
        );
        let plain = settings(
            &[
                "--target",
                "http://127.0.0.1",
                "--pacing",
                "cycle",
                "--drain",
                "9s",
            ],
            None,
        )
        .expect("settings");
        assert_eq!(
            (plain.users, plain.phases.ramp_up, plain.phases.drain),
            (1, Duration::from_secs(2), Duration::from_secs(9))
        );
        assert_eq!(
            (
                plain.targets[0].address.port(),
                plain.targets[0].directory.as_str()
            ),
            (80, "ds2")
        );
        assert_eq!(
            (plain.pacing, plain.page_type.as_str()),
            (Pacing::Cycle, "php")
        );
    }

    #[test]
    fn what_cannot_be_driven_is_refused_with_help() {
        let refused = |typed: &[&str], file: Option<&str>| {
            settings(typed, file)
                .err()
                .unwrap_or_else(|| panic!("{typed:?} {file:?} was taken"))
        };
        for (typed, file, expected) in [
            (&[][..], None, "--target"),
            (&[][..], Some("n_threads=1"), "no system to drive"),
            (
                &[][..],
                Some("target=192.0.2.1"),
                "--confirm-target 192.0.2.1",
            ),
            (&["--target", "https://127.0.0.1"][..], None, "only http://"),
            (
                &["--target", "http://127.0.0.1/a b"][..],
                None,
                "the directory takes",
            ),
            (
                &["--target", "http://127.0.0.1", "--users", "0"][..],
                None,
                "at least 1",
            ),
            (
                &["--target", "http://127.0.0.1", "--new-customers", "2"][..],
                None,
                "not a share",
            ),
            (
                &["--target", "http://127.0.0.1", "--size", "x"][..],
                None,
                "x",
            ),
            (
                &["--target", "http://127.0.0.1", "--drain", "x"][..],
                None,
                "--drain",
            ),
            (
                &[
                    "--target",
                    "http://127.0.0.1",
                    "--json",
                    "--format",
                    "original",
                ][..],
                None,
                "cannot be used with",
            ),
        ] {
            let said = refused(typed, file);
            assert!(said.contains(expected), "{typed:?}: {said}");
        }
    }
}
