//! The guests of an image have a file system of their own, and nothing in them is root.

use crate::{
    grammar::Context,
    problem::Code,
    sections::{STACK, Sections},
    stack_use::StackUse,
    values::GuestKind,
};

/// Refuses what guests of an image cannot be.
pub(super) fn check(sections: &Sections, context: &mut Context) {
    let image = sections.stack.as_ref().and_then(StackUse::image);
    let (Some(_), Some(guest)) = (image, &sections.guest) else {
        return;
    };
    match guest.kind() {
        GuestKind::Container | GuestKind::Vm => {}
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
            let help = "write `kind = \"container\"` or `kind = \"vm\"` in [guest]";
            context.refuse::<()>(Code::Contradiction, span, message, help);
        }
    }
}
