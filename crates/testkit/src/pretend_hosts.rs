//! Pretend hosts: network namespaces, each with an sshd, host key, port and `/run` of its own. They
//! share the file system but for that, so each has its own directory.
//!
//! Whoever makes them is root. What cannot be made is a panic, as in any fixture of a test.

use std::{
    fmt::Write as _,
    fs::{self, Permissions},
    io::{BufRead as _, BufReader, Write as _},
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

/// The first port that an sshd of the pretend hosts listens on.
const FIRST_PORT: usize = 2201;

/// What each namespace begins with: a private `/run`, as its registry of runs and the directory
/// that sshd wants, and a user of its own who is not root. Sessions of root have a shell that reads
/// no startup file of this machine: one that is killed there may leave a lock behind, for which the
/// next ones wait. It says that it is there, and goes on when it is told so.
const BEGIN: &str = "mount -t tmpfs tmpfs /run && mkdir -p /run/sshd && ip link set lo up && \
                     (sed 's|^\\(root:.*:\\).*|\\1/bin/sh|' /etc/passwd; \
                     echo lab:x:64001:64001::/:/bin/sh) > /run/passwd && \
                     (cat /etc/shadow; echo 'lab:*:1::::::') > /run/shadow && \
                     mount --bind /run/passwd /etc/passwd && \
                     mount --bind /run/shadow /etc/shadow && \
                     echo ready && read go && exec \"$@\"";
/// The number of the user `lab` of every pretend host.
const LAB: u32 = 64_001;

/// A namespace that lives as long as its first process.
struct Namespace(Child);

impl Namespace {
    /// Make one whose first process becomes `command` when [`Namespace::go`] says so.
    fn make(command: &[&str]) -> Self {
        let mut child = Command::new("unshare")
            .args(["--net", "--mount", "--propagation", "private", "--"])
            .args(["sh", "-c", BEGIN, "sh"])
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A session that lives on would keep the output of the tests open.
            .stderr(Stdio::null())
            .spawn()
            .expect("unshare starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("piped");
        BufReader::new(out).read_line(&mut line).expect("it says");
        assert_eq!(line, "ready\n");
        Self(child)
    }

    fn go(&mut self) {
        let mut input = self.0.stdin.take().expect("piped");
        input.write_all(b"go\n").expect("heard");
    }

    fn net(&self) -> String {
        format!("--net=/proc/{}/ns/net", self.0.id())
    }

    /// Kill all that runs in this namespace but its first process.
    fn kill_others(&self) {
        let first = self.0.id();
        let own = net_of(first);
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        for id in ids.filter(|id| *id != first && own.is_some() && net_of(*id) == own) {
            if let Some(process) = i32::try_from(id).ok().and_then(Pid::from_raw) {
                // It may have ended by itself.
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }

    /// A command in this network namespace.
    fn run(&self, words: &[&str]) {
        run(Command::new("nsenter").arg(self.net()).args(words));
    }

    /// A command that sees what is mounted here.
    fn run_with_mounts(&self, words: &[&str]) {
        let mounts = format!("--mount=/proc/{}/ns/mnt", self.0.id());
        run(Command::new("nsenter").arg(mounts).args(words));
    }
}

impl Drop for Namespace {
    /// Whatever still runs in the namespace ends with it: sessions of sshd outlive it, and wait
    /// long for a client that was cut off.
    fn drop(&mut self) {
        self.kill_others();
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The network namespace of a process.
fn net_of(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/net")).ok()
}

fn run(command: &mut Command) {
    let output = command.output().expect("it starts");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {words}");
}

/// Several pretend hosts, named `a`, `b`, ..., and the namespace of their controller. They end when
/// this is dropped, with all that runs in their namespaces.
pub struct PretendHosts {
    place: PathBuf,
    controller: Namespace,
    hosts: Vec<Namespace>,
}

impl PretendHosts {
    /// So many, at most four; keys and configurations lie in the directory `place`. A file
    /// `sessions.conf` there is part of the configuration of each sshd.
    ///
    /// # Panics
    /// When they cannot be made.
    #[must_use]
    pub fn new(place: &Path, count: usize) -> Self {
        let mut controller = Namespace::make(&["sleep", "3600"]);
        controller.run(&["ip", "link", "add", "hosts", "type", "bridge"]);
        controller.run(&["ip", "address", "add", "10.77.0.1/24", "dev", "hosts"]);
        controller.run(&["ip", "link", "set", "hosts", "up"]);
        controller.go();
        let mut all = Self {
            place: place.to_owned(),
            controller,
            hosts: Vec::new(),
        };
        // The user of the hosts who is not root has to reach its directory.
        let open = Permissions::from_mode(0o755);
        fs::set_permissions(place, open).expect("opened");
        all.make_keys(count);
        for number in 0..count {
            let host = all.make_host(number);
            all.hosts.push(host);
        }
        for number in 0..count {
            all.await_sshd(number);
        }
        all
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    /// The key of the user, those of all hosts, and what ssh must know of them.
    fn make_keys(&self, count: usize) {
        let names = (0..count).map(|number| format!("key-{}", name(number)));
        for key in names.chain(["client".to_owned()]) {
            let path = self.path(&key).display().to_string();
            run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &path]));
        }
        let mut known = String::new();
        for number in 0..count {
            let key = fs::read_to_string(self.path(&format!("key-{}.pub", name(number))));
            let key = key.expect("a key");
            let _ = write!(known, "[{}]:{} {key}", address(number), port(number));
        }
        fs::write(self.path("known_hosts"), known).expect("written");
        let config = format!(
            "IdentityFile {}\nIdentitiesOnly yes\nUserKnownHostsFile {}\n\
             GlobalKnownHostsFile /dev/null\n",
            self.path("client").display(),
            self.path("known_hosts").display()
        );
        fs::write(self.path("ssh.conf"), config).expect("written");
    }

    fn make_host(&self, number: usize) -> Namespace {
        let config = self.path(&format!("sshd-{}.conf", name(number)));
        let own = format!(
            "Port {}\nListenAddress {}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
             LogLevel ERROR\nUsePAM no\nStrictModes no\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n\
             Include {}\n",
            port(number),
            address(number),
            self.path(&format!("key-{}", name(number))).display(),
            self.path("client.pub").display(),
            self.path("sessions.conf").display()
        );
        fs::write(&config, own).expect("written");
        let config = config.display().to_string();
        let mut host = Namespace::make(&["/usr/sbin/sshd", "-D", "-e", "-f", &config]);
        let (near, far) = (self.controller.0.id().to_string(), host.0.id().to_string());
        let link = format!("to-{}", name(number));
        run(Command::new("ip").args([
            "link", "add", &link, "netns", &near, "type", "veth", "peer", "name", "eth0", "netns",
            &far,
        ]));
        self.controller
            .run(&["ip", "link", "set", &link, "master", "hosts", "up"]);
        let own_address = format!("{}/24", address(number));
        host.run(&["ip", "address", "add", &own_address, "dev", "eth0"]);
        host.run(&["ip", "link", "set", "eth0", "up"]);
        host.go();
        host
    }

    /// An sshd answers a connection with its version.
    fn await_sshd(&self, number: usize) {
        let place = format!("/dev/tcp/{}/{}", address(number), port(number));
        let script = format!(
            "for try in $(seq 200); do if exec 3<>{place}; then read -t 5 -u 3 line && exit 0; fi; \
             sleep 0.05; done 2>/dev/null; exit 1"
        );
        self.controller.run(&["bash", "-c", &script]);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.hosts.len()
    }

    /// `[[host]]` of a pretend host, with more keys.
    pub fn entry(&self, number: usize, more: &str) -> String {
        format!(
            "[[host]]\nname = \"{}\"\naddress = \"{}\"\nport = {}\nuser = \"root\"\n\
             directory = \"{}\"\n{more}\n",
            name(number),
            address(number),
            port(number),
            self.directory(number).display()
        )
    }

    /// The agent's directory of a pretend host.
    pub fn directory(&self, number: usize) -> PathBuf {
        self.path(&format!("fleet-{}", name(number)))
    }

    /// `[[host]]` of a pretend host whose agent's directory lies on a disk of its own, which no
    /// other host sees.
    pub fn entry_on_disk(&self, number: usize, size_mib: u64) -> String {
        let disk = self.disk(number);
        fs::create_dir(&disk).expect("made");
        let disk = disk.display().to_string();
        let size = format!("size={size_mib}m");
        self.hosts[number].run_with_mounts(&["mount", "-t", "tmpfs", "-o", &size, "tmpfs", &disk]);
        let directory = self.directory(number).display().to_string();
        let on_disk = format!("{disk}/fleet");
        self.entry(number, "").replace(&directory, &on_disk)
    }

    /// Fill that disk but for 64 KiB.
    pub fn fill_disk(&self, number: usize) {
        let disk = self.disk(number).display().to_string();
        // dd ends where no room is left.
        let fill = "dd if=/dev/zero of=$0/filled bs=1M; truncate --size=-64K $0/filled";
        self.hosts[number].run_with_mounts(&["sh", "-c", fill, &disk]);
    }

    fn disk(&self, number: usize) -> PathBuf {
        self.path(&format!("disk-{}", name(number)))
    }

    /// `[[host]]` of a pretend host whose user is not root, but has the agent's directory.
    pub fn entry_of_lab(&self, number: usize, more: &str) -> String {
        let directory = self.directory(number);
        fs::create_dir(&directory).expect("made");
        chown(&directory, Some(LAB), Some(LAB)).expect("given");
        self.entry(number, more).replace("\"root\"", "\"lab\"")
    }

    /// `jump` through another pretend host.
    pub fn jump(&self, number: usize) -> String {
        format!("jump = \"root@{}:{}\"", address(number), port(number))
    }

    /// A NATS server in the controller's namespace, with these lines in its configuration.
    pub fn nats_server(&self, more: &str) -> NatsServer {
        self.nats_server_at(NATS, more)
    }

    /// The same at another address and port of that namespace.
    pub fn nats_server_at(&self, place: &str, more: &str) -> NatsServer {
        self.start_nats_server(&self.controller, place, more)
    }

    /// A NATS server of someone else on a pretend host.
    pub fn nats_server_on(&self, number: usize, port: u16) -> NatsServer {
        let place = format!("{}:{port}", address(number));
        self.start_nats_server(&self.hosts[number], &place, "")
    }

    fn start_nats_server(&self, within: &Namespace, place: &str, more: &str) -> NatsServer {
        let config = self.path(&format!("nats-{place}.conf"));
        fs::write(&config, format!("listen: \"{place}\"\n{more}\n")).expect("written");
        let mut server = NatsServer {
            net: within.net(),
            place: place.replace(':', "/"),
            config,
            child: None,
        };
        server.begin();
        server
    }

    /// Let a shell script be what a host has for the program `nats-server`, or nothing that can be
    /// run; with none it has its own again.
    pub fn replace_nats_server(&self, number: usize, script: Option<&str>) {
        let Some(script) = script else {
            self.hosts[number].run_with_mounts(&["umount", NATS_PROGRAM]);
            return;
        };
        let path = self.path("nats-server");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        let mode = if script.is_empty() { 0o644 } else { 0o755 };
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("set");
        let path = path.display().to_string();
        self.hosts[number].run_with_mounts(&["mount", "--bind", &path, NATS_PROGRAM]);
    }

    /// Write a hosts file with these entries, and give its path.
    pub fn file(&self, entries: &[String]) -> String {
        let text = format!("ssh_config = \"ssh.conf\"\n{}", entries.concat());
        let path = self.path("HOSTS.toml");
        fs::write(&path, text).expect("written");
        path.display().to_string()
    }

    /// A hosts file of all pretend hosts.
    pub fn file_of_all(&self) -> String {
        let entries: Vec<String> = (0..self.hosts.len())
            .map(|number| self.entry(number, ""))
            .collect();
        self.file(&entries)
    }

    /// Forget the key of a host, as if it had never been seen.
    pub fn forget_key(&self, number: usize) {
        let path = self.path("known_hosts");
        let known = fs::read_to_string(&path).expect("known hosts");
        let address = address(number);
        let others = known.lines().filter(|line| !line.contains(&address));
        let others: Vec<&str> = others.collect();
        fs::write(&path, others.join("\n") + "\n").expect("written");
    }

    /// Cut the network of a host: nothing comes or goes any more, and no one is told.
    pub fn cut_off(&self, number: usize) {
        let link = format!("to-{}", name(number));
        self.controller
            .run(&["ip", "link", "set", &link, "nomaster"]);
    }

    /// Undo it.
    pub fn join_again(&self, number: usize) {
        let link = format!("to-{}", name(number));
        self.controller
            .run(&["ip", "link", "set", &link, "master", "hosts"]);
    }

    /// Have the controller reach a host as if a router stood between them.
    pub fn reach_through_itself(&self, number: usize) {
        let address = address(number);
        self.controller.run(&[
            "ip", "route", "add", &address, "via", &address, "dev", "hosts", "onlink",
        ]);
    }

    /// Have the packets that a host receives from others handled on one CPU, as machines of their
    /// own have it: on one kernel it is else the CPU of whoever sent them.
    pub fn receive_on(&self, number: usize, cpu: u32) {
        receive_on(&self.hosts[number], "eth0", cpu);
    }

    /// The same of what the controller's host receives from the hosts.
    pub fn controller_receives_on(&self, cpu: u32) {
        for number in 0..self.hosts.len() {
            receive_on(&self.controller, &format!("to-{}", name(number)), cpu);
        }
    }

    /// What `nsenter` is told to enter the controller's network namespace.
    #[must_use]
    pub fn controller_net(&self) -> String {
        self.controller.net()
    }

    /// Kill all that runs on a host but its sshd, as a crash would.
    pub fn crash(&self, number: usize) {
        self.hosts[number].kill_others();
    }

    /// The agent of a host that a controller speaks to.
    #[must_use]
    pub fn agent(&self, number: usize) -> Option<u32> {
        let program = self.directory(number).join("rookery");
        let begin = format!("{}\0agent\0", program.display());
        fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let words = fs::read(entry.path().join("cmdline")).ok()?;
            words.starts_with(begin.as_bytes()).then_some(id)
        })
    }
}

/// Have the packets that an interface of a namespace receives handled on one CPU.
fn receive_on(host: &Namespace, device: &str, cpu: u32) {
    let mask = 1_u32.checked_shl(cpu).expect("one of the first 32 CPUs");
    let script = format!(
        "mount -t sysfs sysfs /sys && echo {mask:x} > /sys/class/net/{device}/queues/rx-0/rps_cpus"
    );
    // Its own `/sys` shows the interfaces of its network.
    host.run(&["unshare", "--mount", "sh", "-c", &script]);
}

/// Where the NATS server is.
pub const NATS: &str = "10.77.0.1:4222";
/// The server's program, as Debian has it.
const NATS_PROGRAM: &str = "/usr/sbin/nats-server";

/// A NATS server that ends with its test.
pub struct NatsServer {
    net: String,
    /// Address and port, with a slash between them.
    place: String,
    config: PathBuf,
    child: Option<Child>,
}

impl NatsServer {
    /// Start it, and wait until it answers.
    pub fn begin(&mut self) {
        let child = Command::new("nsenter")
            .args([&self.net, "--", "nats-server", "-c"])
            .arg(&self.config)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nsenter starts");
        self.child = Some(child);
        let place = &self.place;
        let script = format!(
            "for try in $(seq 200); do if exec 3<>/dev/tcp/{place}; then exit 0; fi; sleep 0.05; \
             done 2>/dev/null; exit 1"
        );
        run(Command::new("nsenter")
            .arg(&self.net)
            .args(["bash", "-c", &script]));
    }

    /// Kill it.
    pub fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("killed");
            child.wait().expect("ended");
        }
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.end();
    }
}

fn name(number: usize) -> char {
    ['a', 'b', 'c', 'd'][number]
}

fn address(number: usize) -> String {
    format!("10.77.0.{}", 11 + number)
}

fn port(number: usize) -> usize {
    FIRST_PORT + number
}
