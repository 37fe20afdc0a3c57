//! The product code of a crate as a tree of modules, read with `syn`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use syn::{Attribute, Item, ItemMod, UseTree, spanned::Spanned};

/// The place of a module in its crate: `["grammar", "sections"]`; the root is empty.
pub(super) type ModulePath = Vec<String>;

/// One module.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Names of the modules that it declares.
    pub(super) children: BTreeSet<String>,
    /// What its `use` items call what: name to path, as written.
    pub(super) aliases: BTreeMap<String, Vec<String>>,
    /// Paths of its `use ...::*` items, as written.
    pub(super) globs: Vec<Vec<String>>,
    /// Names of the items that it defines.
    pub(super) items: BTreeSet<String>,
    /// Every path that its code mentions, as written.
    pub(super) paths: BTreeSet<Vec<String>>,
}

/// The modules of a crate, without those for tests.
pub(super) type Modules = BTreeMap<ModulePath, Module>;

/// Read the crate whose root is the file `root`.
///
/// # Errors
/// When a file cannot be read or is not Rust.
pub(super) fn modules(root: &Path) -> Result<Modules, String> {
    let mut modules = Modules::new();
    let folder = root.parent().unwrap_or(root).to_owned();
    read_file(root, &folder, Vec::new(), &mut modules)?;
    Ok(modules)
}

fn read_file(
    file: &Path,
    folder: &Path,
    at: ModulePath,
    modules: &mut Modules,
) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let parsed = syn::parse_file(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    read_items(&parsed.items, folder, at, modules)
}

/// `folder` holds the files of the modules that are declared here.
fn read_items(
    items: &[Item],
    folder: &Path,
    at: ModulePath,
    modules: &mut Modules,
) -> Result<(), String> {
    let mut module = Module::default();
    let mut inner: Vec<&ItemMod> = Vec::new();
    for item in items.iter().filter(|item| !for_tests(attributes(item))) {
        match item {
            Item::Mod(item) => {
                module.children.insert(item.ident.to_string());
                inner.push(item);
            }
            Item::Use(item) => {
                let start = if item.leading_colon.is_some() {
                    vec![String::new()]
                } else {
                    Vec::new()
                };
                read_use(&item.tree, &start, &mut module);
            }
            _ => {
                module.items.extend(name_of(item));
                mentioned(item, &mut module.paths);
            }
        }
    }
    modules.insert(at.clone(), module);
    for item in inner {
        let name = item.ident.to_string();
        let mut path = at.clone();
        path.push(name.clone());
        match &item.content {
            Some((_, items)) => read_items(items, &folder.join(&name), path, modules)?,
            None => {
                let file = file_of(item, folder, &name)?;
                read_file(&file, &folder.join(&name), path, modules)?;
            }
        }
    }
    Ok(())
}

fn file_of(item: &ItemMod, folder: &Path, name: &str) -> Result<PathBuf, String> {
    if item.attrs.iter().any(|a| a.path().is_ident("path")) {
        return Err(format!("module {name}: #[path] is not read; move the file"));
    }
    let plain = folder.join(format!("{name}.rs"));
    let nested = folder.join(name).join("mod.rs");
    [plain, nested]
        .into_iter()
        .find(|file| file.exists())
        .ok_or_else(|| format!("no file for the module {name} in {}", folder.display()))
}

fn read_use(tree: &UseTree, start: &[String], module: &mut Module) {
    let with = |name: &syn::Ident| {
        let mut path = start.to_vec();
        if name != "self" || path.is_empty() {
            path.push(name.to_string());
        }
        path
    };
    match tree {
        UseTree::Path(tree) => read_use(&tree.tree, &with(&tree.ident), module),
        UseTree::Name(tree) => {
            let path = with(&tree.ident);
            let name = path.last().cloned().unwrap_or_default();
            module.paths.insert(path.clone());
            module.aliases.insert(name, path);
        }
        UseTree::Rename(tree) => {
            let path = with(&tree.ident);
            module.paths.insert(path.clone());
            module.aliases.insert(tree.rename.to_string(), path);
        }
        UseTree::Glob(_) => module.globs.push(start.to_vec()),
        UseTree::Group(tree) => {
            for tree in &tree.items {
                read_use(tree, start, module);
            }
        }
    }
}

/// Every path in the tokens of an item: identifiers joined by `::`. Tokens are looked at, not
/// syntax, so that paths inside macros count as well.
fn mentioned(item: &Item, paths: &mut BTreeSet<Vec<String>>) {
    use quote::ToTokens as _;
    scan(item.to_token_stream(), paths);
}

fn scan(tokens: proc_macro2::TokenStream, paths: &mut BTreeSet<Vec<String>>) {
    use proc_macro2::TokenTree;
    let mut path: Vec<String> = Vec::new();
    // How many colons stand behind the last identifier.
    let mut colons = 0;
    let mut flush = |path: &mut Vec<String>| {
        if path.len() > 1 {
            paths.insert(path.clone());
        }
        path.clear();
    };
    let mut groups = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                if colons != 2 {
                    flush(&mut path);
                }
                path.push(name.to_string());
                colons = 0;
            }
            TokenTree::Punct(mark) if mark.as_char() == ':' && colons < 2 => colons += 1,
            TokenTree::Group(group) => {
                flush(&mut path);
                colons = 0;
                groups.push(group.stream());
            }
            _ => {
                flush(&mut path);
                colons = 0;
            }
        }
    }
    flush(&mut path);
    for group in groups {
        scan(group, paths);
    }
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(name.to_string())
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether an item is compiled for tests alone.
fn for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let test = |list: &syn::MetaList| list.tokens.to_string() == "test";
        attribute.path().is_ident("cfg") && attribute.meta.require_list().is_ok_and(test)
    })
}

/// The text of a file without the items that are compiled for tests alone; every other line keeps
/// its number.
///
/// # Errors
/// When the text is not Rust.
pub(super) fn without_tests(text: &str) -> Result<String, syn::Error> {
    let parsed = syn::parse_file(text)?;
    let mut lines: Vec<&str> = text.lines().collect();
    for item in parsed.items.iter().filter(|i| for_tests(attributes(i))) {
        let first = item.span().start().line;
        for line in lines
            .iter_mut()
            .take(item.span().end().line)
            .skip(first.saturating_sub(1))
        {
            *line = "";
        }
    }
    Ok(lines.join("\n"))
}

/// The module files of `folder` that only tests use: those behind `#[cfg(test)] mod name;`.
///
/// # Errors
/// When the text is not Rust.
pub(super) fn test_modules(text: &str) -> Result<Vec<String>, syn::Error> {
    let parsed = syn::parse_file(text)?;
    let names = parsed.items.iter().filter_map(|item| match item {
        Item::Mod(item) if item.content.is_none() && for_tests(&item.attrs) => {
            Some(item.ident.to_string())
        }
        _ => None,
    });
    Ok(names.collect())
}
