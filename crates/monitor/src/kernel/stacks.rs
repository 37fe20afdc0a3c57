//! The networks of a trial: that of the host, that of the lab, and those of guests.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rookery_guest::ProcessProbe;

/// Name of the host's network.
pub(super) const HOST: &str = "host";

/// A network and a process that is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stack {
    /// `host`, `lab`, or the guest that has it for itself.
    pub(super) name: String,
    /// Its directory `net` holds what the kernel counts of it.
    pub(super) place: PathBuf,
}

/// Every network that this process, its threads or a guest is in, once.
pub(super) fn find(proc: &Path, guests: &mut [(String, ProcessProbe)]) -> Vec<Stack> {
    let own = proc.join("self");
    let mut found: Vec<(PathBuf, Stack)> = Vec::new();
    let mut add = |name: &str, place: PathBuf| {
        // The link's target names the network: `net:[4026531840]`.
        let Ok(network) = fs::read_link(place.join("ns/net")) else {
            return;
        };
        if !found.iter().any(|(known, _)| *known == network) {
            let name = name.to_owned();
            found.push((network, Stack { name, place }));
        }
    };
    add(HOST, own.clone());
    // The threads of the driver enter the network of the lab.
    for thread in fs::read_dir(own.join("task"))
        .into_iter()
        .flatten()
        .flatten()
    {
        add("lab", thread.path());
    }
    for (name, processes) in guests {
        if let Some(process) = processes().first() {
            add(name, proc.join(process.to_string()));
        }
    }
    found.into_iter().map(|(_, stack)| stack).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn process(proc: &Path, name: &str, network: &str) {
        let place = proc.join(name).join("ns");
        fs::create_dir_all(&place).expect("a directory");
        symlink(network, place.join("net")).expect("a link");
    }

    #[test]
    fn each_network_is_found_once() {
        let proc = tempfile::tempdir().expect("a directory");
        process(proc.path(), "self", "net:[1]");
        process(proc.path(), "self/task/10", "net:[1]");
        process(proc.path(), "self/task/11", "net:[2]");
        process(proc.path(), "20", "net:[2]");
        process(proc.path(), "21", "net:[3]");
        process(proc.path(), "22", "net:[3]");
        let guest = |name: &str, processes: Vec<u32>| -> (String, ProcessProbe) {
            (name.to_owned(), Box::new(move || processes.clone()))
        };
        let mut guests = [
            guest("g1", vec![20]),
            guest("g2", vec![21, 22]),
            guest("g3", vec![]),
            guest("g4", vec![99]),
        ];
        let found: Vec<(String, PathBuf)> = find(proc.path(), &mut guests)
            .into_iter()
            .map(|stack| (stack.name, stack.place))
            .collect();
        assert_eq!(
            found,
            [
                ("host".to_owned(), proc.path().join("self")),
                ("lab".to_owned(), proc.path().join("self/task/11")),
                ("g2".to_owned(), proc.path().join("21")),
            ]
        );
    }
}
