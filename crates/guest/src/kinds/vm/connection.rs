//! The libvirt that makes the machines: one of the lab's own, or that of the host, which others use
//! as well.
//!
//! Machines on the host's libvirt are transient and carry Rookery's mark as metadata. What does not
//! carry it is never touched, whatever its name.

use std::{fs, io, path::Path, sync::Arc};

use rookery_host::{CommandError, Host, HostError, Identity, RunId};

use super::{libvirtd::Libvirtd, virsh::Virsh, xml::Element};
use crate::{
    label::{Label, guest_netns},
    processes::guest_processes,
    storage::View,
};

/// Name of the file in a run's directory that holds its connection, written before any machine is
/// made.
const FILE: &str = "connection";
/// Name space of the mark.
pub(super) const MARK: &str = "urn:rookery:guest:1";
/// The label of virsh's own processes, in place of a guest's.
const OWN_LABEL: &str = "libvirt";

/// The libvirt of a lab.
#[derive(Debug)]
pub(super) enum Libvirt {
    /// Ends with the lab.
    Own(Libvirtd),
    /// Was there before, and stays.
    Host {
        virsh: Virsh,
        /// Models of security that it uses.
        security: Vec<String>,
    },
}

impl Libvirt {
    /// That of the host: it has to answer. Its address is noted in the run's directory `home`, for
    /// whoever cleans up.
    ///
    /// # Errors
    /// When it does not answer.
    pub(super) fn to_host(
        host: &dyn Host,
        label: &Label,
        uri: &str,
        home: &Path,
    ) -> io::Result<Self> {
        host.step("connection")?;
        fs::write(home.join(FILE), uri)?;
        let virsh = Virsh::new(uri, label.environment(OWN_LABEL));
        let said = virsh.run(host, &["capabilities"]).map_err(|error| {
            let help =
                format!("does libvirt run (systemctl start libvirtd), and may you use {uri}?");
            HostError::because(error, help)
        })?;
        Ok(Self::Host {
            virsh,
            security: security_models(&said),
        })
    }

    pub(super) fn virsh(&self) -> &Virsh {
        match self {
            Self::Own(libvirtd) => &libvirtd.virsh,
            Self::Host { virsh, .. } => virsh,
        }
    }

    /// Models of security by which its machines have to be let alone.
    pub(super) fn security(&self) -> &[String] {
        match self {
            Self::Own(_) => &[],
            Self::Host { security, .. } => security,
        }
    }

    /// What it sees mounted, where that is not what the host sees.
    pub(super) fn view(&self) -> Option<&Arc<View>> {
        match self {
            Self::Own(libvirtd) => Some(&libvirtd.view),
            Self::Host { .. } => None,
        }
    }

    /// End it, if it is the lab's own.
    pub(super) fn stop(&mut self) {
        if let Self::Own(libvirtd) = self {
            libvirtd.stop();
        }
    }
}

/// The models of security in a libvirt's capabilities.
fn security_models(capabilities: &str) -> Vec<String> {
    let models = capabilities.split("<secmodel>").skip(1);
    let model = models.filter_map(|text| text.split_once("<model>")?.1.split_once("</model>"));
    model
        .map(|(model, _)| model.to_owned())
        .filter(|model| model != "none" && model.chars().all(|c| c.is_ascii_alphanumeric()))
        .collect()
}

/// Elements that let the emulator run as root and unconfined, as in a libvirt of the lab's own:
/// nobody's files change hands.
pub(super) fn security_labels(models: &[String]) -> impl Iterator<Item = Element> {
    models.iter().map(|model| match model.as_str() {
        "dac" => Element::new("seclabel")
            .with("type", "static")
            .with("model", "dac")
            .with("relabel", "no")
            .child(Element::new("label").text("+0:+0")),
        other => Element::new("seclabel")
            .with("type", "none")
            .with("model", other),
    })
}

/// The mark of a guest of a run.
pub(super) fn mark(run: &str, guest: &str) -> Element {
    let mark = Element::new("rookery:guest")
        .with("xmlns:rookery", MARK)
        .with("run", run)
        .with("name", guest);
    Element::new("metadata").child(mark)
}

/// Whether a domain's metadata, as `virsh metadata` tells them, mark it as a run's.
fn is_marked(metadata: &str, run: &RunId) -> bool {
    let value = metadata
        .trim_start()
        .strip_prefix("<guest")
        .and_then(|rest| {
            let (_, rest) = rest.split_once(" run=")?;
            let quote = rest.chars().next().filter(|quote| "'\"".contains(*quote))?;
            rest[1..].split_once(quote)
        });
    value.is_some_and(|(value, _)| value == run.as_str())
}

/// The emulator of a guest that runs: as its libvirt noted it in `home`, or by its label.
pub(super) fn emulator(
    home: &Path,
    label: &Label,
    domain: &str,
    guest: &str,
) -> io::Result<Option<Identity>> {
    let noted = fs::read_to_string(home.join("run/qemu").join(format!("{domain}.pid")));
    if let Some(pid) = noted.ok().and_then(|text| text.trim().parse().ok()) {
        return Ok(Identity::read(pid));
    }
    Ok(guest_processes(&label.run, guest)?.into_iter().next())
}

/// End the machines of a run on the host's libvirt, if it had any there; gives what was ended.
/// `state` is the run's directory.
///
/// # Errors
/// When one is left.
pub(super) fn sweep(host: &dyn Host, state: &Path, run: &RunId) -> io::Result<Vec<String>> {
    let Ok(uri) = fs::read_to_string(state.join(FILE)) else {
        return Ok(Vec::new());
    };
    let virsh = Virsh::new(uri.trim(), Vec::new());
    let names = match virsh.run(host, &["list", "--all", "--name"]) {
        // Transient machines end with their libvirt; their emulators are found by their labels.
        Err(CommandError::Failed { .. }) => return Ok(Vec::new()),
        said => said.map_err(io::Error::other)?,
    };
    let prefix = guest_netns(run, "");
    let mut ended = Vec::new();
    for name in names
        .lines()
        .map(str::trim)
        .filter(|name| name.starts_with(&prefix))
    {
        // One without metadata is nobody's that we know.
        let marked = virsh.run(host, &["metadata", "--domain", name, "--uri", MARK]);
        if marked.is_ok_and(|metadata| is_marked(&metadata, run)) {
            virsh.destroy(host, name).map_err(io::Error::other)?;
            ended.push(format!("domain {name} of {}", uri.trim()));
        }
    }
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> RunId {
        RunId::try_from("ab12".to_owned()).expect("valid")
    }

    #[test]
    fn only_the_runs_own_mark_counts() {
        assert!(is_marked("<guest run='ab12' name='g1'/>\n", &run()));
        assert!(is_marked(
            "<guest xmlns=\"urn:x\" run=\"ab12\" name=\"g1\"/>",
            &run()
        ));
        for other in [
            "",
            "<guest run='ab123'/>",
            "<guest name=' run=' run='x'/>",
            "<other run='ab12'/>",
            "<guest run=ab12/>",
            "<guest run='ab12",
        ] {
            assert!(!is_marked(other, &run()), "{other}");
        }
    }

    #[test]
    fn the_emulator_is_let_alone_by_all_models_of_the_host() {
        let capabilities = "<host><secmodel><model>apparmor</model><doi>0</doi></secmodel>\
                            <secmodel><model>dac</model></secmodel><secmodel><model>none</model></secmodel></host>";
        let models = security_models(capabilities);
        let labels: String = security_labels(&models)
            .map(|label| label.render())
            .collect();
        insta::assert_snapshot!(labels, @r"
        <seclabel type='none' model='apparmor'/>
        <seclabel type='static' model='dac' relabel='no'>
          <label>+0:+0</label>
        </seclabel>
        ");
    }

    /// libvirt's own driver for tests: nothing boots, and its own domain `test` has to stay.
    #[test]
    fn a_machine_of_somebody_else_stays() {
        use rookery_host::{Invocation, RealHost};
        let foreign = "<domain type='test'><name>rookery-ab12-g1</name><memory>65536</memory><os><type>hvm</type></os></domain>";
        let directory = tempfile::tempdir().expect("temporary directory");
        assert_eq!(
            sweep(&RealHost, directory.path(), &run()).expect("nothing there"),
            Vec::<String>::new()
        );
        let document = directory.path().join("node.xml");
        let marked = foreign.replace("g1", "g2").replace(
            "<memory>",
            &format!("{}<memory>", mark("ab12", "g2").render()),
        );
        let of_another = foreign.replace("g1", "g3").replace(
            "<memory>",
            &format!("{}<memory>", mark("ab13", "g3").render()),
        );
        let node = format!("<node>{foreign}{marked}{of_another}<cpu><mhz>1</mhz></cpu></node>");
        fs::write(&document, node).expect("written");
        let uri = format!("test://{}", document.display());
        fs::write(directory.path().join(FILE), &uri).expect("written");
        let said = RealHost
            .run(Invocation::new("virsh").args(["-q", "-c", &uri, "list", "--all", "--name"]));
        if let Err(CommandError::Missing { .. }) = said {
            assert_eq!(
                std::env::var("ROOKERY_SKIP_ROOT_TESTS").as_deref(),
                Ok("1"),
                "virsh is missing (apt install libvirt-clients)"
            );
            return;
        }
        assert!(said.expect("virsh").contains("rookery-ab12-g1"));
        let ended = sweep(&RealHost, directory.path(), &run()).expect("swept");
        assert_eq!(ended, [format!("domain rookery-ab12-g2 of {uri}")]);
    }
}
