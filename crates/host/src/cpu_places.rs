//! Where each CPU sits: its core, its socket, its memory node.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

pub use rookery_study::CpuPlace;

use crate::cpulist::parse_cpu_list;

/// The places of `cpus`, read below `system` (`/sys/devices/system`). What the kernel does not tell
/// is one socket, one node, and a core for each CPU: virtual machines and sandboxes often hide it.
pub(crate) fn read_places(system: &Path, cpus: &BTreeSet<u32>) -> Vec<CpuPlace> {
    let nodes = nodes(system);
    let place = |cpu: &u32| {
        let topology = system.join(format!("cpu/cpu{cpu}/topology"));
        let siblings = ["core_cpus_list", "thread_siblings_list"]
            .iter()
            .find_map(|file| parse_cpu_list(&fs::read_to_string(topology.join(file)).ok()?));
        let lowest = siblings
            .filter(|siblings| siblings.contains(cpu))
            .and_then(|siblings| siblings.first().copied());
        // Some firmware gives -1 for "there is but one".
        let socket = fs::read_to_string(topology.join("physical_package_id")).ok();
        CpuPlace {
            cpu: *cpu,
            core: lowest.unwrap_or(*cpu),
            socket: socket
                .and_then(|text| text.trim().parse().ok())
                .unwrap_or(0),
            node: nodes.get(cpu).copied().unwrap_or(0),
        }
    };
    cpus.iter().map(place).collect()
}

/// The memory node of each CPU.
fn nodes(system: &Path) -> BTreeMap<u32, u32> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(system.join("node"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name();
        let Some(node) = name
            .to_str()
            .and_then(|name| name.strip_prefix("node"))
            .and_then(|number| number.parse().ok())
        else {
            continue;
        };
        let cpus = fs::read_to_string(entry.path().join("cpulist"))
            .ok()
            .and_then(|text| parse_cpu_list(&text));
        found.extend(cpus.unwrap_or_default().into_iter().map(|cpu| (cpu, node)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(files: &[(&str, &str)]) -> Self {
            let root = tempfile::tempdir().expect("temporary directory");
            for (path, text) in files {
                let path = root.path().join(path);
                fs::create_dir_all(path.parent().expect("parent")).expect("directory");
                fs::write(path, text).expect("file");
            }
            Self(root)
        }

        fn places(&self, cpus: &[u32]) -> Vec<(u32, u32, u32, u32)> {
            let places = read_places(self.0.path(), &cpus.iter().copied().collect());
            places
                .into_iter()
                .map(|place| (place.cpu, place.core, place.socket, place.node))
                .collect()
        }
    }

    /// Two sockets of two cores of two threads; even CPUs on the first, and the siblings numbered
    /// behind all cores.
    #[test]
    fn sockets_nodes_and_siblings() {
        let mut files = vec![
            ("node/node0/cpulist".to_owned(), "0,2,4,6\n".to_owned()),
            ("node/node1/cpulist".to_owned(), "1,3,5,7\n".to_owned()),
            ("node/has_cpu".to_owned(), "0-1\n".to_owned()),
        ];
        for cpu in 0..8_u32 {
            let low = cpu % 4;
            files.push((
                format!("cpu/cpu{cpu}/topology/core_cpus_list"),
                format!("{low},{}\n", low + 4),
            ));
            files.push((
                format!("cpu/cpu{cpu}/topology/physical_package_id"),
                format!("{}\n", cpu % 2),
            ));
        }
        let borrowed: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        let tree = Tree::new(&borrowed);
        assert_eq!(
            tree.places(&[0, 1, 5, 6]),
            [(0, 0, 0, 0), (1, 1, 1, 1), (5, 1, 1, 1), (6, 2, 0, 0)]
        );
    }

    #[test]
    fn an_older_kernel_names_siblings_otherwise() {
        let tree = Tree::new(&[("cpu/cpu3/topology/thread_siblings_list", "2-3\n")]);
        assert_eq!(tree.places(&[3]), [(3, 2, 0, 0)]);
    }

    #[test]
    fn what_is_not_told_or_absurd_is_one_socket_of_plain_cores() {
        assert_eq!(Tree::new(&[]).places(&[0, 9]), [(0, 0, 0, 0), (9, 9, 0, 0)]);
        let odd = Tree::new(&[
            ("cpu/cpu1/topology/physical_package_id", "-1\n"),
            ("cpu/cpu1/topology/core_cpus_list", "7-4\n"),
            ("node/nodex/cpulist", "1\n"),
        ]);
        assert_eq!(odd.places(&[1]), [(1, 1, 0, 0)]);
    }
}
