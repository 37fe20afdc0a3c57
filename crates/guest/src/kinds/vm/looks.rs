//! Looks at a machine that runs: what libvirt counts of it, and what its own kernel does.

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rookery_stats::MachineInside;

use super::{counters::parse_domstats, shared::Shared};
use crate::{
    counters::{MachineCounters, MachineProbe},
    link::{GUEST_DEVICE, MachineEnd},
};

/// How long the guest's service may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// The request that is answered by where the link leads whose path below the data follows.
pub(super) const LINK: &str = "link ";
/// The request that is answered by what the guest says of its end of its link.
pub(super) const INTERFACES: &str = "interfaces";
/// More of an answer is not read: a guest may write what it likes.
const MOST_BYTES: u64 = 64 << 10;

/// A reader of the machine of this domain, whose service listens at `control`.
pub(super) fn probe(shared: Arc<Shared>, domain: String, control: PathBuf) -> MachineProbe {
    Box::new(move || {
        let words = [
            "domstats",
            "--cpu-total",
            "--balloon",
            "--vcpu",
            "--interface",
            "--block",
            &domain,
        ];
        let outside = shared.virsh.run(&*shared.host, &words).ok()?;
        let inside = ask(&control, "counters", true).ok();
        Some(MachineCounters {
            outside: parse_domstats(&outside),
            inside: inside.and_then(|line| serde_json::from_str::<MachineInside>(line.trim()).ok()),
        })
    })
}

/// Inside: what this guest says of its end of its link, as the kernel shows it below `sys`;
/// `disciplines` is what `tc` says.
pub(super) fn own_end(sys: &Path, disciplines: String) -> MachineEnd {
    let all = sys.join("class/net");
    let entries = fs::read_dir(&all).into_iter().flatten();
    let up = entries.flatten().filter(|entry| {
        let state = fs::read_to_string(entry.path().join("operstate"));
        state.is_ok_and(|state| state.trim() == "up")
    });
    let features = fs::read_to_string(all.join(GUEST_DEVICE).join("device/features"));
    MachineEnd {
        interfaces: up
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect(),
        features: features.unwrap_or_default().trim().to_owned(),
        disciplines,
    }
}

/// What a guest says of its end of its link; nothing where it does not answer.
pub(super) fn told_end(control: &Path) -> MachineEnd {
    let told = ask(control, INTERFACES, true).unwrap_or_default();
    serde_json::from_str(told.trim()).unwrap_or_default()
}

/// One request to a guest's service, and the first line of its answer, if it is to answer.
pub(super) fn ask(control: &Path, word: &str, answers: bool) -> io::Result<String> {
    let stream = UnixStream::connect(control)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    (&stream).write_all(format!("{word}\n").as_bytes())?;
    let mut line = String::new();
    if answers {
        BufReader::new((&stream).take(MOST_BYTES)).read_line(&mut line)?;
    }
    Ok(line)
}
