//! Systems of a study that run already: load goes to other machines only by the user's word.

use std::net::IpAddr;

use rookery_study::{Plan, Variant};

use crate::exit::{Code, Failure};

/// Refuses a plan that loads another machine which is not among the `confirmed`.
pub(crate) fn refuse_unconfirmed(plan: &Plan, confirmed: &[IpAddr]) -> Result<(), Failure> {
    let systems = plan
        .variants
        .iter()
        .flat_map(Variant::studies)
        .filter_map(|study| study.stack.external());
    for system in systems {
        let ip = system.target.ip();
        // `::ffff:127.0.0.1` is this machine, too.
        if !ip.to_canonical().is_loopback() && !confirmed.contains(&ip) {
            return Err(Failure::new(
                Code::Usage,
                format!(
                    "http://{} is not this machine: no load goes to other hosts without your \
                     consent",
                    system.target
                ),
            )
            .help(format!(
                "if that system is yours to load, add --confirm-target {ip}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rookery_study::{Document, HostFacts};

    use super::*;

    fn plan(target: &str) -> Plan {
        let text = format!(
            "title = \"a system\"\n[workload]\nkind = \"sample\"\n[load]\nusers = \
             1\n[stack]\nkind = \"external\"\ntarget = \"{target}\"\n[[layout]]\nname = \"one\"\n"
        );
        let document = Document::parse_bytes("system.toml", text.as_bytes())
            .unwrap_or_else(|problems| panic!("{problems}"));
        let host = HostFacts {
            cpus: vec![0, 1],
            memory_mib: 4096,
            disk_free_mib: 4096,
            root: false,
            places: Vec::new(),
        };
        Plan::of(&document, &host).unwrap_or_else(|problems| panic!("{problems}"))
    }

    #[test]
    fn other_machines_need_the_users_word() {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        for own in ["http://127.0.0.1:8080", "http://[::ffff:127.0.0.1]:8080"] {
            assert!(refuse_unconfirmed(&plan(own), &[]).is_ok(), "{own}");
        }
        let foreign = plan("http://192.0.2.7:8080");
        let refused = refuse_unconfirmed(&foreign, &[]).expect_err("no word");
        let told = refused.to_string();
        assert!(told.contains("--confirm-target 192.0.2.7"), "{told}");
        assert!(refuse_unconfirmed(&foreign, &[ip("192.0.2.8")]).is_err());
        assert!(refuse_unconfirmed(&foreign, &[ip("192.0.2.7")]).is_ok());
    }
}
