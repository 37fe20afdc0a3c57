//! The lab's network: a bridge in a namespace of its own, guests attached by veth. All of it lies
//! inside namespaces: the host's own network sees nothing, and the namespaces take it all away with
//! them.

use std::{
    fs, io,
    net::Ipv4Addr,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rookery_host::{CommandError, Host, Invocation, in_netns, make_netns, remove_netns};

use crate::label::{Label, guest_netns, run_name};

/// Whether connections take ports that still wait; each network namespace has its own.
const PORT_REUSE: &str = "/proc/sys/net/ipv4/tcp_tw_reuse";
/// The lab's side, where the driver is.
const LAB_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 255, 254);
/// The largest number of a guest: the address block, less the lab's own part. A Linux bridge takes
/// 1023 ports.
const LAST_NUMBER: u16 = 1023;

/// Make the lab's namespace with its bridge. On an error nothing is left.
///
/// # Errors
/// When the namespace or the bridge cannot be made.
pub(crate) fn make_lab_network(host: &dyn Host, label: &Label) -> io::Result<()> {
    let batch = format!("link set lo up\n{}", bridge());
    host.step("lab network namespace")?;
    make_netns(&run_name(&label.run), || {
        reuse_ports()?;
        ip(host, label, "", &batch)
    })
}

/// Have connections of this namespace take ports of connections that were closed a second ago. A
/// driver whose server wants a connection for each request closes more in the minute that a port
/// else rests than there are ports: the kernel would then search them all for each connection, on
/// the driver's CPU.
fn reuse_ports() -> io::Result<()> {
    match fs::write(PORT_REUSE, "1") {
        // A kernel without it has other means.
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The lines that make the bridge.
fn bridge() -> String {
    // Snooping would have the bridge send queries of its own.
    format!(
        "link add br0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0\naddress add \
         {LAB_ADDRESS}/16 dev br0\nlink set br0 up\n"
    )
}

/// Make a guest's namespace and attach it to the bridge. A bridge that somebody took away is made
/// again. On an error nothing is left.
///
/// # Errors
/// When the namespace or the link cannot be made.
pub(crate) fn attach(
    host: &dyn Host,
    label: &Label,
    lab: &Path,
    guest: &str,
    number: u16,
) -> io::Result<()> {
    let address = guest_address(number)?;
    let name = guest_netns(&label.run, guest);
    let lab_path = lab.display();
    // Made from inside the guest's namespace, so that neither end is ever in the host's own.
    let inside = format!(
        "link set lo up\nlink add eth0 type veth peer name v{number} netns {lab_path}\naddress add \
         {address}/16 dev eth0\nlink set eth0 up\n"
    );
    let outside = format!("link set v{number} master br0 up\n");
    host.step("guest network namespace")?;
    let in_lab =
        |batch: &str| in_netns(Some(lab), || ip(host, label, guest, batch)).and_then(|done| done);
    let deadline = Instant::now() + LINK_LIMIT;
    loop {
        match make_netns(&name, || ip(host, label, guest, &inside)) {
            // The guest of this number before: its namespace lives on while one of its connections
            // waits for an answer, which is for minutes where the network was cut.
            Err(error) if exists(&error) && Instant::now() < deadline => {
                let _ = in_lab(&format!("link delete v{number}\n"));
                thread::sleep(LINK_LOOK);
            }
            made => break made?,
        }
    }
    let joined = in_lab(&outside).or_else(|error| {
        if !is_missing(&error) {
            return Err(error);
        }
        tracing::warn!(
            guest,
            "the bridge of the lab is gone and is made again: {error}"
        );
        // Another guest may be making it.
        in_lab(&bridge()).or_else(|error| if exists(&error) { Ok(()) } else { Err(error) })?;
        in_lab(&outside)
    });
    if joined.is_err() {
        let _ = remove_netns(&name);
    }
    joined
}

/// `ip` names a link that is not there.
fn is_missing(error: &io::Error) -> bool {
    error.to_string().contains("Device does not exist")
}

fn exists(error: &io::Error) -> bool {
    error.to_string().contains("File exists")
}

/// How long the link of a removed guest may take to vanish.
const LINK_LIMIT: Duration = Duration::from_secs(5);
/// How often it is looked for.
const LINK_LOOK: Duration = Duration::from_millis(10);

/// Address of a guest: 10.77.0.1, 10.77.0.2, ...
///
/// # Errors
/// When the number is out of range.
pub(crate) fn guest_address(number: u16) -> io::Result<Ipv4Addr> {
    if !(1..=LAST_NUMBER).contains(&number) {
        return Err(io::Error::other(format!(
            "guest number {number} is out of range: a lab network carries 1 to {LAST_NUMBER} guests"
        )));
    }
    let [high, low] = number.to_be_bytes();
    Ok(Ipv4Addr::new(10, 77, high, low))
}

/// Run `ip` once for several lines, in the namespace of the calling thread.
fn ip(host: &dyn Host, label: &Label, guest: &str, batch: &str) -> io::Result<()> {
    let invocation = Invocation::new("ip")
        .args(["-batch", "-"])
        .stdin(batch)
        .envs(label.environment(guest));
    host.run(invocation).map(drop).map_err(|error| match error {
        CommandError::Failed { words, .. } => io::Error::other(format!(
            "`ip -batch -` says: {words}; it was told:\n{batch}"
        )),
        other => io::Error::other(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_stay_clear_of_the_lab() {
        assert_eq!(
            guest_address(1).expect("valid"),
            Ipv4Addr::new(10, 77, 0, 1)
        );
        assert_eq!(
            guest_address(1023).expect("valid"),
            Ipv4Addr::new(10, 77, 3, 255)
        );
        assert!(guest_address(0).is_err() && guest_address(1024).is_err());
    }
}
