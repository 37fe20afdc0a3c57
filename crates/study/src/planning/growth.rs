//! How a plan grows while it is performed: probes of its searches, more repeats of its points. The
//! same plan grows in the same way.

use rookery_cast::count_u32;

use super::{cpus::Division, searches, trials};
use crate::{HostFacts, Plan, Purpose, Trial, Variant, grammar::Context};

/// A load that cannot be planned: the host does not carry it, or a rule of the study has no value
/// for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotPlan {
    /// The plan has no such search.
    #[error("there is no search {search} in the plan")]
    NoSearch {
        /// Its number.
        search: u32,
    },
    /// The plan lacks the variant of a search.
    #[error("search {search} has no variant in the plan")]
    NoVariant {
        /// Its number.
        search: u32,
    },
    /// The plan has no such point of the study.
    #[error("point {point} is no point of the study")]
    NoPoint {
        /// Its number.
        point: u32,
    },
    /// A point whose guests differ has no single load.
    #[error("the guests of point {point} differ, so it has no other load")]
    Groups {
        /// Its number.
        point: u32,
    },
    /// The plan has the point already.
    #[error("point {point} has that load already")]
    Known {
        /// Its number.
        point: u32,
    },
    /// The host or the study refuses the load.
    #[error("{}", reasons.join("; "))]
    Refused {
        /// All reasons.
        reasons: Vec<String>,
    },
}

impl Plan {
    /// Append a trial of a search at this load: of the point that the search has tried before, or
    /// of a new one. `attempt` counts from zero how often the search has tried the load.
    ///
    /// # Errors
    /// When the plan has no such search, or this host does not carry the load.
    pub fn add_probe(
        &mut self,
        search: u32,
        load: f64,
        purpose: Purpose,
        attempt: u32,
        host: &HostFacts,
    ) -> Result<Trial, CannotPlan> {
        let planned = self.searches.iter().find(|planned| planned.id == search);
        let planned = planned.ok_or(CannotPlan::NoSearch { search })?.clone();
        let variant = self
            .variants
            .iter()
            .find(|variant| variant.id == planned.variant);
        let variant = variant.ok_or(CannotPlan::NoVariant { search })?;
        let mut point = self.probe_point(variant, &planned, load, host)?;
        let known = self.points.iter().find(|known| {
            known.search == Some(search)
                && known.guests() == point.guests()
                && known.load() == point.load()
                && known.total_memory_mib() == point.total_memory_mib()
        });
        let id = known.map_or(count_u32(self.points.len()) + 1, |known| known.id);
        let seed = trials::probe_seed(
            variant.study.seed,
            planned.guests,
            planned.vcpus,
            load,
            attempt,
        );
        let trial = Trial {
            id: count_u32(self.trials.len()) + 1,
            point: id,
            repeat: attempt + 1,
            block: self.last_block() + 1,
            seed,
            purpose,
        };
        if id as usize > self.points.len() {
            point.id = id;
            self.points.push(point);
        }
        self.trials.push(trial.clone());
        Ok(trial)
    }

    /// Append another attempt at a trial that was void: of the same point, repeat and block, with a
    /// fresh seed. `None` for trials of searches, which have their own rule, and where `most`
    /// attempts beyond the first have been made.
    pub fn add_retry(&mut self, void: u32, most: u32) -> Option<Trial> {
        let first = self.trials.iter().find(|trial| trial.id == void)?.clone();
        let attempts = self.attempts(&first);
        if first.purpose != Purpose::Study || attempts > most {
            return None;
        }
        let trial = Trial {
            id: count_u32(self.trials.len()) + 1,
            seed: trials::retry_seed(&first, attempts),
            ..first
        };
        self.trials.push(trial.clone());
        Some(trial)
    }

    /// How often a trial was planned: once, and once more each time that it was void.
    #[must_use]
    pub fn attempts(&self, trial: &Trial) -> u32 {
        count_u32(
            self.trials
                .iter()
                .filter(|other| other.is_attempt_of(trial))
                .count(),
        )
    }

    fn probe_point(
        &self,
        variant: &Variant,
        search: &crate::Search,
        load: f64,
        host: &HostFacts,
    ) -> Result<crate::Point, CannotPlan> {
        let mut context = Context::default();
        let division = self.division();
        let point = searches::point(variant, search, load, &division, host, &mut context);
        point.ok_or_else(|| refused(context))
    }

    /// The CPUs as the plan has divided them.
    pub(super) fn division(&self) -> Division {
        Division {
            guests: self.guest_cpus.clone(),
            driver: self.driver_cpus.clone(),
            chosen: false,
            sound: true,
        }
    }

    /// Append so many further repeats of the combination that holds this point of the study: all
    /// its variants, as blocks.
    pub fn add_repeats(&mut self, point: u32, count: u32) {
        let combinations = self.combinations();
        let Some(place) = combinations
            .iter()
            .position(|points| points.contains(&point))
        else {
            return;
        };
        let seed = self
            .variants
            .first()
            .map_or(0, |variant| variant.study.seed);
        for _ in 0..count {
            let done = self
                .trials
                .iter()
                .filter(|trial| trial.point == point)
                .map(|trial| trial.repeat)
                .max();
            let (repeat, block) = (done.unwrap_or(0) + 1, self.last_block() + 1);
            for id in trials::shuffled(&combinations[place], seed, repeat) {
                self.trials.push(Trial {
                    id: count_u32(self.trials.len()) + 1,
                    point: id,
                    repeat,
                    block,
                    seed: trials::trial_seed(seed, count_u32(place) + 1, repeat),
                    purpose: Purpose::Study,
                });
            }
        }
    }

    /// The points of the study by what they share beside their variant, as they were planned.
    #[must_use]
    pub fn combinations(&self) -> Vec<Vec<u32>> {
        let mut groups: Vec<(super::Shape<'_>, Vec<u32>)> = Vec::new();
        for point in self.study_points() {
            let shape = super::shape(point, &self.factors);
            match groups.iter_mut().find(|(known, _)| *known == shape) {
                Some((_, points)) => points.push(point.id),
                None => groups.push((shape, vec![point.id])),
            }
        }
        groups.into_iter().map(|(_, points)| points).collect()
    }

    pub(super) fn last_block(&self) -> u32 {
        self.trials
            .iter()
            .map(|trial| trial.block)
            .max()
            .unwrap_or(0)
    }
}

/// What the grammar had against a load.
pub(super) fn refused(context: Context) -> CannotPlan {
    let findings = context.findings.into_iter();
    CannotPlan::Refused {
        reasons: findings.map(|finding| finding.message).collect(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::{Document, HostFacts, Plan, Purpose};

    pub(in crate::planning) const STUDY: &str = r#"
        title = "t"
        workload = { kind = "dvdstore", database = "5MB" }
        qos = { p95 = "1s" }
        stack = { kind = "lamp", tuning = ["stock", "pureflex"] }
        guest = { kind = "container", memory = "512MiB" }
        layout = [{ name = "a", guests = [1, 2], vcpus = 0.5 }]
        load = { users = ["10 per host", "40 per host"], repeats = 3, search = { to = "200 per host" } }
    "#;

    pub(in crate::planning) fn host() -> HostFacts {
        HostFacts {
            cpus: vec![0, 1, 2],
            memory_mib: 8192,
            disk_free_mib: 8192,
            root: true,
            places: Vec::new(),
        }
    }

    pub(in crate::planning) fn plan(text: &str) -> Plan {
        let document =
            Document::parse("s.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
        Plan::of(&document, &host()).unwrap_or_else(|problems| panic!("{problems}"))
    }

    #[test]
    fn every_layout_of_every_variant_has_a_search_with_its_ladder() {
        let plan = plan(STUDY);
        let told: Vec<_> = plan
            .searches
            .iter()
            .map(|search| {
                (
                    search.label(),
                    search.lowest,
                    search.highest,
                    search.ladder.len(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("1 x 0.5 vCPU, tuning=stock".to_owned(), 1.0, 200.0, 2),
                ("1 x 0.5 vCPU, tuning=pureflex".to_owned(), 1.0, 200.0, 2),
                ("2 x 0.5 vCPU, tuning=stock".to_owned(), 2.0, 200.0, 2),
                ("2 x 0.5 vCPU, tuning=pureflex".to_owned(), 2.0, 200.0, 2),
            ]
        );
    }

    #[test]
    fn probes_of_one_load_are_one_point_and_variants_share_their_seeds() {
        let mut plan = plan(STUDY);
        let before = (plan.points.len(), plan.trials.len());
        let first = plan
            .add_probe(3, 40.0, Purpose::Approach, 0, &host())
            .expect("fits");
        let again = plan
            .add_probe(3, 40.0, Purpose::Confirm, 1, &host())
            .expect("fits");
        let other = plan
            .add_probe(4, 40.0, Purpose::Approach, 0, &host())
            .expect("fits");
        assert_eq!(
            (plan.points.len(), plan.trials.len()),
            (before.0 + 2, before.1 + 3)
        );
        assert_eq!((first.point, first.seed), (again.point, other.seed));
        assert_ne!((first.seed, first.point), (again.seed, other.point));
        let point = plan.points.last().expect("the new point");
        assert_eq!(
            (
                point.guests(),
                point.total_users(),
                point.search,
                point.variant
            ),
            (2, 40, Some(4), 2)
        );
        assert!(
            plan.add_probe(3, 1.0, Purpose::Approach, 0, &host())
                .expect_err("one user for two guests")
                .to_string()
                .contains("at least one")
        );
    }

    #[test]
    fn repeats_are_added_as_whole_blocks_with_the_seeds_that_a_longer_study_has() {
        let mut plan = plan(STUDY);
        let longer = self::plan(&STUDY.replace("repeats = 3", "repeats = 5"));
        let before = plan.trials.len();
        plan.add_repeats(3, 2);
        let added = &plan.trials[before..];
        assert_eq!(
            added.iter().map(|trial| trial.repeat).collect::<Vec<_>>(),
            [4, 4, 5, 5]
        );
        assert!(added.iter().all(|trial| [3, 4].contains(&trial.point)));
        for trial in added {
            let planned = longer
                .trials
                .iter()
                .find(|other| other.point == trial.point && other.repeat == trial.repeat);
            assert_eq!(planned.map(|other| other.seed), Some(trial.seed));
        }
    }

    #[test]
    fn memory_is_searched_once_for_all_its_levels_and_each_amount_is_another_point() {
        let text = STUDY
            .replace(r#"users = ["10 per host", "40 per host"]"#, "users = 10")
            .replace(r#"memory = "512MiB""#, r#"memory = ["512MiB", "256MiB"]"#)
            .replace(
                r#"{ to = "200 per host" }"#,
                r#"{ over = "memory", from = "32MiB" }"#,
            );
        let mut plan = plan(&text);
        let told: Vec<_> = plan
            .searches
            .iter()
            .map(|search| {
                let range = (search.lowest, search.highest);
                (search.label(), range, search.ladder.len())
            })
            .collect();
        let of = |guests: u32, tuning: &str| {
            format!("memory of {guests} x 0.5 vCPU, load 10 per guest, tuning={tuning}")
        };
        assert_eq!(
            told,
            [
                (of(1, "stock"), (32.0, 512.0), 2),
                (of(1, "pureflex"), (32.0, 512.0), 2),
                (of(2, "stock"), (32.0, 512.0), 2),
                (of(2, "pureflex"), (32.0, 512.0), 2),
            ]
        );
        let mut probe = |mib: f64, attempt| {
            plan.add_probe(3, mib, Purpose::Approach, attempt, &host())
                .expect("fits")
                .point
        };
        let (first, again, other) = (probe(300.0, 0), probe(300.0, 1), probe(200.0, 0));
        assert!(first == again && first != other);
        let made = |id: u32| {
            let point = plan.points.iter().find(|point| point.id == id);
            let point = point.expect("the new point");
            (point.only_group().memory_mib, point.label())
        };
        assert_eq!(
            made(first),
            (
                300,
                "2 x 0.5 vCPU, 20 users, tuning=stock, memory=300MiB".to_owned()
            )
        );
        assert_eq!(made(other).0, 200);
        // Less than any guest starts with.
        let refused = plan.add_probe(3, 8.0, Purpose::Approach, 0, &host());
        assert!(refused.is_err_and(|error| error.to_string().contains("too little to start")));
    }

    #[test]
    fn a_search_over_guests_ends_where_the_host_does() {
        let text = STUDY
            .replace(r#"users = ["10 per host", "40 per host"]"#, "users = 10")
            .replace(r#"{ to = "200 per host" }"#, r#"{ over = "guests" }"#);
        let plan = plan(&text);
        // Two CPUs carry four guests of half a vCPU.
        let told: Vec<_> = plan
            .searches
            .iter()
            .map(|search| (search.lowest, search.highest, search.ladder.len()))
            .collect();
        assert_eq!(told, [(1.0, 4.0, 2); 2]);
    }
}
