//! Cycles of modules inside a crate, against the list of those that are still there.
//!
//! The modules of one folder are compared with each other: `a` uses `b` when anything inside `a`
//! names anything inside `b`, also through a re-export. A parent and its child are no cycle: a
//! module may use its parts, and its parts what it says.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::source::{ModulePath, Modules, modules};

/// The committed list, from the root of the repository.
pub(super) const LIST: &str = "xtask/cycles.txt";
/// Longest chain of re-exports that is followed.
const MOST_STEPS: usize = 16;

/// Modules that are in cycles, by the module that holds them: `lab` or `lab::stack`.
pub(super) type Cycles = BTreeMap<String, BTreeSet<String>>;

/// The cycles of the crate `name` with the root file `root`.
///
/// # Errors
/// When a file cannot be read.
pub(super) fn of_crate(name: &str, root: &Path) -> Result<Cycles, String> {
    let modules = modules(root)?;
    Ok(cycles(name, &modules))
}

fn cycles(name: &str, modules: &Modules) -> Cycles {
    // For each module that holds others: which of them uses which.
    let mut edges: BTreeMap<ModulePath, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (from, module) in modules {
        let globs = module.globs.iter();
        for path in module.paths.iter().chain(globs) {
            let Some(to) = resolve(modules, from, path, MOST_STEPS) else {
                continue;
            };
            let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if let (Some(a), Some(b)) = (from.get(common), to.get(common)) {
                edges
                    .entry(from[..common].to_vec())
                    .or_default()
                    .entry(a.clone())
                    .or_default()
                    .insert(b.clone());
            }
        }
    }
    let mut cycles = Cycles::new();
    for (holder, uses) in edges {
        let inside: BTreeSet<String> = uses
            .keys()
            .filter(|module| reaches(&uses, module, module))
            .cloned()
            .collect();
        if !inside.is_empty() {
            let mut words = vec![name.to_owned()];
            words.extend(holder);
            cycles.insert(words.join("::"), inside);
        }
    }
    cycles
}

/// Whether a way of at least one step leads from `from` to `to`.
fn reaches(uses: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
    let mut open: Vec<&str> = vec![from];
    let mut seen = BTreeSet::new();
    while let Some(module) = open.pop() {
        for next in uses.get(module).into_iter().flatten() {
            if next == to {
                return true;
            }
            if seen.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    false
}

/// The module that holds what `path`, written in `from`, names; `None` for what is not ours.
fn resolve(
    modules: &Modules,
    from: &ModulePath,
    path: &[String],
    steps: usize,
) -> Option<ModulePath> {
    let steps = steps.checked_sub(1)?;
    let mut at = from.clone();
    let mut rest = path;
    let mut anchored = false;
    while let Some(first) = rest.first() {
        match first.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => {
                at.pop()?;
            }
            _ => break,
        }
        anchored = true;
        rest = &rest[1..];
    }
    let mut first = true;
    while let Some((name, tail)) = rest.split_first() {
        let module = modules.get(&at)?;
        if module.children.contains(name) {
            at.push(name.clone());
        } else if module.items.contains(name) {
            return Some(at);
        } else if let Some(alias) = module.aliases.get(name).filter(|alias| *alias != path) {
            let mut whole = alias.clone();
            whole.extend_from_slice(tail);
            return resolve(modules, &at, &whole, steps);
        } else {
            let through = module.globs.iter().find_map(|glob| {
                let holder = resolve(modules, &at, glob, steps)?;
                let held = modules.get(&holder)?;
                let holds = held.items.contains(name)
                    || held.children.contains(name)
                    || held.aliases.contains_key(name);
                (holder != at && holds).then_some(holder)
            });
            return match through {
                Some(holder) => resolve(modules, &holder, rest, steps),
                // A name of another crate, of the prelude or of a type's inside.
                None => (anchored || !first).then_some(at),
            };
        }
        first = false;
        rest = tail;
    }
    Some(at)
}

/// Read the committed list: a line `holder: module module ...` each.
pub(super) fn parse_list(text: &str) -> Cycles {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(": "))
        .map(|(holder, names)| {
            let names = names.split_whitespace().map(ToOwned::to_owned);
            (holder.to_owned(), names.collect())
        })
        .collect()
}

/// The list as it is committed.
pub(super) fn print_list(cycles: &Cycles) -> String {
    let mut text = String::from(
        "# Modules that are in a cycle with their neighbours, by the module that holds them.\n\
         # `cargo xtask tidy` refuses new ones; take out what is gone. The list only shrinks.\n",
    );
    for (holder, names) in cycles {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        text += &format!("{holder}: {}\n", names.join(" "));
    }
    text
}

/// What differs from the list, in words.
pub(super) fn breaches(found: &Cycles, listed: &Cycles) -> Vec<String> {
    let none = BTreeSet::new();
    let mut breaches = Vec::new();
    let holders: BTreeSet<&String> = found.keys().chain(listed.keys()).collect();
    for holder in holders {
        let found = found.get(holder).unwrap_or(&none);
        let listed = listed.get(holder).unwrap_or(&none);
        for module in found.difference(listed) {
            breaches.push(format!(
                "{holder}::{module} is in a new cycle of modules, among {}: move what both need \
                 below both",
                found.iter().cloned().collect::<Vec<_>>().join(" ")
            ));
        }
        for module in listed.difference(found) {
            breaches.push(format!(
                "{holder}::{module} is in no cycle any more: take it out of {LIST}"
            ));
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn cycles_of(files: &[(&str, &str)]) -> Cycles {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        of_crate("c", &dir.path().join("lib.rs")).expect("Rust")
    }

    #[test]
    fn modules_that_use_each_other_are_found_through_re_exports_and_paths() {
        let found = cycles_of(&[
            (
                "lib.rs",
                "mod a; mod b; mod below; mod top; pub use a::A; pub use b::*;",
            ),
            ("a.rs", "use crate::B; pub struct A(B);"),
            (
                "b/mod.rs",
                "mod inner; pub struct B; fn f() { println!(\"{}\", crate::A::X) }",
            ),
            ("b/inner.rs", "use super::B; use crate::below::thing;"),
            ("below.rs", "pub fn thing() {}"),
            (
                "top.rs",
                "fn f() { crate::below::thing() } use crate::{A, B};",
            ),
        ]);
        assert_eq!(print_list(&found).lines().last(), Some("c: a b"));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn a_module_and_its_parts_are_no_cycle_and_tests_do_not_count() {
        let found = cycles_of(&[
            ("lib.rs", "mod a; mod b; use a::f;"),
            (
                "a.rs",
                "mod part; pub(crate) fn f() { part::g() }\n#[cfg(test)] mod tests { use crate::b::x; }",
            ),
            ("a/part.rs", "pub(super) fn g() { super::f() }"),
            ("b.rs", "pub(crate) fn x() { crate::a::f() }"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn the_list_only_shrinks() {
        let list = |text| parse_list(text);
        let listed = list("# words\nlab: a b\n");
        assert!(breaches(&listed, &listed).is_empty());
        let new = breaches(&list("lab: a b c\n"), &listed);
        assert!(new.len() == 1 && new[0].contains("lab::c is in a new cycle"));
        let gone = breaches(&Cycles::new(), &listed);
        assert!(gone.len() == 2 && gone[0].contains("take it out of"));
        assert_eq!(parse_list(&print_list(&listed)), listed);
    }
}
