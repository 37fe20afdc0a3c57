//! Studies and plans as version 5 of the store kept them, brought into the shape of version 6.
//!
//! In version 5 a workload, a stack, a load and a guest each had the keys of all their kinds side
//! by side, those of other kinds absent or without meaning. In version 6 each is one kind with its
//! own keys.

use serde_json::{Map, Value, json};

/// Brings `study_json` from version 5 to version 6. What is no study is left as it is: reading it
/// says what is wrong.
pub(crate) fn upgrade_study(study: &mut Value) {
    if let Some(workload) = study.get_mut("workload").and_then(Value::as_object_mut) {
        upgrade_workload(workload);
    }
    for (section, upgrade) in [
        ("load", upgrade_load as fn(&mut Map<String, Value>)),
        ("guest", upgrade_guest),
    ] {
        if let Some(section) = study.get_mut(section).and_then(Value::as_object_mut) {
            upgrade(section);
        }
    }
    if let Some(stack) = study.get_mut("stack").and_then(Value::as_object_mut) {
        upgrade_stack(stack);
    }
}

/// Brings `plan_json` from version 5 to version 6.
pub(crate) fn upgrade_plan(plan: &mut Value) {
    for variant in elements(plan, "variants") {
        if let Some(study) = variant.get_mut("study") {
            upgrade_study(study);
        }
    }
    for point in elements(plan, "points") {
        if let Some(data) = point.get_mut("database") {
            upgrade_data(data);
        }
        upgrade_point(point);
    }
}

/// The elements of a list below a key; none where there is no list.
fn elements<'v>(value: &'v mut Value, key: &str) -> impl Iterator<Item = &'v mut Value> {
    value
        .get_mut(key)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

/// `{kind, database, .., orderentry?}` to `{kind, ..}` with the keys of that kind alone.
fn upgrade_workload(workload: &mut Map<String, Value>) {
    if let Some(Value::Object(own)) = workload.remove("orderentry") {
        workload.retain(|key, _| key == "kind");
        workload.extend(own);
    }
}

/// The keys of the guests of a point go into the only one of its groups.
fn upgrade_point(point: &mut Value) {
    let Some(point) = point.as_object_mut() else {
        return;
    };
    let of_guests = [
        "guests",
        "vcpus",
        "users",
        "rate_per_s",
        "memory_mib",
        "database",
        "pins",
        "nodes",
        "volume_mib",
    ];
    let group: Map<String, Value> = of_guests
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), point.remove(key)?)))
        .collect();
    point.insert("groups".to_owned(), json!([group]));
}

/// `{model, users, open?, ..}` to `{loop_type, ..}`.
fn upgrade_load(load: &mut Map<String, Value>) {
    let users = load.remove("users").unwrap_or_else(|| Value::Array(vec![]));
    load.remove("model");
    let loop_type = match load.remove("open") {
        Some(open @ Value::Object(_)) => json!({ "open": open }),
        _ => json!({"closed": {"users": users}}),
    };
    load.insert("loop_type".to_owned(), loop_type);
}

/// `{kind, vm?, ..}` to `{lab, ..}`: machines alone have a shape.
fn upgrade_guest(guest: &mut Map<String, Value>) {
    let shape = guest.remove("vm");
    let Some(kind) = guest.remove("kind") else {
        return;
    };
    let lab = match shape {
        Some(shape) if kind == "vm" => json!({ "vm": shape }),
        _ => kind,
    };
    guest.insert("lab".to_owned(), lab);
}

/// What a guest's database holds: the nominal size of a DVD Store, or the numbers of order entry,
/// to the one under the name of its workload.
fn upgrade_data(data: &mut Value) {
    let workload = if data.is_object() {
        "orderentry"
    } else {
        "dvdstore"
    };
    let own = data.take();
    *data = Value::Object(Map::from_iter([(workload.to_owned(), own)]));
}

/// `{kind, pages, lamp?, database?, extra_cpu?, simulated?}` to `{kind, ...}` with the keys of that
/// kind alone.
fn upgrade_stack(stack: &mut Map<String, Value>) {
    let kind = stack
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let own = match kind.as_str() {
        "lamp" => stack.remove("lamp"),
        "mariadb" | "postgresql" => stack.remove("database"),
        "simulated" => stack.remove("simulated"),
        _ => None,
    };
    for key in ["lamp", "database", "simulated"] {
        stack.remove(key);
    }
    if kind != "embedded" {
        stack.remove("extra_cpu");
    }
    if matches!(kind.as_str(), "mariadb" | "postgresql" | "sqlite") {
        stack.remove("pages");
    }
    if matches!(kind.as_str(), "mariadb" | "postgresql") {
        stack.insert("kind".to_owned(), "database".into());
        stack.insert("engine".to_owned(), kind.into());
    }
    if let Some(Value::Object(own)) = own {
        stack.extend(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The study of the only variant of a plan with these sections.
    fn upgraded(study: Value) -> Value {
        let mut plan = json!({"variants": [{"study": study}]});
        upgrade_plan(&mut plan);
        plan["variants"][0]["study"].take()
    }

    fn stack(stack: Value) -> Value {
        let stack = upgraded(json!({"stack": stack}))["stack"].take();
        serde_json::from_value::<rookery_study::StackUse>(stack.clone()).expect("a stack");
        stack
    }

    #[test]
    fn a_workload_keeps_the_keys_of_its_kind() {
        let shop = json!({"kind": "dvdstore", "database": {"amount": 10.0, "per": "guest"},
            "think_time": {"secs": 1, "nanos": 0}, "pacing": "Think", "new_customers": 0.2,
            "searches": 3, "search_batch": 5, "line_items": 5});
        assert_eq!(upgraded(json!({"workload": shop}))["workload"], shop);
        let own = json!({"profile": "mini"});
        let mut orders = shop;
        orders["kind"] = "orderentry".into();
        orders["orderentry"] = own;
        assert_eq!(
            upgraded(json!({"workload": orders}))["workload"],
            json!({"kind": "orderentry", "profile": "mini"})
        );
        let mut plan = json!({"points": [{"database": "10MB"}, {"database": {"seed": 1}}]});
        upgrade_plan(&mut plan);
        assert_eq!(
            plan["points"],
            json!([
                {"groups": [{"database": {"dvdstore": "10MB"}}]},
                {"groups": [{"database": {"orderentry": {"seed": 1}}}]}
            ])
        );
    }

    #[test]
    fn a_load_is_closed_or_open() {
        let load = |load: Value| upgraded(json!({"load": load}))["load"].take();
        assert_eq!(
            load(json!({"model": "closed", "users": [5], "repeats": 3})),
            json!({"loop_type": {"closed": {"users": [5]}}, "repeats": 3})
        );
        assert_eq!(
            load(json!({"model": "partly-open", "users": [], "open": {"rate": [9]}})),
            json!({"loop_type": {"open": {"rate": [9]}}})
        );
    }

    #[test]
    fn machines_alone_have_a_shape() {
        let guest = |guest: Value| upgraded(json!({"guest": guest}))["guest"].take();
        assert_eq!(
            guest(json!({"kind": "bare", "vm": {"vcpus": 1}, "pids": 9})),
            json!({"lab": "bare", "pids": 9})
        );
        assert_eq!(
            guest(json!({"kind": "vm", "vm": {"disk": 1}})),
            json!({"lab": {"vm": {"disk": 1}}})
        );
    }

    #[test]
    fn a_stack_keeps_the_keys_of_its_kind() {
        assert_eq!(
            stack(json!({"kind": "embedded", "pages": "faithful"})),
            json!({"kind": "embedded", "pages": "faithful"})
        );
        let tuned = json!({"tuning": "stock", "buffer_pool": "warm", "settings": {}});
        assert_eq!(
            stack(json!({"kind": "postgresql", "pages": "corrected", "database": tuned})),
            json!({"kind": "database", "engine": "postgresql", "tuning": "stock",
                "buffer_pool": "warm", "settings": {}})
        );
        let lamp = json!({"server": "event", "tuning": "stock", "buffer_pool": "cold",
            "settings": {"php.memory_limit": {"text": "64M"}}});
        assert_eq!(
            stack(json!({"kind": "lamp", "pages": "corrected", "lamp": lamp})),
            json!({"kind": "lamp", "pages": "corrected", "server": "event", "tuning": "stock",
                "buffer_pool": "cold", "settings": {"php.memory_limit": {"text": "64M"}}})
        );
        assert_eq!(
            stack(json!({"kind": "sqlite", "pages": "corrected"})),
            json!({"kind": "sqlite"})
        );
    }
}
