//! A host that is described in a file, for plans of machines that are not here.

use std::fmt::Write as _;

use toml::de::DeTable;

use crate::{
    CpuSet, HostFacts,
    grammar::{
        Context, HomeOf, Reader, keys,
        kinds::{Cpus, ListOf, Text, Truth, Whole, WholeMemory},
    },
    plan::CpuPlace,
    problem::{Code, Problems},
    source::Source,
};

/// Most memory nodes, and most cores of one.
const MOST: usize = 1024;

keys! {
    /// The keys of the whole host.
    HostFileKeys {
        /// What the host is.
        name: Text = Text { most: 200, lines: false, example: "two sockets of eight cores" }, Optional("not said");
        /// Its memory.
        memory: WholeMemory = WholeMemory, Required;
        /// Free space where runs are kept.
        disk_free: WholeMemory = WholeMemory, Required;
        /// Whether Rookery runs there as root.
        root: Truth = Truth, Default("true");
    }
}

keys! {
    /// The keys of `[[node]]`, a memory node with its CPUs.
    NodeKeys {
        /// Its number.
        number: Whole<u32> = Whole { min: 0, max: 1023 }, Required;
        /// The socket that it belongs to.
        socket: Whole<u32> = Whole { min: 0, max: 1023 }, Default("0");
        /// Its cores, each with its hardware threads.
        cores: ListOf<Cpus> = ListOf { kind: Cpus, most: MOST }, Required;
    }
}

impl HostFacts {
    /// Reads a host file. `file_name` is only used in messages.
    ///
    /// # Errors
    /// All problems of the file at once, each with its line and its help.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, Problems> {
        let source = Source::new(file_name, text);
        let mut context = Context::default();
        let (root, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            let span = error.span().unwrap_or(0..0);
            let help = "a host file is TOML: `memory = \"64GiB\"`, and `[[node]]` with `cores`";
            context.refuse::<()>(Code::Syntax, span, error.message(), help);
        }
        let facts = read(root.get_ref(), &source, &mut context);
        match facts {
            Some(facts) if context.findings.is_empty() => Ok(facts),
            _ => Err(Problems::new(&source, context.findings)),
        }
    }

    /// The host as a file; reading it again gives the same host. CPUs of which nothing is known are
    /// cores of their own on node 0.
    #[must_use]
    pub fn to_toml(&self, name: &str) -> String {
        let mut out = String::new();
        HostFileKeys {
            name: Some(name.to_owned()),
            memory: Some(self.memory_mib),
            disk_free: Some(self.disk_free_mib),
            root: Some(self.root),
        }
        .write(&mut out);
        let mut places: Vec<CpuPlace> = self.cpus.iter().map(|cpu| self.place(*cpu)).collect();
        places.sort_by_key(|place| (place.node, place.socket, place.core, place.cpu));
        for node in places.chunk_by(|a, b| (a.node, a.socket) == (b.node, b.socket)) {
            let cores = node.chunk_by(|a, b| a.core == b.core);
            let cores = cores.map(|core| core.iter().map(|place| place.cpu).collect::<CpuSet>());
            let _ = writeln!(out, "\n[[node]]");
            NodeKeys {
                number: node.first().map(|place| place.node),
                socket: node.first().map(|place| place.socket),
                cores: Some(cores.collect()),
            }
            .write(&mut out);
        }
        out
    }

    fn place(&self, cpu: u32) -> CpuPlace {
        let known = self.places.iter().find(|place| place.cpu == cpu);
        known.copied().unwrap_or(CpuPlace {
            cpu,
            core: cpu,
            socket: 0,
            node: 0,
        })
    }
}

fn read(root: &DeTable<'_>, source: &Source, context: &mut Context) -> Option<HostFacts> {
    let nowhere: HomeOf = |_, _| None;
    let mut reader = Reader::new(Some(root), "", source.end(), nowhere, context);
    let host = HostFileKeys::read(&mut reader);
    let mut nodes = Vec::new();
    reader.each("node", MOST, |mut node| {
        nodes.push(NodeKeys::read(&mut node));
        node.finish();
    });
    reader.finish();
    let mut places: Vec<CpuPlace> = Vec::new();
    for (index, node) in nodes.into_iter().enumerate() {
        let (number, socket) = (node.number?, node.socket?);
        for core in node.cores? {
            for cpu in &core {
                if places.iter().any(|place| place.cpu == *cpu) {
                    let span = context.spans.nearest(&format!("node[{index}].cores"));
                    let message = format!("CPU {cpu} is in two places");
                    let help = "name each CPU once: a core with its threads is \"0,8\"";
                    return context.refuse(Code::DuplicateValue, span, message, help);
                }
                places.push(CpuPlace {
                    cpu: *cpu,
                    core: core.first().copied().unwrap_or(*cpu),
                    socket,
                    node: number,
                });
            }
        }
    }
    if places.is_empty() {
        let help = "add `[[node]]` with `number = 0` and `cores = [\"0\", \"1\"]`";
        return context.refuse(Code::MissingKey, source.end(), "the host has no CPUs", help);
    }
    places.sort_by_key(|place| place.cpu);
    Some(HostFacts {
        cpus: places.iter().map(|place| place.cpu).collect(),
        memory_mib: host.memory?,
        disk_free_mib: host.disk_free?,
        root: host.root?,
        places,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = \"two sockets\"\nmemory = \"64GiB\"\ndisk_free = \"4TiB\"\n\n[[node]]\nnumber = \
                        0\ncores = [\"0,4\", \"1,5\"]\n\n[[node]]\nnumber = 1\nsocket = 1\ncores \
                        = [\"2,6\", \"3,7\"]\n";

    #[test]
    fn a_host_comes_back_from_its_file() {
        let host = HostFacts::parse("h.toml", TEXT).unwrap_or_else(|found| panic!("{found}"));
        assert_eq!(host.cpus, (0..8).collect::<CpuSet>());
        assert_eq!(
            (host.memory_mib, host.disk_free_mib, host.root),
            (65_536, 4 << 20, true)
        );
        let place = host.place(6);
        assert_eq!((place.core, place.socket, place.node), (2, 1, 1));
        let again = HostFacts::parse("h.toml", &host.to_toml("two sockets"));
        assert_eq!(again.unwrap_or_else(|found| panic!("{found}")), host);
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        let said = |text: &str| {
            let problems = HostFacts::parse("h.toml", text).expect_err("refused");
            let first = &problems.list()[0];
            format!("{}: {}", first.line, first.message)
        };
        insta::assert_snapshot!(
            [
                said(""),
                said("memory = \"1GiB\"\ndisk_free = \"1GiB\"\n"),
                said(&TEXT.replace("\"2,6\"", "\"1,6\"")),
                said(&TEXT.replace("cores", "core")),
                said(&TEXT.replace("\"0,4\"", "\"0-99999\"")),
                said("memory = \n"),
            ]
            .join("\n"),
            @r"
        1: `disk_free` is missing
        2: the host has no CPUs
        12: CPU 1 is in two places
        5: `node.cores` is missing
        7: `node.cores` names CPU 99999, numbers go from 0 to 8191
        1: `disk_free` is missing
        "
        );
    }
}
