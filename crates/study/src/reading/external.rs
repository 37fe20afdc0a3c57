//! A system that runs already is a guest that nobody makes: what shapes guests has no meaning for
//! it.

use crate::{
    grammar::Context,
    problem::Code,
    sections::{GUEST, GuestKeys, LAYOUT, NETWORK, STORAGE, Sections},
    stack_use::StackUse,
    values::LabShape,
};

/// The one key of `[guest]` that holds for a system that runs already.
const READY_WITHIN: &str = "ready_within";

/// Gives the guests of a study their kind where its stack runs already, and refuses the keys that
/// have no meaning then.
pub(super) fn check(sections: &mut Sections, context: &mut Context) {
    let external = sections.stack.as_ref().and_then(StackUse::external);
    if external.is_none() {
        return;
    }
    if let Some(guest) = &mut sections.guest {
        guest.lab = LabShape::External;
    }
    let keys = GuestKeys::keys();
    let names = keys.iter().map(|key| key.name).chain(["vm"]);
    for name in names.filter(|name| *name != READY_WITHIN) {
        let help = "remove it; of [guest], `ready_within` alone holds for such a system";
        refuse(&format!("{GUEST}.{name}"), help, context);
    }
    for index in 0..sections.layouts.len() {
        for (key, help) in [
            (
                "guests",
                "remove it: there is one system; compare several by a study of each",
            ),
            (
                "vcpus",
                "remove it: the system has the CPUs that the driver leaves to it, or those of \
                 `guest_cpus` in [host]",
            ),
        ] {
            refuse(&format!("{LAYOUT}[{index}].{key}"), help, context);
        }
    }
    refuse(
        STORAGE,
        "remove it: where its data lie is the system's own matter",
        context,
    );
    refuse(
        NETWORK,
        "remove it: how the system is reached is its own matter",
        context,
    );
}

fn refuse(path: &str, help: &str, context: &mut Context) {
    if context.spans.has(path) {
        let span = context.spans.nearest(path);
        let message =
            format!("`{path}` shapes guests that are made, but `stack.kind` is \"external\"");
        context.refuse::<()>(Code::Contradiction, span, message, help);
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        GuestKind, Study, UsageSource,
        sections::testing::{refusal, with},
    };

    const EXTERNAL: &str = "[stack]\nkind = \"external\"\ntarget = \"http://127.0.0.1:8080\"\n";

    #[test]
    fn a_system_that_runs_already_is_its_own_kind_of_guest() {
        let study = with(EXTERNAL).expect("valid");
        assert_eq!(study.guest.kind(), GuestKind::External);
        let system = study.stack.external().expect("external");
        assert_eq!(system.target.to_string(), "127.0.0.1:8080");
        assert_eq!(
            (system.health.as_str(), system.commands.limit.as_secs()),
            ("/", 60)
        );
        assert_eq!(system.usage, UsageSource::Unknown);
        let again = Study::parse("again.toml", &study.to_toml());
        assert_eq!(again.unwrap_or_else(|problems| panic!("{problems}")), study);
    }

    #[test]
    fn everything_that_is_said_of_it_is_read_back() {
        let more = "health = \"/up\"\nprocess = \"/run/shop.pid\"\nreset = [\"a\", \"b c\"]\n\
                    prepare = [\"d\"]\nread_settings = [\"e\"]\naudit = [\"f\"]\n\
                    command_limit = \"5s\"\n[guest]\nready_within = \"2s\"\n";
        let study = with(&format!("{EXTERNAL}{more}")).expect("valid");
        let system = study.stack.external().expect("external");
        assert_eq!(system.commands.reset, ["a", "b c"]);
        assert_eq!(
            system.usage,
            UsageSource::PidFile("/run/shop.pid".to_owned())
        );
        assert_eq!(study.guest.ready_within.as_secs(), 2);
        let again = Study::parse("again.toml", &study.to_toml());
        assert_eq!(again.unwrap_or_else(|problems| panic!("{problems}")), study);
    }

    #[test]
    fn what_shapes_guests_has_no_meaning_for_it() {
        for (more, path) in [
            ("[guest]\nkind = \"container\"\n", "guest.kind"),
            ("[guest]\nmemory = \"1GiB per guest\"\n", "guest.memory"),
            ("[guest]\npin = \"pack\"\n", "guest.pin"),
            ("[guest.vm]\ndisk = \"4GiB\"\n", "guest.vm"),
            ("[storage]\npool = \"directory\"\n", "storage"),
            ("[network]\nmtu = 9000\n", "network"),
            ("[[layout]]\nname = \"two\"\nvcpus = 2\n", "layout[0].vcpus"),
            (
                "[[layout]]\nname = \"two\"\nguests = 2\n",
                "layout[0].guests",
            ),
        ] {
            let told = refusal(&format!("{EXTERNAL}{more}"));
            let wanted = format!("study::contradiction: `{path}` shapes guests that are made");
            assert!(told.contains(&wanted), "{told}");
        }
    }

    #[test]
    fn a_system_is_somewhere_and_is_seen_in_one_way() {
        assert!(refusal("[stack]\nkind = \"external\"\n").contains("`stack.target` is missing"));
        let twice = format!("{EXTERNAL}process = 1\ncgroup = \"/sys/fs/cgroup/a\"\n");
        assert!(refusal(&twice).contains("both say by what the system is seen"));
        assert!(
            refusal("[stack]\naudit = [\"true\"]\n")
                .contains("`stack.audit` belongs to systems that run already")
        );
    }
}
