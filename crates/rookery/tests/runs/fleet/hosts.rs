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
