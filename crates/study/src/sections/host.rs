//! `[host]`: which parts of this machine are used for what.

use crate::{
    grammar::{
        Context, SectionInfo, keys,
        kinds::{Choice, Cpus, Factor, ProfileName, WholeMemory},
    },
    names::Named,
    problem::Code,
    values::{DriverPlace, HostUse},
};

pub(super) const SECTION: SectionInfo = SectionInfo {
    name: "host",
    many: false,
    meaning: "Which parts of this machine are used for what.",
    keys: HostKeys::keys,
    below: &[],
};

impl Named for DriverPlace {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("here", Self::Here, "on CPUs of this host"),
        (
            "elsewhere",
            Self::Elsewhere,
            "on another machine; such a study can be planned, and cannot be run yet",
        ),
    ];
}

keys! {
    /// Keys of `[host]`.
    HostKeys {
        /// CPUs that guests may use.
        guest_cpus: Cpus = Cpus, Optional("all but the driver's");
        /// CPUs of the driver.
        driver_cpus: Cpus = Cpus, Optional("the last one; on large hosts the last one in eight");
        /// Where the driver runs.
        driver: Choice<DriverPlace> = Choice::NEW, Default("\"here\"");
        /// How many vCPUs may share one guest CPU.
        overcommit: Factor = Factor { min: 1.0, max: 1000.0 }, Default("1.0");
        /// Memory kept back for the host and the driver.
        reserve: WholeMemory = WholeMemory, Default("\"512MiB\"");
        /// Profile of host settings that is applied while the study runs, and put back after (see
        /// `rookery host`).
        settings: ProfileName = ProfileName, Default("\"none\"");
        /// A trial is void where work that is no part of it used more than this share of the host's
        /// CPUs, and nearly all of them were in use; 1 = never.
        other_work: Factor = Factor { min: 0.0, max: 1.0 }, Default("0.25");
    }
}

impl HostKeys {
    pub(crate) fn build(self, context: &mut Context) -> Option<HostUse> {
        if let (Some(guests), Some(driver)) = (&self.guest_cpus, &self.driver_cpus)
            && let Some(cpu) = driver.iter().find(|cpu| guests.contains(cpu))
        {
            let span = context.spans.nearest("host.driver_cpus");
            let message = format!(
                "CPU {cpu} is given to the driver and to the guests: the driver would measure \
                 itself"
            );
            let help = format!("take {cpu} out of `driver_cpus` or out of `guest_cpus`");
            return context.refuse(Code::SharedCpu, span, message, help);
        }
        if self.driver == Some(DriverPlace::Elsewhere) && self.driver_cpus.is_some() {
            let span = context.spans.nearest("host.driver_cpus");
            let message = "the driver is elsewhere, so it has no CPUs on this host";
            let help = "remove `driver_cpus`, or `driver`";
            return context.refuse(Code::Contradiction, span, message, help);
        }
        Some(HostUse {
            driver: self.driver?,
            guest_cpus: self.guest_cpus,
            driver_cpus: self.driver_cpus,
            overcommit: self.overcommit?,
            reserve_mib: self.reserve?,
            settings: self.settings?,
            other_work: self.other_work?,
        })
    }

    pub(crate) fn of(host: &HostUse) -> Self {
        Self {
            guest_cpus: host.guest_cpus.clone(),
            driver_cpus: host.driver_cpus.clone(),
            driver: Some(host.driver),
            overcommit: Some(host.overcommit),
            reserve: Some(host.reserve_mib),
            settings: Some(host.settings.clone()),
            other_work: Some(host.other_work),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;

    #[test]
    fn driver_and_guests_never_share_a_cpu() {
        assert_eq!(
            refusal("[host]\nguest_cpus = \"0-3\"\ndriver_cpus = [3]\n"),
            "plan::shared-cpu: CPU 3 is given to the driver and to the guests: the driver would \
             measure itself"
        );
    }

    #[test]
    fn defaults() {
        let host = with("").expect("valid").host;
        assert_eq!(
            (
                host.guest_cpus,
                host.driver_cpus,
                host.overcommit,
                host.reserve_mib,
                host.settings
            ),
            (None, None, 1.0, 512, None)
        );
        let tuned = with("[host]\nsettings = \"enterprise-storage\"\n")
            .expect("valid")
            .host;
        assert_eq!(tuned.settings.as_deref(), Some("enterprise-storage"));
    }
}
