//! Layouts whose groups the plan lays on hosts.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};
use rookery_study::{Callers, Plan, Point, render_plan};

use crate::common::plan_of;

const HEAD: &str = r#"
title = "t"
workload = { kind = "dvdstore", database = "10MB per guest" }
stack = { kind = "lamp", tuning = ["stock", "pureflex"] }
guest = { kind = "container", memory = "512MiB" }
load = { ramp_up = "2s", steady = "10s" }
host = { driver = "elsewhere" }
"#;

const MIXED: &str = r#"
[[layout]]
name = "apart"
hosts = ["a", "b"]
tiles = [1, 2]
[[layout.group]]
name = "small"
users = 5
vcpus = 0.25
[[layout.group]]
name = "web"
users = 20
guest.memory = "700MiB"
[[layout.group]]
name = "wide"
vcpus = 2
users = 9
[[layout.group]]
name = "database"
tier_of = "web"
vcpus = 0.5
"#;

fn refused(text: &str, cpus: u32) -> String {
    plan_of(text, cpus).map(|_| ()).expect_err("refused")
}

#[test]
fn a_plan_shows_where_it_lays_groups() {
    let (document, plan) =
        plan_of(&format!("{HEAD}{MIXED}"), 4).unwrap_or_else(|no| panic!("{no}"));
    insta::assert_snapshot!(render_plan(&plan, document.study(), 120));
    let hosts: Vec<String> = by_group(&plan.points[0]).into_values().collect();
    // By name: database, small, web, wide.
    assert_eq!(hosts, ["b", "b", "b", "a"]);
    assert_eq!(document.study().layouts[0].named_hosts(), ["a", "b"]);
    assert_eq!(document.study().layouts[0].most_hosts(), 2);
}

#[test]
fn the_memory_of_any_level_counts() {
    let hosts = |memory: &str| {
        let head = HEAD.replace("\"512MiB\"", memory);
        let text = format!(
            "{head}[[layout]]\nname = \"l\"\nhosts = [\"a\", \"b\"]\n\
             [[layout.group]]\nname = \"x\"\nusers = 5\nvcpus = 2\nguest.memory = \"512MiB\"\n\
             [[layout.group]]\nname = \"y\"\nusers = 5\n\
             [[layout.group]]\nname = \"z\"\nusers = 5\n"
        );
        let (_, plan) = plan_of(&text, 4).unwrap_or_else(|no| panic!("{no}"));
        let points = plan.points.iter().map(by_group);
        let mut different: Vec<BTreeMap<String, String>> = points.collect();
        different.dedup();
        assert_eq!(different.len(), 1, "levels do not move a group");
        different.remove(0).into_values().collect::<String>()
    };
    // By CPUs alone the two small ones are together.
    assert_eq!(hosts("\"512MiB\""), "abb");
    assert_eq!(hosts("[\"512MiB\", \"600MiB\"]"), "abb");
    // No host has the memory of both.
    assert_eq!(hosts("[\"512MiB\", \"9000MiB\"]"), "aab");
}

#[test]
fn what_does_not_fit_has_help() {
    let mixed = format!("{HEAD}{MIXED}");
    insta::assert_snapshot!(
        [
            refused(&mixed, 2),
            refused(&mixed.replace("700MiB", "9000MiB"), 8),
            refused(
                &mixed.replace("driver = \"elsewhere\"", "overcommit = 3"),
                4
            ),
        ]
        .join("\n")
    );
}

#[test]
fn hosts_that_cannot_be_meant_are_refused() {
    let mixed = format!("{HEAD}{MIXED}");
    let alike = format!("{HEAD}[[layout]]\nname = \"l\"\nguests = 2\nusers = 5\nhosts = \"a\"\n");
    insta::assert_snapshot!(
        [
            refused(&mixed.replace("[\"a\", \"b\"]", "[\"a\", \"b\", \"a\"]"), 4),
            refused(&mixed.replace("[\"a\", \"b\"]", "[]"), 4),
            refused(&mixed.replace("users = 5", "users = 5\nhost = \"c\""), 4),
            refused(&mixed.replace("users = 20", "users = 20\nhost = \"a\""), 4),
            refused(&alike, 4),
        ]
        .join("\n")
    );
}

/// The host of each group.
fn by_group(point: &Point) -> BTreeMap<String, String> {
    let groups = point.groups.iter();
    let host = |host: &Option<String>| host.clone().unwrap_or_default();
    groups
        .map(|group| (group.name.clone(), host(&group.host)))
        .collect()
}

/// A group as text: guests, quarters of a vCPU, the host that it names, whether it has a tier.
type Group = (u32, u32, Option<usize>, bool);

fn text(groups: &[Group], hosts: usize, tiles: &[u32]) -> String {
    let host = |index: usize| format!("\"h{index}\"");
    let all: Vec<String> = (0..hosts).map(host).collect();
    let mut text = format!(
        "{HEAD}[[layout]]\nname = \"l\"\nhosts = [{}]\ntiles = {tiles:?}\n",
        all.join(", ")
    );
    for (index, (guests, quarters, named, has_tier)) in groups.iter().enumerate() {
        let named = named.map(|named| format!("host = {}\n", host(named % hosts)));
        let named = named.unwrap_or_default();
        let vcpus = f64::from(*quarters) / 4.0;
        let memory = 512 + index;
        text += &format!(
            "[[layout.group]]\nname = \"g{index}\"\nguests = {guests}\nvcpus = {vcpus}\nusers = \
             10\nguest.memory = \"{memory}MiB\"\n{named}"
        );
        if *has_tier {
            text += &format!(
                "[[layout.group]]\nname = \"t{index}\"\ntier_of = \"g{index}\"\nvcpus = \
                 0.5\nguest.memory = \"{}MiB\"\n{named}",
                memory + 100
            );
        }
    }
    text
}

fn assert_placed(plan: &Plan, groups: &[Group], hosts: usize) {
    let first = plan.points.first().map(by_group);
    for point in &plan.points {
        assert_eq!(Some(by_group(point)), first, "one place at every load");
        let mut seen: Vec<&str> = Vec::new();
        let mut carried: BTreeMap<&str, f64> = BTreeMap::new();
        let parts = plan.parts(point);
        for (part, study) in &parts {
            let group = part.only_group();
            let host = group.host.as_deref().expect("a host");
            assert!(
                seen.last() == Some(&host) || !seen.contains(&host),
                "{seen:?}"
            );
            seen.push(host);
            if let Callers::Group(front) = &group.callers {
                assert_eq!(by_group(point)[front], host, "a tier is with its callers");
            }
            // Each has the study that was written for it.
            let index: u64 = group.name[1..].parse().expect("a number");
            let own = 512 + index + if group.name.starts_with('t') { 100 } else { 0 };
            assert_eq!(group.memory_mib, own, "{}", group.name);
            assert!(
                study.to_toml().contains(&format!("{own}MiB")),
                "{}",
                group.name
            );
            *carried.entry(host).or_default() += f64::from(group.guests) * group.vcpus.cpus();
        }
        assert!(carried.values().all(|cpus| *cpus <= 8.0), "{carried:?}");
        if groups.iter().all(|(_, _, named, _)| named.is_none()) {
            assert_eq!(point.hosts().len(), hosts.min(groups.len()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_group_has_one_host_at_all_loads(
        groups in vec((1_u32..4, 1_u32..9, prop::option::weighted(0.2, 0_usize..4), any::<bool>()), 1..6),
        hosts in 1_usize..5,
        more_tiles in any::<bool>(),
    ) {
        let tiles: &[u32] = if more_tiles { &[1, 2] } else { &[1] };
        let text = text(&groups, hosts, tiles);
        match plan_of(&text, 8) {
            Ok((document, placed)) => {
                assert_placed(&placed, &groups, hosts);
                let again = plan_of(&document.study().to_toml(), 8);
                if document.factors().is_empty() {
                    prop_assert_eq!(again.map(|(_, plan)| plan.points).ok(), Some(placed.points));
                }
            }
            Err(refused) => prop_assert!(refused.contains("name more `hosts`"), "{}", refused),
        }
    }
}
