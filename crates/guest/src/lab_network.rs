//! The lab's network: a bridge in a namespace of its own, guests linked to it. All of it lies
//! inside namespaces: the host's own network sees nothing, and the namespaces take it all away with
//! them.

use std::{
    fs, io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use crate::{
    label::{Label, guest_netns, run_name},
    link::{
        AskedLink, EndSettings, LinkLines, Side, apply, bridges, leave_out_filters, route_onward,
        run_batch,
    },
};
use rookery_host::{Host, in_netns, make_netns, remove_netns};
use rookery_study::LinkShape;

/// Whether connections take ports that still wait; each network namespace has its own.
const PORT_REUSE: &str = "/proc/sys/net/ipv4/tcp_tw_reuse";

/// Make the lab's namespace with what guests that are linked so are linked to. On an error nothing
/// is left.
///
/// # Errors
/// When the namespace or a bridge cannot be made.
pub(crate) fn make_lab_network(
    host: &dyn Host,
    label: &Label,
    shape: &LinkShape,
) -> io::Result<()> {
    let batch = format!("link set lo up\n{}", bridges(shape).concat());
    host.step("lab network namespace")?;
    make_netns(&run_name(&label.run), || {
        reuse_ports()?;
        leave_out_filters(host)?;
        run_batch(host, &label.environment(""), &batch)
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

/// Make a guest's namespace and link it to the bridge, or to the lab's routes. A bridge that
/// somebody took away is made again. On an error nothing is left.
///
/// # Errors
/// When the namespace or the link cannot be made.
pub(crate) fn attach(
    host: &dyn Host,
    label: &Label,
    lab: &Path,
    (guest, number): (&str, u16),
    asked: AskedLink<'_>,
) -> io::Result<()> {
    let name = guest_netns(&label.run, guest);
    // Made from inside the guest's namespace, so that neither end is ever in the host's own.
    let lines = LinkLines::new(asked.shape, number, lab)?;
    let environment = label.environment(guest);
    let settings = EndSettings::from(asked);
    let set = |side: Side| apply(host, &environment, &settings, &side.devices(asked.shape));
    host.step("guest network namespace")?;
    let in_lab = |batch: &str| {
        in_netns(Some(lab), || run_batch(host, &environment, batch)).and_then(|done| done)
    };
    let inside = || {
        run_batch(host, &environment, &lines.inside)?;
        set(Side::Guest)
    };
    let deadline = Instant::now() + LINK_LIMIT;
    loop {
        match make_netns(&name, inside) {
            // The guest of this number before: its namespace lives on while one of its connections
            // waits for an answer, which is for minutes where the network was cut.
            Err(error) if exists(&error) && Instant::now() < deadline => {
                for device in Side::Lab(number).pair_ends() {
                    let _ = in_lab(&format!("link delete {device}\n"));
                }
                thread::sleep(LINK_LOOK);
            }
            made => break made?,
        }
    }
    let join = format!("{}{}", lines.outside, lines.join);
    let joined = in_lab(&join).or_else(|error| {
        if !is_missing(&error) {
            return Err(error);
        }
        tracing::warn!(
            guest,
            "the bridge of the lab is gone and is made again: {error}"
        );
        // Another guest may be making it.
        for lines in bridges(asked.shape) {
            in_lab(&lines).or_else(|error| if exists(&error) { Ok(()) } else { Err(error) })?;
        }
        in_lab(&lines.join)
    });
    let finish = || {
        route_onward(host, asked.shape, number)?;
        set(Side::Lab(number))
    };
    let done = joined.and_then(|()| in_netns(Some(lab), finish).and_then(|done| done));
    if done.is_err() {
        let _ = remove_netns(&name);
    }
    done
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
