//! What can be typed after `rookery predict`.

use std::path::PathBuf;

use clap::Args;
use rookery_cast::truncate_u32;
use rookery_study::Vcpus;

use super::Places;

/// Number of guests and vCPUs of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LayoutArg {
    pub(crate) guests: u32,
    pub(crate) vcpus: Vcpus,
}

#[derive(Debug, Args)]
pub(crate) struct PredictArgs {
    /// A run's directory, name or id, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) run: String,
    /// A layout: number of guests and vCPUs of each, such as "8 x 0.5"; may be given several times
    /// [default: the layouts of the run]
    #[arg(long, value_name = "G x V", value_parser = layout)]
    pub(crate) layout: Vec<LayoutArg>,
    /// Users on all guests together, such as 400,800 [default: the loads of the run, and up to
    /// twice its largest]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = load)]
    pub(crate) users: Vec<f64>,
    /// Arrivals per second at all guests together, for runs of open loads
    #[arg(long, value_name = "RATE,...", value_delimiter = ',', value_parser = load, conflicts_with = "users")]
    pub(crate) rate: Vec<f64>,
    /// CPUs for guests, if the host had another number of them
    #[arg(long, value_name = "CPUS", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) host_cpus: Option<u32>,
    /// Memory of the host in MiB, if it had another
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub(crate) host_memory: Option<u64>,
    /// Storage so many times as fast
    #[arg(long, value_name = "FACTOR", value_parser = load)]
    pub(crate) disk_speed: Option<f64>,
    /// The variant of a study with factors, by its number [default: all]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) variant: Option<u32>,
    /// Fit on the smaller loads, predict the larger ones, and print how far off that was
    #[arg(long, conflicts_with_all = ["layout", "users", "rate", "pack", "host_cpus", "host_memory", "disk_speed", "html"])]
    pub(crate) holdout: bool,
    /// Share of the loads that is held out
    #[arg(long, value_name = "SHARE", default_value_t = rookery_analysis::predict::HELD_SHARE, value_parser = share, requires = "holdout")]
    pub(crate) holdout_share: f64,
    /// Plan: which layouts fit on the host, and which loads they carry within the limits; with
    /// --users the layouts that carry those
    #[arg(long, conflicts_with = "layout")]
    pub(crate) pack: bool,
    /// With --pack: write a study that confirms the best layouts, for `rookery run`
    #[arg(long, value_name = "FILE", requires = "pack")]
    pub(crate) study: Option<PathBuf>,
    /// With --study: how many of the best layouts are confirmed
    #[arg(long, value_name = "COUNT", default_value_t = 3, requires = "study", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) confirm: u32,
    /// Draws of the bootstrap
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(10..=10_000))]
    pub(crate) draws: u32,
    /// Seed of the bootstrap
    #[arg(long, default_value_t = rookery_analysis::predict::SEED)]
    pub(crate) seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a figure of each layout as one self-contained HTML file
    #[arg(long, value_name = "FILE", conflicts_with = "pack")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) places: Places,
}

fn layout(text: &str) -> Result<LayoutArg, String> {
    let wrong = || format!("`{text}` is no layout; write guests x vCPUs, such as `8 x 0.5`");
    let (guests, vcpus) = text.split_once(['x', 'X', '*']).ok_or_else(wrong)?;
    let guests: u32 = guests.trim().parse().map_err(|_| wrong())?;
    let vcpus: f64 = vcpus.trim().parse().map_err(|_| wrong())?;
    let thousandths = (vcpus * 1000.0).round();
    if !(1..=10_000).contains(&guests) || !(1.0..=1e6).contains(&thousandths) {
        return Err("1 to 10000 guests of 0.001 to 1000 vCPUs".to_owned());
    }
    Ok(LayoutArg {
        guests,
        vcpus: Vcpus(truncate_u32(thousandths)),
    })
}

fn load(text: &str) -> Result<f64, String> {
    let value: f64 = text
        .trim()
        .parse()
        .map_err(|_| "it is no number".to_owned())?;
    if value.is_finite() && value > 0.0 && value <= 1e6 {
        Ok(value)
    } else {
        Err("above 0, at most 1000000".to_owned())
    }
}

fn share(text: &str) -> Result<f64, String> {
    let value = load(text)?;
    if value < 1.0 {
        Ok(value)
    } else {
        Err("a share between 0 and 1".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_read_as_they_are_printed() {
        let of = |guests, vcpus| {
            Ok(LayoutArg {
                guests,
                vcpus: Vcpus(vcpus),
            })
        };
        assert_eq!(layout("8 x 0.5"), of(8, 500));
        assert_eq!(layout("1x2"), of(1, 2000));
        for wrong in [
            "",
            "8",
            "x 1",
            "0 x 1",
            "2 x 0",
            "2 x -1",
            "2 x NaN",
            "99999 x 1",
        ] {
            assert!(layout(wrong).is_err(), "{wrong}");
        }
        assert!(
            load("0").is_err()
                && load("inf").is_err()
                && share("1").is_err()
                && share("0.4") == Ok(0.4)
        );
    }
}
