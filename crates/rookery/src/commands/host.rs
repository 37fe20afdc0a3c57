//! `rookery host`: this machine as Rookery sees it, and its settings.

use std::{fs, io::Read, path::Path, sync::atomic::AtomicBool, thread::sleep, time::Duration};

use rookery_host::settings::{
    AuditRow, Consent, Effect, Held, Keeper, Outcome, Profile, Reverted, Root, Scope,
    SettingsError, Tuned, audit, tuned,
};

use crate::{
    cli::{HostApplyArgs, HostArgs, HostAuditArgs, HostCommand},
    exit::{Code, Failure},
    output, signals,
};

/// Longest profile file that is read, bytes; the reader says what is wrong with longer ones.
const MAX_PROFILE: u64 = 1024 * 1024;
/// How often a holder looks for signals.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &HostArgs) -> Result<Code, Failure> {
    match &args.command {
        None => show(args.show.json),
        Some(HostCommand::Show(args)) => show(args.json),
        Some(HostCommand::Describe) => describe(),
        Some(HostCommand::Audit(args)) => run_audit(args),
        Some(HostCommand::Apply(args)) => apply(args),
        Some(HostCommand::Revert(args)) => revert(args.json),
        Some(HostCommand::Storage(args)) => super::storage::run(args),
        Some(HostCommand::Network(args)) => super::network::run(args),
    }
}

fn show(json: bool) -> Result<Code, Failure> {
    let host = rookery_lab::describe_host(Path::new("."))?;
    if json {
        return output::json(&host);
    }
    let facts = &host.facts;
    let cpus: Vec<String> = facts.cpus.iter().map(u32::to_string).collect();
    output::text(format!("host      {} ({})", host.hostname, host.kernel));
    output::text(format!("CPUs      {} ({})", cpus.join(","), host.cpu_model));
    output::text(format!("memory    {} MiB", facts.memory_mib));
    output::text(format!("disk      {} MiB free here", facts.disk_free_mib));
    output::text(format!(
        "root      {}",
        if facts.root {
            "yes"
        } else {
            "no: bare guests only"
        }
    ));
    for (name, version) in &host.versions {
        output::text(format!("{name:9} {version}"));
    }
    if let Some(found) = tuned(&Root::machine()) {
        output::text(format!("tuned     {}", tuned_line(&found)));
    }
    for layer in keeper()?.layers().map_err(failure)? {
        output::text(format!("settings  {layer}"));
    }
    Ok(Code::Done)
}

/// This host as a file for `rookery plan --host`.
fn describe() -> Result<Code, Failure> {
    let host = rookery_lab::describe_host(Path::new("."))?;
    output::result(host.facts.to_toml(&host.cpu_model));
    Ok(Code::Done)
}

fn run_audit(args: &HostAuditArgs) -> Result<Code, Failure> {
    let names: Vec<String> = if args.profile.is_empty() {
        Profile::embedded_names().map(ToOwned::to_owned).collect()
    } else {
        args.profile.clone()
    };
    let profiles: Vec<Profile> = names
        .iter()
        .map(|name| load(name))
        .collect::<Result<_, _>>()?;
    let found = audit(&Root::machine(), &profiles);
    let layers = keeper()?.layers().map_err(failure)?;
    if args.json {
        return output::json(
            &serde_json::json!({ "tuned": found.tuned, "applied": layers, "settings": found.rows }),
        );
    }
    for profile in &profiles {
        output::text(format!("profile {}: {}", profile.name, profile.title));
    }
    if let Some(found) = &found.tuned {
        output::text(format!("tuned: {}", tuned_line(found)));
    }
    for layer in &layers {
        output::text(layer);
    }
    for row in &found.rows {
        output::text(audit_text(row));
    }
    let advice = || found.rows.iter().flat_map(|row| &row.advice);
    let (all, hold) = (
        advice().count(),
        advice().filter(|advice| advice.holds).count(),
    );
    output::text(format!(
        "\n{hold} of {all} recommendations hold on this host"
    ));
    Ok(Code::Done)
}

/// One knob: its value, its file and meaning, then what each profile says.
fn audit_text(row: &AuditRow) -> String {
    let name = named(row.knob, &row.device);
    let mut text = match (&row.present, &row.fixed) {
        (Some(present), None) => format!("\n{name} = {}", one_line(present)),
        (Some(present), Some(fixed)) => format!(
            "\n{name} = {}    cannot be changed here: {fixed}",
            one_line(present)
        ),
        (None, fixed) => format!(
            "\n{name}    not here: {}",
            fixed.as_deref().unwrap_or("it cannot be read")
        ),
    };
    text += &format!("\n    {}: {}", row.path, row.what);
    match row.scope {
        Scope::Host => {}
        Scope::Network => {
            text += "\n    of this network namespace: container guests have their own"
        }
        Scope::Ipc => text += "\n    of this IPC namespace: container guests have their own",
        Scope::Process => text += "\n    of this process",
    }
    if let Some(danger) = row.danger {
        text += &format!("\n    DANGER: {danger}; changed only with --accept-data-loss");
    }
    for advice in &row.advice {
        let wanted = match (&row.present, advice.holds) {
            (None, _) => format!("wants {}", advice.wanted),
            (_, true) => format!("as wanted ({})", advice.wanted),
            (_, false) => format!("DIFFERS, wants {}", advice.wanted),
        };
        text += &format!(
            "\n    {}: {wanted}: {} [{}]",
            advice.profile, advice.reason, advice.source
        );
    }
    text
}

fn apply(args: &HostApplyArgs) -> Result<Code, Failure> {
    let profile = load(&args.profile)?;
    let keeper = keeper()?;
    let consent = Consent {
        data_loss: args.accept_data_loss,
    };
    warn(&profile, &consent);
    let stop = signals::stop_flag()?;
    if args.hold {
        let held = keeper
            .hold(&profile, None, &consent, &stop)
            .map_err(failure)?;
        return hold(held, &profile, &stop, args.json);
    }
    let outcomes = keeper.apply(&profile, &consent, &stop).map_err(failure)?;
    tell_outcomes(&outcomes, args.json)?;
    if !args.json
        && outcomes
            .iter()
            .any(|outcome| matches!(outcome.effect, Effect::Set { .. }))
    {
        output::text(format!(
            "profile {} is applied; `rookery host revert` puts everything back",
            profile.name
        ));
    }
    Ok(Code::Done)
}

/// Hold the settings until a signal comes.
fn hold(held: Held, profile: &Profile, stop: &AtomicBool, json: bool) -> Result<Code, Failure> {
    tell_outcomes(held.outcomes(), json)?;
    output::remark(format!(
        "profile {} is held; Ctrl-C puts everything back",
        profile.name
    ));
    while !signals::came(stop) {
        sleep(LOOK);
    }
    tell_reverted(&held.put_back().map_err(failure)?, false)
}

fn revert(json: bool) -> Result<Code, Failure> {
    let reverted = keeper()?.revert().map_err(failure)?;
    tell_reverted(&reverted, json)
}

fn tell_outcomes(outcomes: &[Outcome], json: bool) -> Result<(), Failure> {
    if json {
        output::json(&outcomes)?;
        return Ok(());
    }
    let (mut set, mut as_wanted) = (0, 0);
    for outcome in outcomes {
        let name = named(outcome.knob, &outcome.device);
        output::text(match &outcome.effect {
            Effect::AsWanted { present } => {
                as_wanted += 1;
                format!("as wanted  {name} = {}", one_line(present))
            }
            Effect::Set {
                before,
                effective,
                adjusted,
            } => {
                set += 1;
                let kernel = if *adjusted {
                    format!(" (the kernel made that of {})", outcome.wanted)
                } else {
                    String::new()
                };
                format!(
                    "set        {name}: {} -> {}{kernel}",
                    one_line(before),
                    one_line(effective)
                )
            }
            Effect::Withheld { danger } => {
                format!("withheld   {name}: {danger}; --accept-data-loss changes it")
            }
            Effect::Refused { reason } => format!("unchanged  {name}: {reason}"),
        });
    }
    let rest = outcomes.len() - set - as_wanted;
    output::text(format!(
        "{set} set, {as_wanted} as wanted already, {rest} not changed"
    ));
    Ok(())
}

fn tell_reverted(reverted: &Reverted, json: bool) -> Result<Code, Failure> {
    if json {
        return output::json(reverted);
    }
    for setting in &reverted.restored {
        let name = named(&setting.knob, &setting.device);
        let (from, to) = (one_line(&setting.from), one_line(&setting.to));
        output::text(format!(
            "restored   {name}: {from} -> {to} ({})",
            setting.path
        ));
    }
    if reverted.booted_since {
        output::text(
            "this host was booted since the profile was applied: the kernel has its own settings \
             again",
        );
    } else if reverted.profiles.is_empty() {
        output::text("no profile is applied: nothing to revert");
    } else {
        output::text(format!(
            "profile {} is reverted",
            reverted.profiles.join(", ")
        ));
    }
    Ok(Code::Done)
}

/// What one should know before settings are changed.
fn warn(profile: &Profile, consent: &Consent) {
    if let Some(found) = tuned(&Root::machine()).filter(|found| found.running) {
        output::remark(format!(
            "warning: tuned is running with profile {} and may set its own values again; \
             `tuned-adm off` stops it",
            found.profile
        ));
    }
    for setting in profile.settings.iter().filter(|_| consent.data_loss) {
        if let Some(danger) = setting.knob.danger {
            output::remark(format!(
                "WARNING, data loss: {}: {danger}",
                setting.knob.key
            ));
        }
    }
}

fn tuned_line(found: &Tuned) -> String {
    let daemon = if found.running {
        "its daemon runs"
    } else {
        "its daemon does not run"
    };
    format!("profile {} ({daemon})", found.profile)
}

/// A profile that comes with Rookery, or the user's own file.
fn load(name: &str) -> Result<Profile, Failure> {
    if let Some(profile) = Profile::embedded(name) {
        return profile.map_err(|error| Failure::from_profile(Code::Internal, &error));
    }
    let text = read(Path::new(name)).map_err(|error| {
        let names: Vec<&str> = Profile::embedded_names().collect();
        Failure::new(
            Code::Usage,
            format!("there is no profile `{name}`, and no such file can be read: {error}"),
        )
        .help(format!(
            "name one of {}, or a TOML file like those in stacks/host",
            names.join(", ")
        ))
    })?;
    Profile::parse(name, &text).map_err(|error| Failure::from_profile(Code::Usage, &error))
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?
        .take(MAX_PROFILE)
        .read_to_string(&mut text)?;
    Ok(text)
}

fn keeper() -> Result<Keeper, Failure> {
    Keeper::for_machine().map_err(failure)
}

fn failure(error: SettingsError) -> Failure {
    let code = match error {
        SettingsError::Interrupted => Code::Interrupted,
        _ => Code::Host,
    };
    Failure::from_error(code, &error)
}

fn named(knob: &str, device: &str) -> String {
    if device.is_empty() {
        knob.to_owned()
    } else {
        format!("{knob} of {device}")
    }
}

/// A value as the kernel writes it, with tabs as blanks.
fn one_line(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}
