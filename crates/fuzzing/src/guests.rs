//! Any bytes of a virtual machine's service, and of `virsh`.

use rookery_guest::fuzzing::{agent_events, counters};

pub(crate) fn agent_messages(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    assert!(agent_events(&text) <= text.lines().count());
    counters(&text);
}
