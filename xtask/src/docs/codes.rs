//! The codes of all errors, from the functions of the product that name them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{ImplItem, Item, ItemImpl};

/// Functions that give the code of an error: of `Diagnosis`, and of the enums that such a function
/// asks.
const FUNCTIONS: &[&str] = &["code", "as_str", "name"];

/// The codes as a table with a row for each word before `::`.
///
/// # Errors
/// When a file cannot be read or is not Rust.
pub(super) fn table(root: &Path) -> Result<String, String> {
    let mut codes = BTreeSet::new();
    let directory = root.join("crates");
    for entry in
        fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?
    {
        let source = entry.map_err(|error| error.to_string())?.path().join("src");
        // The crate of errors itself has examples alone.
        if !source.starts_with(directory.join("diagnosis")) {
            read_folder(&source, &mut codes)?;
        }
    }
    let mut parts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for code in &codes {
        let part = code.split("::").next().unwrap_or_default();
        parts.entry(part).or_default().push(code);
    }
    let mut out = "\n| of | codes |\n|---|---|\n".to_owned();
    for (part, codes) in parts {
        let codes: Vec<String> = codes.iter().map(|code| format!("`{code}`")).collect();
        let _ = writeln!(out, "| {part} | {} |", codes.join(", "));
    }
    out.push('\n');
    Ok(out)
}

fn read_folder(folder: &Path, codes: &mut BTreeSet<String>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            read_folder(&path, codes)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let shown = path.display();
            let text = fs::read_to_string(&path).map_err(|error| format!("{shown}: {error}"))?;
            let file = syn::parse_file(&text).map_err(|error| format!("{shown}: {error}"))?;
            read_items(&file.items, codes);
        }
    }
    Ok(())
}

/// Modules inside a file are those of tests.
fn read_items(items: &[Item], codes: &mut BTreeSet<String>) {
    let blocks = items.iter().filter_map(|item| match item {
        Item::Impl(block) => Some(block),
        _ => None,
    });
    for block in blocks {
        read_impl(block, codes);
    }
}

fn read_impl(block: &ItemImpl, codes: &mut BTreeSet<String>) {
    for item in &block.items {
        if let ImplItem::Fn(function) = item
            && FUNCTIONS.contains(&function.sig.ident.to_string().as_str())
        {
            read_literals(function.block.to_token_stream(), codes);
        }
    }
}

fn read_literals(tokens: TokenStream, codes: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => read_literals(group.stream(), codes),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let code = text.trim_matches('"');
                if is_code(code) {
                    codes.insert(code.to_owned());
                }
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

/// `part::kebab-case`.
fn is_code(text: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    };
    text.split_once("::")
        .is_some_and(|(part, kind)| plain(part) && plain(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_where_a_function_gives_them() {
        let file = syn::parse_file(
            "impl Diagnosis for E { fn code(&self) -> &'static str {
                 match self { Self::A => \"part::one\", Self::B => \"no code\" } }
                 fn help(&self) -> &str { \"part::not-this\" } }
             mod tests { impl T { fn code(&self) -> &str { \"test::two\" } } }",
        )
        .expect("Rust");
        let mut codes = BTreeSet::new();
        read_items(&file.items, &mut codes);
        assert_eq!(codes.into_iter().collect::<Vec<_>>(), ["part::one"]);
    }

    #[test]
    fn a_code_is_two_words_of_small_letters() {
        assert!(is_code("store::not-a-run"));
        for text in ["std::Vec", "a::b::c", "::a", "a", "a:: b"] {
            assert!(!is_code(text), "{text}");
        }
    }
}
