//! Routes of a network, and which of its interfaces send on what comes to them.

use std::net::IpAddr;

use rookery_host::{CommandError, Host, Invocation};
use serde::Deserialize;

/// The way to an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The interface that it leads over.
    pub(crate) device: String,
    /// The gateway on it, if there is one.
    pub(crate) gateway: Option<String>,
}

/// The same as `ip -json route get` tells it.
#[derive(Deserialize)]
struct Told {
    dev: String,
    gateway: Option<String>,
    via: Option<Via>,
}

/// A gateway of another family than the destination.
#[derive(Deserialize)]
struct Via {
    host: String,
}

/// The route to an address in the namespace of the calling thread; `None` where there is none.
///
/// # Errors
/// When `ip` cannot be asked.
pub(crate) fn route_to(host: &dyn Host, address: IpAddr) -> Result<Option<Route>, CommandError> {
    let asked = ["-json", "route", "get", &address.to_string()].map(str::to_owned);
    match host.run(Invocation::new("ip").args(asked)) {
        Err(CommandError::Failed { .. }) => Ok(None),
        said => Ok(first(&said?)),
    }
}

fn first(said: &str) -> Option<Route> {
    let all: Vec<Told> = serde_json::from_str(said).ok()?;
    let Told { dev, gateway, via } = all.into_iter().next()?;
    Some(Route {
        device: dev,
        gateway: gateway.or(via.map(|via| via.host)),
    })
}

/// The setting by which an interface sends on what comes to it and is for others.
pub(crate) fn forwarding(device: &str) -> String {
    format!("/proc/sys/net/ipv4/conf/{device}/forwarding")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_read_as_ip_tells_them() {
        let near = r#"[{"dst":"192.0.2.2","dev":"eno1","prefsrc":"192.0.2.1","flags":[],"uid":0,"cache":[]}]"#;
        let found = first(near).expect("a route");
        assert_eq!((found.device.as_str(), found.gateway), ("eno1", None));
        let far = r#"[{"dst":"198.51.100.1","gateway":"192.0.2.254","dev":"eno1","flags":[],"cache":[]}]"#;
        let found = first(far).expect("a route");
        assert_eq!(found.gateway.as_deref(), Some("192.0.2.254"));
        let other =
            r#"[{"dst":"198.51.100.1","via":{"family":"inet6","host":"fe80::1"},"dev":"eno1"}]"#;
        let found = first(other).expect("a route");
        assert_eq!(found.gateway.as_deref(), Some("fe80::1"));
        for nothing in ["", "[]", "[{}]"] {
            assert!(first(nothing).is_none(), "{nothing}");
        }
    }
}
