//! How networks, pools and processors of machines are written in a study.

use std::{convert::Infallible, fmt, str::FromStr};

use super::{CpuModel, Network, Pool};

/// What a bridge of the host is introduced by.
const BRIDGE: &str = "bridge:";
/// What a volume group is introduced by.
const LVM: &str = "lvm:";
/// What block devices are introduced by.
const DEVICES: &str = "devices:";

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lab => f.write_str("lab"),
            Self::User => f.write_str("user"),
            Self::HostBridge(name) => write!(f, "{BRIDGE}{name}"),
        }
    }
}

/// A text that names no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write `lab`, `user`, or `bridge:` and the name of a bridge of the host")]
pub struct ParseNetworkError;

impl FromStr for Network {
    type Err = ParseNetworkError;

    fn from_str(text: &str) -> Result<Self, ParseNetworkError> {
        match text {
            "lab" => Ok(Self::Lab),
            "user" => Ok(Self::User),
            _ => match text.strip_prefix(BRIDGE) {
                Some(name) if !name.is_empty() => Ok(Self::HostBridge(name.to_owned())),
                _ => Err(ParseNetworkError),
            },
        }
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory => f.write_str("directory"),
            Self::Lvm(group) => write!(f, "{LVM}{group}"),
            Self::Devices(devices) => {
                let paths: Vec<String> = devices
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect();
                write!(f, "{DEVICES}{}", paths.join(","))
            }
        }
    }
}

/// A text that names no pool of disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "write `directory`, `lvm:GROUP`, `lvm:GROUP/POOL`, or `devices:` and paths with commas between"
)]
pub struct ParsePoolError;

impl FromStr for Pool {
    type Err = ParsePoolError;

    fn from_str(text: &str) -> Result<Self, ParsePoolError> {
        if text == "directory" {
            return Ok(Self::Directory);
        }
        if let Some(group) = text.strip_prefix(LVM).filter(|group| !group.is_empty()) {
            return Ok(Self::Lvm(group.to_owned()));
        }
        match text.strip_prefix(DEVICES).filter(|paths| !paths.is_empty()) {
            Some(paths) => Ok(Self::Devices(
                paths.split(',').map(|path| path.trim().into()).collect(),
            )),
            None => Err(ParsePoolError),
        }
    }
}

impl fmt::Display for CpuModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Maximum => "maximum",
            Self::Named(name) => name,
        })
    }
}

impl FromStr for CpuModel {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "host" => Self::Host,
            "maximum" => Self::Maximum,
            name => Self::Named(name.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in ["lab", "user", "bridge:br0"] {
            assert_eq!(text.parse::<Network>().expect("read").to_string(), text);
        }
        for text in [
            "directory",
            "lvm:data",
            "lvm:data/thin",
            "devices:/dev/sdb,/dev/sdc",
        ] {
            assert_eq!(text.parse::<Pool>().expect("read").to_string(), text);
        }
        for text in ["host", "maximum", "Westmere"] {
            assert_eq!(text.parse::<CpuModel>().expect("read").to_string(), text);
        }
        assert!("br0".parse::<Network>().is_err() && "bridge:".parse::<Network>().is_err());
        assert!("/dev/sdb".parse::<Pool>().is_err() && "lvm:".parse::<Pool>().is_err());
    }
}
