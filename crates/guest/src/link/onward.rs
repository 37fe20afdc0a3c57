//! What a routed guest sends to others than the lab itself.

use std::{fs, io};

use rookery_host::Host;
use rookery_study::{LinkDevice, LinkShape};

use super::lines::port;
use crate::route::forwarding;

/// Have the namespace that the caller is in, the lab's, send on what a routed guest sends to
/// others. That is a setting of the lab's end of the pair, which goes with it. Guests of other links
/// have the bridge for it.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn route_onward(host: &dyn Host, shape: &LinkShape, number: u16) -> io::Result<()> {
    if shape.device != LinkDevice::Routed {
        return Ok(());
    }
    let setting = forwarding(&port(LinkDevice::Routed, number));
    host.step("routing of what a guest sends")?;
    fs::write(&setting, "1")
        .map_err(|error| io::Error::new(error.kind(), format!("{setting}: {error}")))
}

/// Whether it does so; the caller is in the lab's namespace.
pub(super) fn routes_onward(number: u16) -> bool {
    let setting = forwarding(&port(LinkDevice::Routed, number));
    fs::read(setting).is_ok_and(|value| value.trim_ascii() == b"1")
}
