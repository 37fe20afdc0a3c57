//! The program on pretend hosts.

use std::{
    ops::Deref,
    process::{Command, Output},
};

use crate::common::{Place, stripped_program};

pub(super) use rookery_testkit::NATS;

/// Pretend hosts whose controller is the program under test.
pub(super) struct PretendHosts<'p> {
    place: &'p Place,
    hosts: rookery_testkit::PretendHosts,
}

impl<'p> PretendHosts<'p> {
    pub(super) fn new(place: &'p Place, count: usize) -> Self {
        Self {
            place,
            hosts: rookery_testkit::PretendHosts::new(place.dir.path(), count),
        }
    }

    /// The command `rookery ARGS` in the controller's namespace.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        self.command_by(&[], args)
    }

    /// The same by a command such as `taskset --cpu-list 1`, which runs what follows it.
    pub(super) fn command_by(&self, by: &[&str], args: &[&str]) -> Command {
        let net = self.hosts.controller_net();
        let within = [&["nsenter", net.as_str(), "--"], by].concat();
        let plain = self.place.rookery_at(stripped_program(), args);
        self.place.within(&within, plain)
    }

    /// A second hosts file, of hosts with these numbers that lend the second CPU to users.
    pub(super) fn file_of_drivers(&self, numbers: impl IntoIterator<Item = usize>) -> String {
        let entries = numbers
            .into_iter()
            .map(|number| self.entry(number, "cpus = \"1\""));
        let text = format!("ssh_config = \"ssh.conf\"\n{}", entries.collect::<String>());
        self.write("DRIVERS.toml", &text)
    }

    /// Write a file beside the hosts files.
    pub(super) fn write(&self, name: &str, text: &str) -> String {
        self.place.study(name, text)
    }

    pub(super) fn rookery(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("rookery starts")
    }
}

impl Deref for PretendHosts<'_> {
    type Target = rookery_testkit::PretendHosts;

    fn deref(&self) -> &Self::Target {
        &self.hosts
    }
}
