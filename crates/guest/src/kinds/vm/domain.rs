//! The libvirt domain of a guest: a document made from data, and from nothing else.

use std::path::Path;

use rookery_host::{format_cpu_list, io::IoLimits};
use rookery_study::vm_shape::{CpuModel, Network, VmShape};

use super::{
    accel::Accelerator,
    connection::{mark, security_labels},
    document::{DATA_TARGET, TUNES},
    interfaces::{Port, interfaces},
    plug::Forward,
    pool::Disk,
    swap,
    xml::Element,
};

/// What the emulator may keep of translated code, MiB. Its own default is a share of the host's
/// memory for each guest.
const TRANSLATIONS_MIB: u32 = 128;
/// Names of the guest's ports, as both sides know them.
pub(crate) const LOG_PORT: &str = "rookery.log.0";
/// Events of the guest's service.
pub(crate) const EVENT_PORT: &str = "rookery.event.0";
/// Requests to the guest's service.
pub(crate) const CONTROL_PORT: &str = "rookery.control.0";
/// Commands of the user.
pub(crate) const COMMAND_PORT: &str = "rookery.command.0";

/// A disk of a role as the machine has it.
#[derive(Clone, Debug)]
pub(super) struct RoleTarget<'a> {
    pub(super) disk: &'a Disk,
    pub(super) target: &'static str,
    pub(super) serial: String,
    pub(super) limits: IoLimits,
}

/// How a domain comes up.
#[derive(Clone, Debug)]
pub(super) enum Boot<'a> {
    /// Kernel and initial file system are given to it.
    Direct {
        kernel: &'a Path,
        initrd: &'a Path,
        command_line: String,
        /// The image of the system, which all guests read and none writes.
        system: &'a Path,
    },
    /// From a disk of its own, by firmware.
    Disk {
        /// The clone of a cloud image.
        system: &'a Disk,
        /// The seed for cloud-init.
        seed: &'a Path,
        /// UEFI, with its variables in this file; `None` = the firmware of a PC.
        variables: Option<&'a Path>,
    },
}

/// All that a domain is made of.
#[derive(Clone, Debug)]
pub(super) struct Domain<'a> {
    pub(super) name: &'a str,
    /// The run and the guest, which are its mark.
    pub(super) owner: (&'a str, &'a str),
    /// Models of security by which it is let alone.
    pub(super) security: &'a [String],
    pub(super) uuid: String,
    pub(super) accelerator: Accelerator,
    pub(super) shape: &'a VmShape,
    pub(super) vcpus: u32,
    pub(super) memory_mib: u64,
    /// CPUs of the host that it may use; empty = all.
    pub(super) cpus: &'a [u32],
    /// Memory nodes that hold its memory; empty = any.
    pub(super) nodes: &'a [u32],
    pub(super) limits: IoLimits,
    pub(super) boot: Boot<'a>,
    pub(super) disk: &'a Disk,
    /// What it swaps to.
    pub(super) swap: Option<&'a Disk>,
    /// Disks beside that of its data.
    pub(super) roles: Vec<RoleTarget<'a>>,
    pub(super) seed: &'a Path,
    /// Its interface to the users.
    pub(super) port: Port,
    /// Its interface to the network of tiers, if there is one.
    pub(super) back_end: Option<Port>,
    /// Ports that are forwarded to it in user mode.
    pub(super) forwards: Vec<Forward>,
    pub(super) console: &'a Path,
    pub(super) log: &'a Path,
    pub(super) events: &'a Path,
    /// Socket of requests to the guest's service.
    pub(super) control: &'a Path,
    /// Socket of commands of the user.
    pub(super) commands: &'a Path,
    /// Environment of the emulator: the labels by which it is found.
    pub(super) labels: Vec<(String, String)>,
}

impl Domain<'_> {
    /// The document.
    pub(super) fn xml(&self) -> String {
        let kind = match self.accelerator {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "qemu",
        };
        let mut domain = Element::new("domain")
            .with("type", kind)
            .with("xmlns:qemu", "http://libvirt.org/schemas/domain/qemu/1.0")
            .child(Element::new("name").text(self.name))
            .child(Element::new("uuid").text(&self.uuid))
            .child(mark(self.owner.0, self.owner.1))
            .child(
                Element::new("memory")
                    .with("unit", "MiB")
                    .text(self.memory_mib),
            )
            .children(self.memory_backing())
            .child(self.vcpu())
            .children(
                (self.shape.iothreads > 0)
                    .then(|| Element::new("iothreads").text(self.shape.iothreads)),
            )
            .children(self.pins())
            .children(self.nodes())
            .child(self.os())
            .child(self.features())
            .child(self.cpu())
            .child(Element::new("clock").with("offset", "utc"));
        for (event, action) in [
            ("on_poweroff", "destroy"),
            ("on_reboot", "destroy"),
            ("on_crash", "destroy"),
        ] {
            domain = domain.child(Element::new(event).text(action));
        }
        let environment = self.labels.iter().map(|(name, value)| {
            Element::new("qemu:env")
                .with("name", name)
                .with("value", value)
        });
        domain
            .child(self.devices())
            .children(security_labels(self.security))
            .child(
                Element::new("qemu:commandline")
                    .children(self.user_network())
                    .children(environment),
            )
            .render()
    }

    /// Words of the emulator's command line for the network in user mode. libvirt's own element for
    /// it forwards no ports.
    fn user_network(&self) -> Vec<Element> {
        if self.shape.nic.network != Network::User {
            return Vec::new();
        }
        let forwards: String = self
            .forwards
            .iter()
            .map(|forward| format!(",hostfwd=tcp:{}-{}", forward.outside, forward.inside))
            .collect();
        let words = [
            "-netdev".to_owned(),
            // What the guest sends on its own goes nowhere.
            format!("user,id=rookery,ipv6=off,restrict=on{forwards}"),
            "-device".to_owned(),
            format!(
                "virtio-net-pci,netdev=rookery,addr=0x1e,mac={}",
                self.port.mac
            ),
        ];
        words
            .into_iter()
            .map(|word| Element::new("qemu:arg").with("value", word))
            .collect()
    }

    fn memory_backing(&self) -> Option<Element> {
        let memory = &self.shape.memory;
        let children: Vec<Element> = [
            memory.hugepages.then(|| Element::new("hugepages")),
            (!memory.merged).then(|| Element::new("nosharepages")),
            memory.locked.then(|| Element::new("locked")),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!children.is_empty()).then(|| Element::new("memoryBacking").children(children))
    }

    fn vcpu(&self) -> Element {
        let cpus = (!self.cpus.is_empty()).then(|| list(self.cpus));
        Element::new("vcpu")
            .with("placement", "static")
            .with_some("cpuset", cpus)
            .text(self.vcpus)
    }

    fn pins(&self) -> Option<Element> {
        let pins = &self.shape.pins;
        let own: Vec<Vec<u32>> = match pins.each && self.cpus.len() >= self.vcpus as usize {
            true => self.cpus.iter().map(|cpu| vec![*cpu]).collect(),
            false => Vec::new(),
        };
        let asked = if pins.vcpus.is_empty() {
            &own
        } else {
            &pins.vcpus
        };
        let vcpus = asked
            .iter()
            .take(self.vcpus as usize)
            .enumerate()
            .filter(|(_, cpus)| !cpus.is_empty());
        let mut children: Vec<Element> = vcpus
            .map(|(vcpu, cpus)| {
                Element::new("vcpupin")
                    .with("vcpu", vcpu)
                    .with("cpuset", list(cpus))
            })
            .collect();
        if !pins.emulator.is_empty() {
            children.push(Element::new("emulatorpin").with("cpuset", list(&pins.emulator)));
        }
        if !pins.iothreads.is_empty() {
            children.extend((1..=self.shape.iothreads).map(|thread| {
                Element::new("iothreadpin")
                    .with("iothread", thread)
                    .with("cpuset", list(&pins.iothreads))
            }));
        }
        (!children.is_empty()).then(|| Element::new("cputune").children(children))
    }

    fn nodes(&self) -> Option<Element> {
        (!self.nodes.is_empty()).then(|| {
            let memory = Element::new("memory")
                .with("mode", "strict")
                .with("nodeset", list(self.nodes));
            Element::new("numatune").child(memory)
        })
    }

    fn os(&self) -> Element {
        let efi = matches!(
            self.boot,
            Boot::Disk {
                variables: Some(_),
                ..
            }
        );
        let os = Element::new("os")
            .with_some("firmware", efi.then_some("efi"))
            .child(
                Element::new("type")
                    .with("arch", "x86_64")
                    .with("machine", "pc")
                    .text("hvm"),
            );
        match &self.boot {
            Boot::Direct {
                kernel,
                initrd,
                command_line,
                ..
            } => os
                .child(Element::new("kernel").text(kernel.display()))
                .child(Element::new("initrd").text(initrd.display()))
                .child(Element::new("cmdline").text(command_line)),
            Boot::Disk { variables, .. } => {
                let secure = Element::new("feature")
                    .with("enabled", "no")
                    .with("name", "secure-boot");
                os.children(variables.map(|_| Element::new("firmware").child(secure)))
                    .children(variables.map(|file| Element::new("nvram").text(file.display())))
                    .child(Element::new("boot").with("dev", "hd"))
            }
        }
    }

    fn features(&self) -> Element {
        let features = Element::new("features")
            .child(Element::new("acpi"))
            .child(Element::new("apic"));
        match self.accelerator {
            Accelerator::Kvm => features,
            Accelerator::Tcg => {
                let cache = Element::new("tb-cache")
                    .with("unit", "MiB")
                    .text(TRANSLATIONS_MIB);
                features.child(Element::new("tcg").child(cache))
            }
        }
    }

    fn cpu(&self) -> Element {
        match (&self.shape.cpu, self.accelerator) {
            (CpuModel::Host, Accelerator::Kvm) => {
                Element::new("cpu").with("mode", "host-passthrough")
            }
            (CpuModel::Host | CpuModel::Maximum, _) => Element::new("cpu").with("mode", "maximum"),
            (CpuModel::Named(name), _) => Element::new("cpu")
                .with("mode", "custom")
                .with("match", "exact")
                .child(Element::new("model").with("fallback", "forbid").text(name)),
        }
    }

    fn devices(&self) -> Element {
        let balloon = if self.shape.memory.balloon {
            "virtio"
        } else {
            "none"
        };
        let (system, cloud_seed) = match &self.boot {
            Boot::Direct { system, .. } => (plain_disk(system, "vda"), None),
            Boot::Disk { system, seed, .. } => (
                self.written_disk(system, "vda"),
                Some(plain_disk(seed, "vdd")),
            ),
        };
        Element::new("devices")
            .child(system)
            .child(
                self.written_disk(self.disk, DATA_TARGET)
                    .children(tune(&self.limits)),
            )
            .child(plain_disk(self.seed, "vdc"))
            .children(cloud_seed)
            .children(self.swap.map(|disk| {
                let serial = Element::new("serial").text(swap::SERIAL);
                self.written_disk(disk, "vde").child(serial)
            }))
            .children(self.roles.iter().map(|role| {
                let serial = Element::new("serial").text(&role.serial);
                let disk = self.written_disk(role.disk, role.target);
                disk.children(tune(&role.limits)).child(serial)
            }))
            .child(
                Element::new("controller")
                    .with("type", "usb")
                    .with("model", "none"),
            )
            .children(interfaces(
                &self.shape.nic,
                &self.port,
                self.back_end.as_ref(),
            ))
            .child(file_port(
                "serial",
                self.console,
                Element::new("target")
                    .with("type", "isa-serial")
                    .with("port", 0),
            ))
            .child(file_port("channel", self.log, port(LOG_PORT)))
            .child(file_port("channel", self.events, port(EVENT_PORT)))
            .child(socket_port(self.control, CONTROL_PORT))
            .child(socket_port(self.commands, COMMAND_PORT))
            .child(Element::new("memballoon").with("model", balloon))
            .child(
                Element::new("rng").with("model", "virtio").child(
                    Element::new("backend")
                        .with("model", "random")
                        .text("/dev/urandom"),
                ),
            )
            .child(Element::new("panic").with("model", "isa"))
    }

    /// A disk that the guest writes to.
    fn written_disk(&self, source: &Disk, target: &str) -> Element {
        let disk = &self.shape.disk;
        let driver = Element::new("driver")
            .with("name", "qemu")
            .with("type", source.format())
            .with("cache", disk.cache.word())
            .with("io", disk.io.word())
            .with("discard", "unmap")
            .with_some("queues", disk.queues)
            .with_some("iothread", (self.shape.iothreads > 0).then_some(1));
        let (kind, attribute) = if source.is_block() {
            ("block", "dev")
        } else {
            ("file", "file")
        };
        Element::new("disk")
            .with("type", kind)
            .with("device", "disk")
            .child(driver)
            .child(Element::new("source").with(attribute, source.path().display()))
            .child(
                Element::new("target")
                    .with("dev", target)
                    .with("bus", "virtio"),
            )
    }
}

/// The limits of a disk.
fn tune(limits: &IoLimits) -> Option<Element> {
    let limits = TUNES.into_iter().zip(limits.named());
    let tune: Vec<Element> = limits
        .filter_map(|(name, (_, value))| Some(Element::new(name).text(value?)))
        .collect();
    (!tune.is_empty()).then(|| Element::new("iotune").children(tune))
}

/// A disk that is only read.
fn plain_disk(image: &Path, target: &str) -> Element {
    Element::new("disk")
        .with("type", "file")
        .with("device", "disk")
        .child(
            Element::new("driver")
                .with("name", "qemu")
                .with("type", "raw"),
        )
        .child(Element::new("source").with("file", image.display()))
        .child(
            Element::new("target")
                .with("dev", target)
                .with("bus", "virtio"),
        )
        .child(Element::new("readonly"))
}

fn port(name: &str) -> Element {
    Element::new("target")
        .with("type", "virtio")
        .with("name", name)
}

/// A port that is a socket of the host.
fn socket_port(path: &Path, name: &str) -> Element {
    let source = Element::new("source")
        .with("mode", "bind")
        .with("path", path.display());
    Element::new("channel")
        .with("type", "unix")
        .child(source)
        .child(port(name))
}

/// A port whose output goes to the end of a file.
fn file_port(kind: &'static str, path: &Path, target: Element) -> Element {
    Element::new(kind)
        .with("type", "file")
        .child(
            Element::new("source")
                .with("path", path.display())
                .with("append", "on"),
        )
        .child(target)
}

fn list(cpus: &[u32]) -> String {
    format_cpu_list(cpus.iter().copied())
}

#[cfg(test)]
pub(super) mod tests {
    use std::{path::PathBuf, sync::LazyLock};

    use super::{
        super::document::{disk_of, limits_in_force},
        *,
    };
    use rookery_study::vm_shape::{
        DiskShape, MemoryShape, NetworkShape, NicModel, NicOffloads, Pins,
    };

    static OVERLAY: LazyLock<Disk> = LazyLock::new(|| file("disk.qcow2", true));
    static RAW: LazyLock<Disk> = LazyLock::new(|| file("system.raw", false));
    static VOLUME: LazyLock<Disk> = LazyLock::new(|| Disk::Volume {
        path: PathBuf::from("/dev/vg0/rookery-ab12-g1"),
        name: "vg0/rookery-ab12-g1".to_owned(),
    });

    fn file(name: &str, qcow2: bool) -> Disk {
        Disk::File {
            path: Path::new("/r/clones/g1").join(name),
            qcow2,
        }
    }

    /// A domain of a shape.
    pub(crate) fn domain(shape: &VmShape, accelerator: Accelerator) -> Domain<'_> {
        Domain {
            name: "rookery-ab12-g1",
            owner: ("ab12", "g1"),
            security: &[],
            uuid: "6d1f2a9c-0f3e-5b77-9a41-3c5d8e7f9012".to_owned(),
            accelerator,
            shape,
            vcpus: shape.vcpus.unwrap_or(1),
            memory_mib: shape.memory_mib,
            cpus: &[],
            nodes: &[],
            limits: IoLimits::default(),
            boot: Boot::Direct {
                kernel: Path::new("/t/vmlinuz"),
                initrd: Path::new("/t/initrd.img"),
                command_line: "root=/dev/vda ro".to_owned(),
                system: Path::new("/t/system.img"),
            },
            disk: &OVERLAY,
            swap: None,
            roles: Vec::new(),
            seed: Path::new("/r/clones/g1/seed"),
            port: Port {
                mac: "52:54:00:4d:00:01".to_owned(),
                link: "v1".to_owned(),
            },
            back_end: None,
            forwards: Vec::new(),
            console: Path::new("/r/logs/g1.console.log"),
            log: Path::new("/r/logs/g1.log"),
            events: Path::new("/r/clones/g1/events"),
            control: Path::new("/s/g1"),
            commands: Path::new("/s/g1.c"),
            labels: vec![("ROOKERY_RUN".to_owned(), "ab12".to_owned())],
        }
    }

    #[test]
    fn the_default_is_written_out() {
        let shape = VmShape::default();
        insta::assert_snapshot!(domain(&shape, Accelerator::Tcg).xml());
    }

    #[test]
    fn everything_that_can_be_set_is_written_out() {
        let shape = VmShape {
            vcpus: Some(2),
            cpu: CpuModel::Named("Westmere".into()),
            disk: DiskShape {
                queues: Some(2),
                ..VmShape::pureflex().disk
            },
            iothreads: 1,
            nic: NetworkShape {
                model: NicModel::Virtio,
                network: Network::HostBridge("br0".into()),
                addresses: None,
                vhost: Some(true),
                queues: 2,
                mtu: 9000,
                coalesce: Some(16),
                offloads: NicOffloads {
                    tso: None,
                    checksum: Some(false),
                },
                ..NetworkShape::default()
            },
            memory: MemoryShape {
                hugepages: true,
                locked: true,
                balloon: true,
                merged: false,
            },
            pins: Pins {
                each: false,
                vcpus: vec![vec![5], vec![7]],
                emulator: vec![0, 1],
                iothreads: vec![2],
            },
            ..VmShape::pureflex()
        };
        let domain = Domain {
            cpus: &[5, 7],
            nodes: &[1],
            limits: IoLimits {
                read_iops: Some(200),
                write_bps: Some(1 << 20),
                ..IoLimits::default()
            },
            boot: Boot::Disk {
                system: &RAW,
                seed: Path::new("/r/clones/g1/cloud-seed.img"),
                variables: Some(Path::new("/r/clones/g1/variables.fd")),
            },
            disk: &VOLUME,
            security: &["dac".to_owned(), "apparmor".to_owned()],
            ..domain(&shape, Accelerator::Kvm)
        };
        insta::assert_snapshot!(domain.xml());
    }

    #[test]
    fn what_a_machine_swaps_to_is_a_disk_with_a_serial() {
        let shape = VmShape::default();
        let swap = file("swap.img", false);
        let domain = Domain {
            swap: Some(&swap),
            ..domain(&shape, Accelerator::Tcg)
        };
        let text = domain.xml();
        let (_, after) = text.split_once("/swap.img'/>").expect("the disk");
        let (disk, _) = after.split_once("</disk>").expect("its end");
        assert!(
            disk.contains("<target dev='vde'") && disk.contains("<serial>rookery-swap</serial>"),
            "{disk}"
        );
    }

    #[test]
    fn each_role_has_a_disk_with_limits_of_its_own() {
        let shape = VmShape::default();
        let log = Disk::Raw(PathBuf::from("/dev/loop7"));
        let limits = |write_iops| IoLimits {
            write_iops: Some(write_iops),
            ..IoLimits::default()
        };
        let domain = Domain {
            limits: limits(7),
            roles: vec![RoleTarget {
                disk: &log,
                target: "vdf",
                serial: "rookery-log".to_owned(),
                limits: limits(70),
            }],
            ..domain(&shape, Accelerator::Tcg)
        };
        let text = domain.xml();
        let disk = disk_of(&text, "vdf");
        assert!(
            disk.contains("<source dev='/dev/loop7'/>")
                && disk.contains("<serial>rookery-log</serial>"),
            "{disk}"
        );
        for (target, asked) in [("vdf", 70), (DATA_TARGET, 7)] {
            let reading = limits_in_force(&limits(asked), disk_of(&text, target)).remove(0);
            assert_eq!(reading.asked, reading.effective, "{target}");
        }
        assert_eq!(disk_of(&text, "vdz"), "");
    }

    #[test]
    fn in_user_mode_the_emulator_forwards_ports_and_nothing_else() {
        let shape = VmShape {
            nic: NetworkShape {
                network: Network::User,
                ..NetworkShape::default()
            },
            ..VmShape::default()
        };
        let domain = Domain {
            forwards: vec![Forward {
                outside: "127.77.3.1:80".parse().expect("address"),
                inside: "10.0.2.15:80".parse().expect("address"),
            }],
            ..domain(&shape, Accelerator::Tcg)
        };
        let text = domain.xml();
        assert!(!text.contains("<interface"));
        let (_, words) = text.split_once("<qemu:commandline>").expect("there");
        let words: Vec<&str> = words.lines().skip(1).map(str::trim).collect();
        insta::assert_snapshot!(words.join("\n"), @r"
        <qemu:arg value='-netdev'/>
        <qemu:arg value='user,id=rookery,ipv6=off,restrict=on,hostfwd=tcp:127.77.3.1:80-10.0.2.15:80'/>
        <qemu:arg value='-device'/>
        <qemu:arg value='virtio-net-pci,netdev=rookery,addr=0x1e,mac=52:54:00:4d:00:01'/>
        <qemu:env name='ROOKERY_RUN' value='ab12'/>
        </qemu:commandline>
        </domain>
        ");
    }

    /// libvirt's own driver for tests takes the documents, and shows what it made of them: two
    /// memory nodes of eight CPUs, and nothing boots.
    #[test]
    fn libvirt_understands_pins_and_nodes() {
        use rookery_host::{Host, Invocation, RealHost};
        let places: Vec<rookery_host::CpuPlace> = (0..16)
            .map(|cpu| rookery_host::CpuPlace {
                cpu,
                core: cpu,
                socket: cpu / 8,
                node: cpu / 8,
            })
            .collect();
        for (guests, vcpus) in [(16, 1), (8, 2), (4, 4), (2, 8)] {
            let table = crate::kinds::vm::pin_table(&places, guests, vcpus).expect("fits");
            let pins = table.last().expect("guests").clone();
            let shape = VmShape {
                vcpus: Some(vcpus),
                pins: Pins {
                    each: true,
                    vcpus: Vec::new(),
                    emulator: pins.cpus.clone(),
                    iothreads: vec![],
                },
                ..VmShape::default()
            };
            let domain = Domain {
                cpus: &pins.cpus,
                nodes: &pins.nodes,
                ..domain(&shape, Accelerator::Tcg)
            };
            let xml = domain
                .xml()
                .replace("<domain type='qemu'", "<domain type='test'");
            let xml = xml.replace("arch='x86_64' machine='pc'", "arch='i686'");
            let name = domain.name;
            let words = format!("create /dev/stdin; dumpxml {name}; destroy {name}");
            let invocation =
                Invocation::new("virsh").args(["--quiet", "--connect", "test:///default", &words]);
            let said = match RealHost.run(invocation.stdin(xml).env("LC_ALL", "C")) {
                Err(rookery_host::CommandError::Missing { .. })
                    if std::env::var("ROOKERY_SKIP_ROOT_TESTS").is_ok_and(|value| value == "1") =>
                {
                    return;
                }
                said => said.expect("virsh"),
            };
            for (vcpu, cpu) in pins.cpus.iter().enumerate() {
                let pin = format!("<vcpupin vcpu='{vcpu}' cpuset='{cpu}'/>");
                assert!(said.contains(&pin), "{pin}: {said}");
            }
            assert!(
                said.contains(&format!("<emulatorpin cpuset='{}'/>", list(&pins.cpus))),
                "{said}"
            );
            let nodes = format!("<memory mode='strict' nodeset='{}'/>", list(&pins.nodes));
            assert!(said.contains(&nodes), "{said}");
        }
    }

    #[test]
    fn a_name_cannot_bring_elements_along() {
        let shape = VmShape::default();
        let evil = file("'/><devices><disk/></devices>&", true);
        let domain = Domain {
            disk: &evil,
            labels: vec![("X".into(), "'/><qemu:arg value='-s'/>".into())],
            ..domain(&shape, Accelerator::Tcg)
        };
        let text = domain.xml();
        assert_eq!(text.matches("<devices>").count(), 1);
        assert!(
            !text.contains("<qemu:arg") && text.contains("&lt;qemu:arg value=&apos;-s&apos;/&gt;")
        );
    }
}
