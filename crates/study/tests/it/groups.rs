//! Layouts with groups: guests that differ, in one trial.

use rookery_study::{Callers, Document, Plan, render_plan};

use crate::common::plan_of;

const HEAD: &str = r#"
title = "t"
[workload.shop]
kind = "dvdstore"
database = "10MB per guest"
[workload.orders]
kind = "orderentry"
[load]
ramp_up = "2s"
steady = "10s"
[stack]
kind = "embedded"
[guest]
memory = "256MiB"
[host]
overcommit = 2
"#;

const TILE: &str = r#"
[[layout]]
name = "tile"
tiles = [1, 2]
[[layout.group]]
name = "shop"
guests = 2
users = 20
workload = "shop"
qos.p95 = "1s"
[[layout.group]]
name = "orders"
users = 4
workload = "orders"
stack.kind = "sqlite"
"#;

const TIERS: &str = r#"
title = "t"
workload = { kind = "dvdstore", database = "10MB per guest" }
stack = { kind = "lamp", tuning = ["stock", "pureflex"] }
guest = { kind = "container", memory = "512MiB" }
load = { ramp_up = "2s", steady = "10s" }
host = { overcommit = 2 }
[[layout]]
name = "two tiers"
[[layout.group]]
name = "web"
guests = 2
vcpus = 0.5
users = 10
[[layout.group]]
name = "database"
tier_of = "web"
workload.database = "20MB per guest"
"#;

fn planned(text: &str, cpus: u32) -> (Document, Plan) {
    plan_of(text, cpus).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn a_tile_is_planned_with_all_of_its_groups() {
    let (document, plan) = planned(&format!("{HEAD}{TILE}"), 8);
    insta::assert_snapshot!(render_plan(&plan, document.study(), 120));
    let twice = &plan.points[1];
    assert_eq!((twice.tiles, twice.guests()), (2, 6));
    let users: Vec<u32> = twice
        .groups
        .iter()
        .map(|group| group.total_users())
        .collect();
    assert_eq!(users, [80, 8]);
    let limits: Vec<usize> = plan
        .parts(twice)
        .iter()
        .map(|(_, study)| study.qos.percentiles.len())
        .collect();
    assert_eq!(limits, [1, 0]);
}

#[test]
fn on_few_cpus_groups_share_them() {
    let (_, plan) = planned(
        &format!("{HEAD}{TILE}").replace("overcommit = 2", "overcommit = 6"),
        2,
    );
    let point = &plan.points[1];
    assert!(point.each_guest().all(|guest| guest.cpus() == [0]));
    assert_eq!(point.capacity_cpus, 1.0);
    assert_eq!(point.driver_cpus(0, &plan.driver_cpus), [1]);
    assert_eq!(point.driver_cpus(1, &plan.driver_cpus), [1]);
}

#[test]
fn a_tier_has_the_database_and_no_users() {
    let (document, plan) = planned(TIERS, 6);
    insta::assert_snapshot!(render_plan(&plan, document.study(), 120));
    let point = &plan.points[0];
    assert_eq!(point.tier_of(0), Some(1));
    assert_eq!(point.groups[1].callers, Callers::Group("web".to_owned()));
    assert_eq!(point.groups[0].database, point.groups[1].database);
    let callers = point
        .groups
        .iter()
        .map(|group| point.callers_of_each(group));
    assert_eq!(callers.collect::<Vec<_>>(), [1, 2]);
    assert_eq!(
        plan.variants.len(),
        2,
        "the groups share the levels of a factor"
    );
}

#[test]
fn what_is_written_is_planned_alike() {
    for text in [&format!("{HEAD}{TILE}"), TIERS] {
        let (document, plan) = planned(text, 8);
        if document.factors().is_empty() {
            let (_, again) = planned(&document.study().to_toml(), 8);
            assert_eq!(again.points, plan.points);
        }
        // A resumed run reads the studies of its plan again.
        for study in plan.variants.iter().flat_map(|variant| variant.studies()) {
            let again = rookery_study::Study::parse("s.toml", &study.to_toml());
            assert_eq!(again.as_ref().ok(), Some(study));
        }
    }
}

#[test]
fn broken_groups_are_reported_at_once() {
    let broken = format!(
        "{HEAD}
[workload.unused]
kind = \"dvdstore\"
[[layout]]
name = \"one\"
guests = 2
[[layout.group]]
name = \"a\"
workload = \"shop\"
[[layout.group]]
name = \"b\"
workload = \"oders\"
users = 3
load.steady = \"5s\"
[[layout.group]]
name = \"b\"
workload = \"shop\"
user = 3
[[layout.group]]
name = \"c\"
workload = \"shop\"
tier_of = \"nobody\"
users = 3
[[layout]]
name = \"two\"
tiles = 3
"
    );
    insta::assert_snapshot!(plan_of(&broken, 8).expect_err("broken"));
}

#[test]
fn groups_that_cannot_run_together_are_refused() {
    let pinned = format!("{HEAD}{TILE}")
        .replace("users = 20", "users = 20\npin = [[0], [1], [2], [3]]")
        .replace("users = 4", "users = 4\npin = [[3], [4]]");
    let crowded = format!("{HEAD}{TILE}").replace("tiles = [1, 2]", "tiles = 9");
    let stacks = TIERS.replace(
        "tier_of = \"web\"",
        "tier_of = \"web\"\nworkload.kind = \"orderentry\"\nstack.kind = \"mariadb\"",
    );
    let stacks = stacks.replace("workload.database = \"20MB per guest\"\n", "");
    let kinds = TIERS.replace("tier_of = \"web\"", "tier_of = \"web\"\nkind = \"bare\"");
    let told = [pinned, crowded, stacks, kinds]
        .map(|text| plan_of(&text, 8).expect_err("a contradiction"));
    insta::assert_snapshot!(told.join("\n"));
}

/// The tile with a host for each of its groups, driven from elsewhere.
fn on_hosts(shop: &str, orders: &str) -> String {
    let tile = TILE
        .replace("users = 20\n", &format!("users = 20\n{shop}\n"))
        .replace("users = 4\n", &format!("users = 4\n{orders}\n"));
    format!("{HEAD}driver = \"elsewhere\"\n{tile}")
}

#[test]
fn groups_on_several_hosts_have_the_cpus_of_each() {
    let text = on_hosts("host = \"a\"", "host = \"b\"");
    let (document, plan) = planned(&text, 2);
    let point = &plan.points[0];
    assert_eq!(point.hosts(), ["a", "b"]);
    // On one host of two CPUs they would share them.
    assert_eq!(point.groups[0].pins, [vec![0], vec![1]]);
    assert_eq!(point.groups[1].pins, [vec![0]]);
    assert!((point.capacity_cpus - 3.0).abs() < 1e-9, "{point:?}");
    let shown = render_plan(&plan, document.study(), 120);
    assert!(shown.contains("host"), "{shown}");
    let tiers = format!("{TIERS}host = \"b\"\n")
        .replace("overcommit = 2", "overcommit = 2, driver = \"elsewhere\"")
        .replace("users = 10\n", "users = 10\nhost = \"b\"\n");
    let (_, plan) = planned(&tiers, 2);
    assert_eq!(plan.points[0].hosts(), ["b"]);
}

#[test]
fn the_disk_of_groups_on_several_hosts_is_that_of_the_fullest() {
    let disk = |orders: &str| {
        let (_, plan) = planned(&on_hosts("host = \"a\"", orders), 4);
        plan.estimate.disk_mib
    };
    let (together, apart) = (disk("host = \"a\""), disk("host = \"b\""));
    // Each needs its own, and the plan is for hosts that are alike.
    assert!(apart < together, "{apart} of {together}");
    assert!(2 * apart >= together, "{apart} of {together}");
}

#[test]
fn groups_that_cannot_live_apart_are_refused() {
    let refused = |text: &str| plan_of(text, 4).expect_err("refused");
    let lacking = refused(&on_hosts("host = \"a\"", ""));
    assert!(lacking.contains("names no host"), "{lacking}");
    let here = on_hosts("host = \"a\"", "host = \"b\"").replace("driver = \"elsewhere\"\n", "");
    let here = refused(&here);
    assert!(here.contains("driver = \"elsewhere\""), "{here}");
    let tiers =
        format!("{TIERS}host = \"b\"\n").replace("users = 10\n", "users = 10\nhost = \"a\"\n");
    let apart = refused(&tiers);
    assert!(
        apart.contains("is a tier of `web`, whose guests are on another host"),
        "{apart}"
    );
}
