//! `[[layout]]`: numbers and sizes of guests to compare.

use super::load::MOST_LEVELS;
use crate::{
    grammar::{
        Context, SectionInfo, keys,
        kinds::{Count, ListOf, Text, Values, VcpuCount, Whole},
    },
    problem::Code,
    source::quoted,
    values::{GuestKind, Layout, LayoutGroup, Override},
};

pub(super) const SECTION: SectionInfo = SectionInfo {
    name: "layout",
    many: true,
    meaning: "A layout to compare; every combination of its numbers is a point. At least one. A \
              layout may say any key of [guest], [stack], [workload], [load], [qos], [storage] \
              and [network] for itself, below its own keys (`[layout.stack]`, or `stack.tuning = \"stock\"`) or \
              among them (`kind = \"bare\"`; a key that several of these sections have is that of \
              the first).",
    keys: LayoutKeys::keys,
    below: &[],
};

/// Most layouts of a study.
pub(crate) const MOST_LAYOUTS: usize = 64;

/// Most guests of one point. Loopback addresses (127.77.x.y) carry more than ten times as many.
pub(crate) const MOST_GUESTS: u32 = 4096;

keys! {
    /// Keys of `[[layout]]`.
    LayoutKeys {
        /// Name in tables and figures, different from all others.
        name: Text = Text { most: 40, lines: false, example: "scale-out" }, Required;
        /// Number of guests.
        guests: ListOf<Whole<u32>> = ListOf { kind: Whole { min: 1, max: MOST_GUESTS }, most: MOST_LEVELS }, Default("1");
        /// vCPUs of each guest; fractions where the kind of guest can limit CPU time.
        vcpus: ListOf<VcpuCount> = ListOf { kind: VcpuCount, most: MOST_LEVELS }, Default("1");
        /// Users of this layout.
        users: ListOf<Count> = ListOf { kind: Count::USERS, most: MOST_LEVELS }, Optional("the \
            users of [load]");
        /// Name of the layout that this one is compared with: at the same users, at the same CPUs,
        /// and at the best within the limits.
        baseline: Text = Text { most: 40, lines: false, example: "bare metal" }, Optional("one guest of equal CPUs and users, where there is one");
        /// How often the groups of this layout are repeated; each number is a point.
        tiles: ListOf<Whole<u32>> = ListOf { kind: Whole { min: 1, max: MOST_TILES }, most: MOST_LEVELS }, Optional("once");
        /// Names of hosts in the file of `--guests`, one or several, on which the plan lays those
        /// groups of this layout that name no `host`: by the CPUs and the memory that they ask for,
        /// the same at every load and level, a tier with its callers.
        hosts: Values<Text> = Values { kind: HOST, most: MOST_GROUPS }, Optional("groups are on the hosts that they name, or all on one");
    }
}

pub(crate) const GROUP_SECTION: SectionInfo = SectionInfo {
    name: "layout.group",
    many: true,
    meaning: "Guests of a layout that differ from its others: of another shape, kind, stack or \
              workload. All groups of a layout run together in each trial, and each is judged by \
              its own limits. A group says any key of [guest], [stack], [workload], [load], \
              [qos], [storage] and [network] for itself, as a layout does, or `workload = \"NAME\"`, which names a \
              kind or a section [workload.NAME].",
    keys: GroupKeys::keys,
    below: &[],
};

/// The key of groups in a layout.
pub(crate) const GROUP: &str = "group";

/// Most groups of a layout.
pub(crate) const MOST_GROUPS: usize = 16;

/// Most tiles of a point.
const MOST_TILES: u32 = 64;

/// Name of a host.
const HOST: Text = Text {
    most: 40,
    lines: false,
    example: "b",
};

keys! {
    /// Keys of `[[layout.group]]`.
    GroupKeys {
        /// Name in tables and figures, different from those of the layout's other groups.
        name: Text = Text { most: 40, lines: false, example: "front" }, Required;
        /// Number of guests in one tile.
        guests: Whole<u32> = Whole { min: 1, max: MOST_GUESTS }, Default("1");
        /// vCPUs of each guest; fractions where the kind of guest can limit CPU time.
        vcpus: VcpuCount = VcpuCount, Default("1");
        /// Users of this group.
        users: Count = Count::USERS, Optional("the users of [load]; none of a tier");
        /// Name of the group whose guests call this one: a tier, without users of its own.
        tier_of: Text = Text { most: 40, lines: false, example: "web" }, Optional("users call it");
        /// Name of the host in the file of `--guests` that has the guests of this group; all groups
        /// of a layout without `hosts` name one, or none does.
        host: Text = HOST, Optional("the host of the whole trial, or the plan's choice among the `hosts` of the layout");
    }
}

impl GroupKeys {
    pub(crate) fn build(self, overrides: Vec<Override>) -> Option<LayoutGroup> {
        Some(LayoutGroup {
            name: self.name?,
            guests: self.guests?,
            vcpus: self.vcpus?,
            users: self.users,
            tier_of: self.tier_of,
            host: self.host,
            overrides,
        })
    }

    pub(crate) fn of(group: &LayoutGroup) -> Self {
        Self {
            name: Some(group.name.clone()),
            guests: Some(group.guests),
            vcpus: Some(group.vcpus),
            users: group.users.clone(),
            tier_of: group.tier_of.clone(),
            host: group.host.clone(),
        }
    }
}

impl LayoutKeys {
    pub(crate) fn build(self) -> Option<Layout> {
        Some(Layout {
            name: self.name?,
            guests: self.guests?,
            vcpus: self.vcpus?,
            users: self.users,
            baseline: self.baseline,
            overrides: Vec::new(),
            groups: Vec::new(),
            tiles: self.tiles.unwrap_or_default(),
            hosts: self.hosts.unwrap_or_default(),
        })
    }

    pub(crate) fn of(layout: &Layout) -> Self {
        Self {
            name: Some(layout.name.clone()),
            // Those of a layout with groups are in its groups.
            guests: Some(layout.guests.clone()).filter(|guests| !guests.is_empty()),
            vcpus: Some(layout.vcpus.clone()).filter(|vcpus| !vcpus.is_empty()),
            users: layout.users.clone(),
            baseline: layout.baseline.clone(),
            tiles: Some(layout.tiles.clone()).filter(|tiles| !tiles.is_empty()),
            hosts: Some(layout.hosts.clone()).filter(|hosts| !hosts.is_empty()),
        }
    }

    /// What of them is said of a system that runs already.
    pub(crate) fn of_found(self) -> Self {
        Self {
            guests: None,
            vcpus: None,
            ..self
        }
    }

    /// What cannot hold between this layout, the `index`-th from zero, and the rest of the study.
    pub(crate) fn check(
        &self,
        index: usize,
        before: &[Self],
        kind: Option<GuestKind>,
        context: &mut Context,
    ) {
        let path = format!("layout[{index}]");
        if let Some(name) = &self.name
            && before
                .iter()
                .any(|layout| layout.name.as_ref() == Some(name))
        {
            let message = format!("a layout named {} exists already", quoted(name));
            let span = context.spans.nearest(&format!("{path}.name"));
            context.refuse::<()>(
                Code::DuplicateValue,
                span,
                message,
                "give each layout its own name",
            );
        }
        if kind != Some(GuestKind::Bare) {
            return;
        }
        for (level, vcpus) in self.vcpus.iter().flatten().enumerate() {
            if !vcpus.0.is_multiple_of(1000) {
                let span = context.spans.nearest(&format!("{path}.vcpus[{level}]"));
                let message =
                    format!("bare guests cannot have {vcpus} vCPUs: nothing limits their CPU time");
                let help = "write `kind = \"container\"` in [guest], or whole vCPUs here";
                context.refuse::<()>(Code::Contradiction, span, message, help);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use crate::Vcpus;

    #[test]
    fn a_layout_is_one_guest_of_one_vcpu_unless_said() {
        let layout = &with("").expect("valid").layouts[0];
        assert_eq!(
            (layout.guests.as_slice(), layout.vcpus.as_slice()),
            ([1].as_slice(), [Vcpus(1000)].as_slice())
        );
    }

    #[test]
    fn fractions_need_a_kind_that_limits_cpu_time() {
        let layout = "[[layout]]\nname = \"two\"\nvcpus = [1, 0.25]\n";
        assert_eq!(
            refusal(layout),
            "study::contradiction: bare guests cannot have 0.25 vCPUs: nothing limits their CPU \
             time"
        );
        assert!(with(&format!("[guest]\nkind = \"container\"\n{layout}")).is_ok());
    }

    #[test]
    fn names_are_different() {
        assert!(
            refusal("[[layout]]\nname = \"one\"\n").contains("a layout named `one` exists already")
        );
    }
}
