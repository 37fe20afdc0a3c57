//! The guests of an image have a file system of their own, and nothing in them is root.

use crate::{
    grammar::Context,
    image_use::ImageRoot,
    problem::Code,
    sections::{STACK, Sections},
    stack_use::StackUse,
    values::GuestKind,
};

/// The first port that no privilege is needed for.
const FIRST_FREE_PORT: u16 = 1024;

/// Refuses what guests of an image cannot be, and what those of its kind cannot have.
pub(super) fn check(sections: &Sections, context: &mut Context) {
    let image = sections.stack.as_ref().and_then(StackUse::image);
    let (Some(image), Some(guest)) = (image, &sections.guest) else {
        return;
    };
    match guest.kind() {
        GuestKind::Container => return,
        GuestKind::Vm => {}
        GuestKind::Bare | GuestKind::Fake | GuestKind::External => {
            let place = ["guest.kind", "stack.kind"]
                .into_iter()
                .find(|place| context.spans.has(place));
            let span = context.spans.nearest(place.unwrap_or(STACK));
            let message = format!(
                "guests of an image have a file system of their own, and {} guests have that of \
                 this host",
                guest.kind().name()
            );
            let help = "write `kind = \"container\"` in [guest]";
            return context
                .refuse(Code::Contradiction, span, message, help)
                .unwrap_or_default();
        }
    }
    let commands = &image.commands;
    let asked = [
        ("archive", matches!(image.root, ImageRoot::Archive(_))),
        ("reset", !commands.reset.is_empty()),
        ("prepare", !commands.prepare.is_empty()),
        ("read_settings", !commands.read_settings.is_empty()),
        ("audit", !commands.audit.is_empty()),
        ("secrets", !image.secrets.is_empty()),
        ("port", image.port < FIRST_FREE_PORT),
    ];
    for (key, _) in asked.into_iter().filter(|(_, asked)| *asked) {
        let why = match key {
            "archive" => {
                "no container image is made into machines: it has no kernel, and nobody knows as \
                 whom it may run there"
            }
            "secrets" => "no secret is put in machines: it would stay on a disk of theirs",
            "port" => "no service listens below port 1024 in machines: none is root",
            _ => "no command is run in machines",
        };
        let span = context.spans.nearest(&format!("{STACK}.{key}"));
        let message = format!("`{STACK}.{key}`: {why}");
        let help = "write `kind = \"container\"` in [guest], or change this key";
        context.refuse::<()>(Code::Contradiction, span, message, help);
    }
}
