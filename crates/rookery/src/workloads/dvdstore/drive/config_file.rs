//! The parameter file of the original driver: lines of `name=value`.

use std::{path::Path, time::Duration};

use rookery_workload::dvdstore::Size;

use crate::{
    exit::{Code, Failure},
    line_error::LineError,
};

/// Every name that the original driver knows.
const NAMES: [&str; 16] = [
    "target",
    "n_threads",
    "ramp_rate",
    "run_time",
    "db_size",
    "warmup_time",
    "think_time",
    "pct_newcustomers",
    "n_searches",
    "search_batch_size",
    "n_line_items",
    "virt_dir",
    "page_type",
    "windows_perf_host",
    "linux_perf_host",
    "detailed_view",
];
/// The longest file that is read, bytes: the original's have a few hundred.
const LARGEST: usize = 64 * 1024;
/// The longest time that is taken, minutes: one year.
const LONGEST_MINUTES: u32 = 366 * 24 * 60;

/// What the file says; what it does not say is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Original {
    pub(super) targets: Vec<String>,
    pub(super) users: Option<u32>,
    /// Users per second.
    pub(super) ramp_rate: Option<u32>,
    pub(super) steady: Option<Duration>,
    pub(super) settle: Option<Duration>,
    pub(super) size: Option<Size>,
    pub(super) think_time: Option<Duration>,
    /// A share.
    pub(super) new_customers: Option<f64>,
    pub(super) searches: Option<u32>,
    pub(super) search_batch: Option<u32>,
    pub(super) line_items: Option<u32>,
    pub(super) directory: Option<String>,
    pub(super) page_type: Option<String>,
    pub(super) detailed: bool,
    /// What is left unheeded, in words.
    pub(super) remarks: Vec<String>,
}

/// Read the file.
pub(super) fn read(path: &Path) -> Result<Original, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::new(
            Code::Usage,
            format!("cannot read the parameter file {}: {error}", path.display()),
        )
        .help("name a file of lines such as n_threads=4")
    })?;
    parse(&text).map_err(|error| error.in_file(path))
}

/// Read its text; a later line of the same name wins, as with the original.
fn parse(text: &str) -> Result<Original, LineError> {
    if text.len() > LARGEST {
        let what = "the file is longer than 64 KiB";
        return Err(LineError::new(
            1,
            what,
            "a parameter file has some twenty lines",
        ));
    }
    let mut original = Original::default();
    for (number, line) in (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let line = line.trim();
        let Some((name, value)) = line.trim_start_matches("--").split_once('=') else {
            let what = format!("`{line}` is not name=value");
            return Err(LineError::new(number, what, "write one name=value a line"));
        };
        set(&mut original, name.trim(), value.trim())
            .map_err(|(what, help)| LineError::new(number, what, help))?;
    }
    Ok(original)
}

/// What is wrong, and the help.
type Wrong = (String, String);

fn set(original: &mut Original, name: &str, value: &str) -> Result<(), Wrong> {
    let wrong = |help: &str| (format!("{name}={value} cannot be taken"), help.to_owned());
    let positive = || match value.parse::<u32>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(wrong("write a whole number of at least 1")),
    };
    let minutes = || match value.parse::<u32>() {
        Ok(minutes) if minutes <= LONGEST_MINUTES => {
            Ok(Duration::from_secs(60 * u64::from(minutes)))
        }
        _ => Err(wrong("write whole minutes")),
    };
    let number = |highest: f64, help: &str| match value.parse::<f64>() {
        Ok(number) if (0.0..=highest).contains(&number) => Ok(number),
        _ => Err(wrong(help)),
    };
    let text = || {
        if value.is_empty() {
            Err(wrong("write a value after the ="))
        } else {
            Ok(value.to_owned())
        }
    };
    match name {
        "target" => {
            original.targets = value
                .split(';')
                .map(str::trim)
                .filter(|host| !host.is_empty())
                .map(str::to_owned)
                .collect()
        }
        "n_threads" => original.users = Some(positive()?),
        "ramp_rate" => original.ramp_rate = Some(positive()?),
        "run_time" => match minutes()? {
            Duration::ZERO => {
                return Err(wrong(
                    "0 means a million minutes to the original: write the minutes to be measured",
                ));
            }
            steady => original.steady = Some(steady),
        },
        "warmup_time" => original.settle = Some(minutes()?),
        "db_size" => {
            original.size = Some(value.parse().map_err(|error| wrong(&format!("{error}")))?)
        }
        "think_time" => {
            original.think_time = Some(Duration::from_secs_f64(number(
                86_400.0,
                "write seconds, such as 0.25",
            )?))
        }
        "pct_newcustomers" => {
            original.new_customers = Some(number(100.0, "write percent, 0 to 100")? / 100.0)
        }
        "n_searches" => original.searches = Some(positive()?),
        "search_batch_size" => original.search_batch = Some(positive()?),
        "n_line_items" => original.line_items = Some(positive()?),
        "virt_dir" => original.directory = Some(text()?),
        "page_type" => original.page_type = Some(text()?),
        "detailed_view" => {
            original.detailed = match value {
                "Y" | "y" => true,
                "N" | "n" => false,
                _ => return Err(wrong("write Y or N")),
            };
        }
        "windows_perf_host" | "linux_perf_host" => {
            if !value.is_empty() {
                // Not the value: it may hold a password.
                original.remarks.push(format!(
                    "{name} has no meaning here: Rookery logs in to no host to read its CPU use"
                ));
            }
        }
        "config_file" => {
            return Err((
                "a parameter file cannot name another".to_owned(),
                "put all lines into one file".to_owned(),
            ));
        }
        _ => {
            return Err((
                format!("`{}` is no parameter", crate::output::printable(name)),
                format!("the parameters are {}", NAMES.join(", ")),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_original_is_understood() {
        let file = "target=127.0.0.1:8080; \
                    127.0.0.2\nn_threads=50\nramp_rate=10\nrun_time=10\ndb_size=S\nwarmup_time=1\nthink_time=0.25\n\
                    pct_newcustomers=5\nn_searches=3\nsearch_batch_size=6\nn_line_items=4\nvirt_dir=shop\npage_type=jsp\n\
                    windows_perf_host=\nlinux_perf_host=me:secret:host\ndetailed_view=Y\n\n";
        let original = parse(file).expect("a parameter file");
        assert_eq!(original.targets, ["127.0.0.1:8080", "127.0.0.2"]);
        assert_eq!(
            (original.users, original.ramp_rate, original.searches),
            (Some(50), Some(10), Some(3))
        );
        assert_eq!(
            (original.search_batch, original.line_items),
            (Some(6), Some(4))
        );
        assert_eq!(
            (original.steady, original.settle),
            (
                Some(Duration::from_secs(600)),
                Some(Duration::from_secs(60))
            )
        );
        assert_eq!(
            (original.think_time, original.new_customers),
            (Some(Duration::from_millis(250)), Some(0.05))
        );
        assert_eq!(
            (original.size, original.detailed),
            (Some(Size::Mb(10)), true)
        );
        assert_eq!(
            (original.directory.as_deref(), original.page_type.as_deref()),
            (Some("shop"), Some("jsp"))
        );
        assert_eq!(original.remarks.len(), 1);
        assert!(
            original.remarks[0].contains("linux_perf_host")
                && !original.remarks[0].contains("secret")
        );
        let all: Vec<String> = NAMES.iter().map(|name| format!("{name}=")).collect();
        for line in all {
            let said = parse(&line)
                .err()
                .map_or_else(String::new, |error| error.what);
            assert!(!said.contains("is no parameter"), "{said}");
        }
    }

    #[test]
    fn later_lines_win_and_dashes_do_not_matter() {
        let original = parse("n_threads=5\r\n--n_threads=7\n").expect("a parameter file");
        assert_eq!(original.users, Some(7));
        assert_eq!(parse(""), Ok(Original::default()));
    }

    #[test]
    fn what_is_wrong_is_said_with_line_and_help() {
        for (text, expected) in [
            ("n_threads=1\nn_user=4", "line 2: `n_user` is no parameter"),
            ("n_threads", "line 1: `n_threads` is not name=value"),
            ("n_threads=0", "at least 1"),
            ("n_searches=x", "at least 1"),
            ("run_time=0", "a million minutes"),
            ("run_time=1.5", "whole minutes"),
            ("warmup_time=99999999", "whole minutes"),
            ("think_time=-1", "seconds"),
            ("think_time=NaN", "seconds"),
            ("pct_newcustomers=101", "0 to 100"),
            ("db_size=huge", "db_size=huge"),
            ("detailed_view=maybe", "Y or N"),
            ("virt_dir=", "after the ="),
            ("config_file=other", "cannot name another"),
        ] {
            let error = parse(text).expect_err("wrong");
            let said = format!("{error}, {}", error.help);
            assert!(said.contains(expected), "{text}: {said}");
            assert!(!error.help.is_empty(), "{text}");
        }
        assert!(parse(&"n_threads=1\n".repeat(10_000)).is_err());
    }
}
