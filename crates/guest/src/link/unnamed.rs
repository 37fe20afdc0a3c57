//! A link between two network namespaces that have no names: for measurements, not for guests.

use std::{
    io,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, channel},
    thread,
};

use rookery_host::{Host, in_unnamed_netns};

use super::{
    AskedLink, EndSettings, LinkLines, Side, apply, bridges, guest_address, leave_out_filters,
    route_onward, run_batch,
};

/// Both ends of a link that is there.
#[derive(Clone, Debug)]
pub struct LinkEnds {
    /// The namespace of the guest's end.
    pub guest: PathBuf,
    /// The address there.
    pub address: IpAddr,
    /// The namespace of the lab's end, with the bridge.
    pub lab: PathBuf,
}

/// Do `work` while there is such a link, as a lab has it for a container, or, where none is asked
/// for, a loopback interface whose ends are in one namespace. All of it is gone afterwards, also
/// when this process is killed.
///
/// # Errors
/// When the link cannot be made.
pub fn with_link<T: Send>(
    host: &dyn Host,
    asked: Option<AskedLink<'_>>,
    work: impl FnOnce(&LinkEnds) -> T + Send,
) -> io::Result<T> {
    in_unnamed_netns(|| {
        let lab = own_namespace();
        run_batch(host, &[], "link set lo up\n")?;
        let Some(asked) = asked else {
            return Ok(work(&LinkEnds {
                guest: lab.clone(),
                address: IpAddr::V4(Ipv4Addr::LOCALHOST),
                lab,
            }));
        };
        leave_out_filters(host)?;
        run_batch(host, &[], &bridges(asked.shape).concat())?;
        let lines = &LinkLines::new(asked.shape, 1, &lab)?;
        let settings = EndSettings::from(asked);
        let set = |side: Side| apply(host, &[], &settings, &side.devices(asked.shape));
        let (told, made) = channel();
        let (done, waits) = channel::<()>();
        thread::scope(|scope| {
            let guest = scope.spawn(move || {
                in_unnamed_netns(move || {
                    let ready = run_batch(host, &[], &lines.inside)
                        .and_then(|()| set(Side::Guest))
                        .map(|()| own_namespace());
                    let there = ready.is_ok();
                    let _ = told.send(ready);
                    if there {
                        hold(&waits);
                    }
                })
            });
            let ends = made
                .recv()
                .unwrap_or_else(|_| Err(io::Error::other("the guest's namespace cannot be made")));
            let worked = ends.and_then(|guest| {
                run_batch(host, &[], &format!("{}{}", lines.outside, lines.join))?;
                route_onward(host, asked.shape, 1)?;
                set(Side::Lab(1))?;
                Ok(work(&LinkEnds {
                    guest,
                    address: IpAddr::V4(guest_address(1)?),
                    lab,
                }))
            });
            drop(done);
            let _ = guest.join();
            worked
        })
    })?
}

/// The namespace lives as long as its thread.
fn hold(done: &Receiver<()>) {
    // Ends with the sender.
    let _ = done.recv();
}

/// The network namespace of the calling thread, as other threads find it.
fn own_namespace() -> PathBuf {
    let (process, thread) = (
        rustix::process::getpid().as_raw_nonzero(),
        rustix::thread::gettid().as_raw_nonzero(),
    );
    Path::new("/proc").join(format!("{process}/task/{thread}/ns/net"))
}
