//! What an image cannot be: parts that are missing, twice there, or in each other's way.

use super::{FileKeys, ImageKeys, PLAIN_FILE};
use crate::{
    grammar::Context,
    image_use::{ImageFile, ImageUse, start_order},
    names::nearest,
    problem::Code,
    sections::STACK,
    source::quoted,
};

/// Directories of every guest that no image fills.
const OF_GUESTS: [&str; 7] = ["/conf", "/data", "/dev", "/proc", "/run", "/sys", "/tmp"];

/// Whether the keys are there without which there is no image; told where they are not.
pub(super) fn is_whole(keys: &ImageKeys, context: &mut Context) -> bool {
    if keys.packages.is_some() && keys.archive.is_some() {
        let message = "an image has both `packages` and `archive`".to_owned();
        refuse(context, "archive", message, "remove one of the two");
        return false;
    }
    if keys.archive.is_none() && keys.reference.is_some() {
        let message = "`stack.reference` stands without `archive`".to_owned();
        refuse(context, "reference", message, "add `archive`, or remove it");
        return false;
    }
    let packages = keys.packages.as_ref();
    let needed = [
        (
            "packages",
            keys.archive.is_some() || packages.is_some_and(|all| !all.is_empty()),
            "nothing says what the guests are made of",
            "packages = [\"python3\"]",
        ),
        (
            "services",
            keys.archive.is_some() || keys.services.as_ref().is_some_and(|all| !all.is_empty()),
            "nothing says what the guests run",
            "services = [{name = \"web\", command = [\"/usr/bin/python3\", \"/srv/app.py\"]}]",
        ),
        (
            "port",
            keys.port.is_some(),
            "nothing says where the guests listen",
            "port = 8080",
        ),
    ];
    let mut whole = true;
    for (key, given, why, example) in needed {
        if !given {
            whole = false;
            let span = context.spans.nearest("stack.kind");
            let message = format!("`stack.{key}` is missing: {why}");
            let help = format!("add `{example}` to [stack]");
            context.refuse::<()>(Code::MissingKey, span, message, help);
        }
    }
    if keys.install.is_none() {
        for key in ["install_with", "install_limit"] {
            let path = format!("{STACK}.{key}");
            if context.spans.has(&path) {
                whole = false;
                let span = context.spans.nearest(&path);
                let message = format!("`{path}` stands without `install`");
                let help = "add `install`, the command that is run once, or remove it";
                context.refuse::<()>(Code::Contradiction, span, message, help);
            }
        }
    }
    whole
}

/// A file with its text; nothing where it has none, or two.
pub(super) fn file(keys: FileKeys, index: usize, context: &mut Context) -> Option<ImageFile> {
    let place = format!("{STACK}.files[{index}]");
    let to = keys.to?;
    let text = match (keys.from, keys.text) {
        (None, Some(text)) => text,
        (Some(name), None) => {
            let read = context.companions.get(&name);
            match read
                .map(|file| file.text().to_owned())
                .map_err(|why| why.0.to_owned())
            {
                Ok(text) => text,
                Err(why) => {
                    let span = context.spans.nearest(&format!("{place}.from"));
                    let message = format!("cannot read the file {}: {why}", quoted(&name));
                    let help = "name a file by its path from the file of the study";
                    return context.refuse(Code::Companion, span, message, help);
                }
            }
        }
        (from, _) => {
            let span = context.spans.nearest(&place);
            let (message, help) = match from {
                Some(_) => ("a file has both `from` and `text`", "remove one of the two"),
                None => (
                    "a file has no text",
                    "add `from = \"site.conf\"`, or `text`",
                ),
            };
            return context.refuse(Code::Contradiction, span, message, help);
        }
    };
    Some(ImageFile {
        to,
        text,
        mode: keys.mode.unwrap_or(PLAIN_FILE),
    })
}

/// Whether the parts of an image go together; told where they do not.
pub(super) fn image(image: &ImageUse, context: &mut Context) -> bool {
    let before = context.findings.len();
    directories(image, context);
    files(image, context);
    services(image, context);
    for name in image.secrets.keys() {
        if image.environment.contains_key(name) {
            let message = format!("`{name}` is both in `environment` and in `secrets`");
            refuse(context, "secrets", message, "remove one of the two");
        }
    }
    context.findings.len() == before
}

/// Whether a path is a directory, or lies below it.
fn within(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A path whose parts are names.
fn is_plain(path: &str) -> bool {
    let mut parts = path.split('/').skip(1);
    path.len() > 1 && parts.all(|part| !part.is_empty() && part != ".")
}

fn directories(image: &ImageUse, context: &mut Context) {
    for (index, directory) in image.data.iter().enumerate() {
        let key = format!("data[{index}]");
        let message = if !is_plain(directory) {
            format!(
                "{} is no directory that a guest can have",
                quoted(directory)
            )
        } else if let Some(own) = OF_GUESTS.iter().find(|own| within(directory, own)) {
            format!(
                "{} lies in `{own}`, which every guest has",
                quoted(directory)
            )
        } else if let Some(other) = image.data[..index]
            .iter()
            .find(|other| within(directory, other) || within(other, directory))
        {
            format!(
                "{} and {} hold each other",
                quoted(directory),
                quoted(other)
            )
        } else {
            continue;
        };
        let help = "name directories that the services write, such as \"/var/lib/site\"";
        refuse(context, &key, message, help);
    }
}

fn files(image: &ImageUse, context: &mut Context) {
    for (index, file) in image.files.iter().enumerate() {
        let key = format!("files[{index}].to");
        let to = &file.to;
        let own = OF_GUESTS.iter().find(|own| within(to, own));
        let data = image.data.iter().find(|data| within(to, data));
        let earlier = &image.files[..index];
        if !is_plain(to) {
            let message = format!("{} is no path of a file", quoted(to));
            refuse(
                context,
                &key,
                message,
                "write for instance \"/etc/site.conf\"",
            );
        } else if let Some(own) = own {
            let message = format!("{} lies in `{own}`, which every guest has", quoted(to));
            refuse(
                context,
                &key,
                message,
                "put it elsewhere, for instance below /srv",
            );
        } else if let Some(data) = data {
            let message = format!(
                "{} lies in {}, which guests write",
                quoted(to),
                quoted(data)
            );
            let help = "put it elsewhere, and let `install` copy it";
            refuse(context, &key, message, help);
        } else if earlier.iter().any(|file| file.to == *to) {
            let message = format!("there are two files {}", quoted(to));
            refuse_as(
                Code::DuplicateValue,
                context,
                &key,
                message,
                "remove one of the two",
            );
        }
    }
}

fn services(image: &ImageUse, context: &mut Context) {
    let before = context.findings.len();
    let names: Vec<&str> = image
        .services
        .iter()
        .map(|service| service.name.as_str())
        .collect();
    for (index, service) in image.services.iter().enumerate() {
        if names[..index].contains(&service.name.as_str()) {
            let message = format!("two services are named {}", quoted(&service.name));
            let key = format!("services[{index}].name");
            let help = "give one of them another name";
            refuse_as(Code::DuplicateValue, context, &key, message, help);
        }
        for after in &service.after {
            let key = format!("services[{index}].after");
            known(after, &names, &key, context);
        }
    }
    let with = image.install.iter().flat_map(|install| &install.with);
    for name in with {
        known(name, &names, "install_with", context);
    }
    if context.findings.len() == before && start_order(&image.services).is_none() {
        let message = "the services wait for each other: none of them can be the first";
        let help = "remove one of the `after` that make the circle";
        refuse(context, "services", message.to_owned(), help);
    }
}

/// Refuses a name that no service has.
fn known(name: &str, names: &[&str], key: &str, context: &mut Context) {
    if names.contains(&name) {
        return;
    }
    let message = format!("there is no service {}", quoted(name));
    let help = match nearest(name, names) {
        Some(near) => format!("write \"{near}\""),
        None => format!("the services are {}", names.join(", ")),
    };
    refuse_as(Code::UnknownChoice, context, key, message, &help);
}

fn refuse(context: &mut Context, key: &str, message: String, help: &str) {
    refuse_as(Code::Contradiction, context, key, message, help);
}

fn refuse_as(code: Code, context: &mut Context, key: &str, message: String, help: &str) {
    let span = context.spans.nearest(&format!("{STACK}.{key}"));
    context.refuse::<()>(code, span, message, help);
}
