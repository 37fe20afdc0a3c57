//! Cases for machines on a libvirt that was there before. The case starts one for itself, in a
//! mount namespace where its files lie in a directory of the case.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rookery_guest::{CleanOptions, Kind, Network, NetworkShape, VmShape, clean};
use rookery_host::{Host, Invocation, RealHost, RunId};

use crate::{
    Case,
    fixture::{Controller, Fixture, PATIENCE},
};

/// All of them.
pub(crate) const CASES: &[Case] = &[(
    "on_the_hosts_libvirt_only_marked_machines_are_touched",
    on_the_hosts_libvirt_only_marked_machines_are_touched,
)];

/// Where libvirt looks for what.
const PLACES: [&str; 5] = [
    "/etc/libvirt",
    "/run/libvirt",
    "/var/lib/libvirt",
    "/var/cache/libvirt",
    "/var/log/libvirt",
];
/// Binds a directory of `$0` over each place, and starts libvirtd; whatever its emulators leave
/// behind is waited for, as the first process of a host does.
const START: &str = r#"home=$0; for place in "$@"; do mkdir -p "$home$place"; mount --bind "$home$place" "$place"; done
mount --bind "$home/passwd" /etc/passwd && mount --bind "$home/group" /etc/group && { libvirtd --config "$home/libvirtd.conf" --pid-file "$home/pid" & wait $!; }"#;
/// A machine of somebody else, whose name looks like one of ours.
const FOREIGN: &str = "<domain type='qemu'><name>rookery-NAME-g9</name><memory \
                       unit='MiB'>64</memory><os><type arch='x86_64'>hvm</type></os></domain>";

/// A libvirt that stands for that of the host.
struct HostLibvirt {
    child: Child,
    home: tempfile::TempDir,
    /// Mount points that were not there.
    made: Vec<&'static str>,
}

impl HostLibvirt {
    fn start() -> Self {
        let home = tempfile::tempdir().expect("temporary directory");
        let made: Vec<&str> = PLACES
            .into_iter()
            .filter(|place| !Path::new(place).is_dir())
            .collect();
        for place in &made {
            fs::create_dir_all(place).expect("made");
        }
        let write =
            |name: &str, text: &str| fs::write(home.path().join(name), text).expect("written");
        let sockets = home.path().display();
        write(
            "libvirtd.conf",
            &format!(
                "unix_sock_dir = \"{sockets}\"\nauth_unix_rw = \"none\"\nauth_unix_ro = \"none\"\n"
            ),
        );
        // Debian's build insists on this account.
        let with = |file: &str, line: &str| {
            format!("{}{line}", fs::read_to_string(file).expect("accounts"))
        };
        write(
            "passwd",
            &with(
                "/etc/passwd",
                "libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin\n",
            ),
        );
        write("group", &with("/etc/group", "libvirt-qemu:x:64055:\n"));
        let etc = home.path().join("etc/libvirt");
        fs::create_dir_all(&etc).expect("made");
        fs::write(
            etc.join("qemu.conf"),
            "stdio_handler = \"file\"\nnamespaces = []\ncgroup_controllers = []\n",
        )
        .expect("written");
        let log = fs::File::create(home.path().join("log")).expect("made");
        let mut command = Command::new("unshare");
        command
            .args([
                "--mount",
                "--propagation",
                "private",
                "--pid",
                "--fork",
                "--kill-child=SIGKILL",
                "--mount-proc",
                "--",
                "sh",
                "-c",
                START,
            ])
            .arg(home.path())
            .args(PLACES);
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("log"))
            .stderr(log)
            .spawn()
            .expect("libvirtd");
        let libvirt = Self { child, home, made };
        let deadline = Instant::now() + PATIENCE;
        while libvirt.virsh(&["uri"]).is_err() {
            let log = || fs::read_to_string(libvirt.home.path().join("log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "it does not answer: {}", log());
            thread::sleep(Duration::from_millis(100));
        }
        libvirt
    }

    fn uri(&self) -> String {
        format!(
            "qemu+unix:///system?socket={}/libvirt-sock",
            self.home.path().display()
        )
    }

    fn virsh(&self, words: &[&str]) -> Result<String, String> {
        let invocation = Invocation::new("virsh")
            .args(["--quiet", "--connect", &self.uri()])
            .args(words.iter().copied());
        RealHost
            .run(invocation.timeout(PATIENCE))
            .map_err(|error| error.to_string())
    }

    fn machines(&self) -> Vec<String> {
        let said = self.virsh(&["list", "--all", "--name"]).expect("a list");
        said.lines()
            .map(str::to_owned)
            .filter(|name| !name.is_empty())
            .collect()
    }
}

impl Drop for HostLibvirt {
    fn drop(&mut self) {
        for name in self.machines() {
            let _ = self.virsh(&["destroy", &name]);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        for place in self.made.iter().rev() {
            let _ = fs::remove_dir(place);
        }
    }
}

fn on_the_hosts_libvirt_only_marked_machines_are_touched(_: Kind) {
    let libvirt = HostLibvirt::start();
    let fixture = Fixture::new();
    let foreign = libvirt.home.path().join("foreign.xml");
    fs::write(&foreign, FOREIGN.replace("NAME", &fixture.run)).expect("written");
    libvirt
        .virsh(&["create", "--paused", foreign.to_str().expect("utf-8")])
        .expect("a machine of somebody else");
    let theirs = libvirt.machines();
    let shape = VmShape {
        nic: NetworkShape {
            network: Network::User,
            ..NetworkShape::default()
        },
        connection: Some(libvirt.uri()),
        ..VmShape::default()
    };
    let controller = Controller::start_shaped(&fixture, &shape);
    assert_eq!(libvirt.machines().len(), 3, "two are ours");
    let options = CleanOptions {
        labels: Some(vec![RunId::try_from(fixture.run.clone()).expect("valid")]),
    };
    assert_eq!(
        clean(&options).expect("cleaned").alive.len(),
        1,
        "a living run is left alone"
    );
    assert_eq!(libvirt.machines().len(), 3);
    controller.kill();
    let report = clean(&options).expect("cleaned");
    assert_eq!(report.failed, Vec::<String>::new());
    assert!(
        report
            .removed
            .iter()
            .any(|thing| thing.contains("-g1 of qemu+unix")),
        "{report:?}"
    );
    assert_eq!(libvirt.machines(), theirs, "theirs stays, ours are gone");
    fixture.assert_no_traces("after clean");
}
