//! Which accelerator carries the guests: KVM where it is quick, else QEMU's own translation (TCG).
//!
//! That `/dev/kvm` opens says little: on a host that is itself a guest it may crawl. So a tiny
//! guest counts, and has to be done in time.

use std::{
    fmt, io,
    path::Path,
    sync::OnceLock,
    time::{Duration, Instant},
};

use rookery_host::{CommandError, Host, Invocation};
use serde::{Deserialize, Serialize};

/// What executes a guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accelerator {
    /// The host's processor, by the kernel's KVM.
    Kvm,
    /// Translation by QEMU: works everywhere, and is slower by a factor of ten or more.
    Tcg,
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kvm => "KVM",
            Self::Tcg => "TCG",
        })
    }
}

/// The choice, with its reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceleratorChoice {
    /// What is used.
    pub accelerator: Accelerator,
    /// Why.
    pub reason: String,
}

impl fmt::Display for AcceleratorChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.accelerator, self.reason)
    }
}

/// A real KVM is done in a tenth of it, start of the emulator included; one that crawls needs
/// minutes.
const LIMIT: Duration = Duration::from_secs(3);
/// Rounds of the tiny guest's loop.
const ROUNDS: u32 = 20_000_000;
/// What the tiny guest says at its end, and how QEMU's exit code then reads.
const DONE: u8 = 0x31;
const EXIT_CODE: i32 = (DONE as i32) << 1 | 1;
/// Size of the tiny guest's firmware: its last 16 bytes are where a processor begins.
const FIRMWARE: usize = 64 << 10;

/// The accelerator of this host; probed once in the life of this process. `scratch` is a directory
/// for a file of 64 KiB.
pub fn choose_accelerator(host: &dyn Host, scratch: &Path) -> AcceleratorChoice {
    static CHOICE: OnceLock<AcceleratorChoice> = OnceLock::new();
    CHOICE
        .get_or_init(|| probe(host, scratch, Path::new("/dev/kvm")))
        .clone()
}

fn probe(host: &dyn Host, scratch: &Path, device: &Path) -> AcceleratorChoice {
    let tcg = |reason: String| AcceleratorChoice {
        accelerator: Accelerator::Tcg,
        reason,
    };
    if let Err(error) = std::fs::File::options().read(true).write(true).open(device) {
        return tcg(match error.kind() {
            io::ErrorKind::NotFound => format!("this host has no {}", device.display()),
            _ => format!("{} cannot be opened: {error}", device.display()),
        });
    }
    let image = scratch.join("kvm-probe.bin");
    let begin = Instant::now();
    let ran = std::fs::write(&image, firmware())
        .map_err(ProbeError::from)
        .and_then(|()| run(host, &image));
    let _ = std::fs::remove_file(&image);
    match ran {
        Ok(()) => AcceleratorChoice {
            accelerator: Accelerator::Kvm,
            reason: format!(
                "a tiny guest was done after {} ms",
                begin.elapsed().as_millis()
            ),
        },
        Err(error) => tcg(format!("{} opens, but {error}", device.display())),
    }
}

/// Why a guest under KVM did not do what it should.
#[derive(Debug, thiserror::Error)]
enum ProbeError {
    #[error(transparent)]
    Image(#[from] std::io::Error),
    #[error("a tiny guest was not done after {} s", LIMIT.as_secs())]
    Late,
    #[error("QEMU ended: {words}")]
    Ended { words: String },
    #[error(transparent)]
    Command(CommandError),
    #[error("the tiny guest did not count")]
    NoCount,
}

fn run(host: &dyn Host, image: &Path) -> Result<(), ProbeError> {
    let words = [
        "-machine",
        "pc",
        "-accel",
        "kvm",
        "-m",
        "16",
        "-nodefaults",
        "-display",
        "none",
        "-no-reboot",
    ];
    let invocation = Invocation::new("qemu-system-x86_64")
        .args(words)
        .args(["-device", "isa-debug-exit,iobase=0xf4,iosize=0x04", "-bios"])
        .arg(image)
        .timeout(LIMIT);
    match host.run(invocation) {
        Err(CommandError::Failed { status, .. }) if status.code() == Some(EXIT_CODE) => Ok(()),
        Err(CommandError::Late { .. }) => Err(ProbeError::Late),
        Err(CommandError::Failed { words, .. }) => {
            let words = words.lines().last().unwrap_or("without a word").to_owned();
            Err(ProbeError::Ended { words })
        }
        Err(other) => Err(ProbeError::Command(other)),
        Ok(_) => Err(ProbeError::NoCount),
    }
}

/// Firmware that counts down from [`ROUNDS`] and ends the emulator: real mode, from the first
/// instruction at the end of the address space.
fn firmware() -> Vec<u8> {
    let mut code = vec![0x66, 0xb9];
    code.extend(ROUNDS.to_le_bytes());
    // dec ecx; jnz to it; mov al, DONE; out 0xf4, al; hlt; jmp to the hlt
    code.extend([
        0x66, 0x49, 0x75, 0xfc, 0xb0, DONE, 0xe6, 0xf4, 0xf4, 0xeb, 0xfd,
    ]);
    let mut image = vec![0x90; FIRMWARE];
    image[..code.len()].copy_from_slice(&code);
    // jmp 0xf000:0x0000
    image[FIRMWARE - 16..FIRMWARE - 11].copy_from_slice(&[0xea, 0x00, 0x00, 0x00, 0xf0]);
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host whose QEMU behaves so.
    struct Says(fn(Invocation) -> Result<String, CommandError>);

    impl Host for Says {
        fn step(&self, _: &'static str) -> io::Result<()> {
            Ok(())
        }

        fn run(&self, invocation: Invocation) -> Result<String, CommandError> {
            (self.0)(invocation)
        }
    }

    fn probed(answer: fn(Invocation) -> Result<String, CommandError>) -> String {
        let dir = tempfile::tempdir().expect("temporary directory");
        let choice = probe(&Says(answer), dir.path(), Path::new("/dev/null"));
        assert_eq!(
            std::fs::read_dir(dir.path()).expect("read").count(),
            0,
            "nothing is left"
        );
        choice.to_string()
    }

    #[test]
    fn only_a_guest_that_counts_in_time_is_kvm() {
        use std::os::unix::process::ExitStatusExt;
        let quick = probed(|_| {
            Err(CommandError::Failed {
                command: "qemu".into(),
                status: std::process::ExitStatus::from_raw(EXIT_CODE << 8),
                words: String::new(),
            })
        });
        assert!(
            quick.starts_with("KVM: a tiny guest was done after "),
            "{quick}"
        );
        let late = probed(|_| {
            Err(CommandError::Late {
                command: "qemu".into(),
                limit: LIMIT,
                words: String::new(),
            })
        });
        assert_eq!(
            late,
            "TCG: /dev/null opens, but a tiny guest was not done after 3 s"
        );
        let refused = probed(|_| Ok(String::new()));
        assert_eq!(
            refused,
            "TCG: /dev/null opens, but the tiny guest did not count"
        );
        let dir = tempfile::tempdir().expect("temporary directory");
        let absent = probe(
            &Says(|_| Ok(String::new())),
            dir.path(),
            Path::new("/nonexistent/kvm"),
        );
        assert_eq!(absent.to_string(), "TCG: this host has no /nonexistent/kvm");
    }

    #[test]
    fn the_firmware_begins_at_the_reset_vector() {
        let image = firmware();
        assert_eq!(image.len(), FIRMWARE);
        assert_eq!(image[FIRMWARE - 16], 0xea);
    }
}
