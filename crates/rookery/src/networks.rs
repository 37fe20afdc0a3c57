//! Networks of the host on which guests get addresses: only by the user's word, as every target
//! that is not this machine.

use rookery_study::{
    Plan,
    vm_shape::{GuestNet, Network},
};

use crate::exit::{Code, Failure};

/// Refuses a plan whose guests get addresses of a network that is not among the `confirmed`.
pub(crate) fn refuse_unconfirmed(plan: &Plan, confirmed: &[GuestNet]) -> Result<(), Failure> {
    let nics = plan
        .variants
        .iter()
        .filter_map(|variant| variant.study.guest.vm())
        .map(|machine| &machine.nic);
    for nic in nics {
        let (Network::HostBridge(bridge), Some(addresses)) = (&nic.network, nic.addresses) else {
            continue;
        };
        let is_confirmed = |net: &GuestNet| {
            let first = addresses.address(1);
            first.is_some_and(|first| net.holds(first.into()))
        };
        if !confirmed.iter().any(is_confirmed) {
            return Err(Failure::new(
                Code::Usage,
                format!(
                    "guests on {bridge} get addresses of the host's own network, {addresses} and \
                     following: no guest appears on other networks without your consent"
                ),
            )
            .help(format!(
                "if those addresses are yours to give, add --confirm-network {addresses}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rookery_study::{Document, HostFacts};

    use super::*;

    fn plan(network: &str) -> Plan {
        let text = format!(
            r#"
title = "bridged"
[workload]
kind = "dvdstore"
[load]
users = 1
[stack]
kind = "lamp"
[guest]
kind = "vm"
memory = "1GiB per guest"
[guest.vm]
{network}
[[layout]]
name = "one"
guests = 1
vcpus = 1
"#
        );
        let document = Document::parse_bytes("bridged.toml", text.as_bytes())
            .unwrap_or_else(|problems| panic!("{problems}"));
        let host = HostFacts {
            cpus: (0..4).collect(),
            memory_mib: 16_384,
            disk_free_mib: 1 << 20,
            root: true,
            places: Vec::new(),
        };
        Plan::anyway(&document, &host).0
    }

    #[test]
    fn addresses_of_the_hosts_network_need_the_users_word() {
        let bridged = plan("network = \"bridge:br0\"\naddresses = \"192.168.1.50/24\"");
        let refused = refuse_unconfirmed(&bridged, &[]).expect_err("no word");
        assert_eq!(refused.code, Code::Usage);
        assert!(
            refused
                .to_string()
                .contains("--confirm-network 192.168.1.50/24"),
            "{refused}"
        );
        let net = |text: &str| text.parse::<GuestNet>().expect("a network");
        assert!(refuse_unconfirmed(&bridged, &[net("192.168.2.1/24")]).is_err());
        assert!(refuse_unconfirmed(&bridged, &[net("192.168.1.1/24")]).is_ok());
        assert!(refuse_unconfirmed(&plan(""), &[]).is_ok());
    }
}
