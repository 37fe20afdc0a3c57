//! Points that the user adds to a plan while it is performed: like one of the study, under another
//! load.

use rookery_cast::count_u32;

use super::{
    growth::{CannotPlan, refused},
    points::{self, Single},
};
use crate::{Amount, HostFacts, Per, Plan, Point, Scaled, grammar::Context};

impl Plan {
    /// Append points like one of the study under another load, users or arrivals per second on all
    /// guests together: one for each of its variants, with as many repeats as the study asks for.
    /// Gives their numbers.
    ///
    /// # Errors
    /// When there is no such point, it is there already, or this host does not carry the load.
    pub fn add_point(
        &mut self,
        like: u32,
        load: f64,
        host: &HostFacts,
    ) -> Result<Vec<u32>, CannotPlan> {
        let combinations = self.combinations();
        let combination = combinations
            .into_iter()
            .find(|points| points.contains(&like))
            .ok_or(CannotPlan::NoPoint { point: like })?;
        let mut made = Vec::new();
        for id in combination {
            let mut point = self.point_under(id, load, host)?;
            let known = self.study_points().find(|known| {
                known.variant == point.variant
                    && known.guests() == point.guests()
                    && known.only_group().vcpus == point.only_group().vcpus
                    && known.load() == point.load()
            });
            if let Some(known) = known {
                return Err(CannotPlan::Known { point: known.id });
            }
            point.id = count_u32(self.points.len() + made.len()) + 1;
            made.push(point);
        }
        let singles: Vec<Point> = self
            .study_points()
            .chain(&made)
            .filter(|point| point.guests() == 1 && !point.has_groups())
            .cloned()
            .collect();
        for point in &mut made {
            point.baseline = super::baseline(point, &singles);
        }
        let ids: Vec<u32> = made.iter().map(|point| point.id).collect();
        self.points.append(&mut made);
        let repeats = self
            .variants
            .first()
            .map_or(1, |variant| variant.study.load.repeats);
        if let Some(first) = ids.first() {
            self.add_repeats(*first, repeats);
        }
        Ok(ids)
    }

    /// A point of the study under another load, without a number.
    fn point_under(&self, id: u32, load: f64, host: &HostFacts) -> Result<Point, CannotPlan> {
        let like = self.study_points().find(|point| point.id == id);
        let like = like.ok_or(CannotPlan::NoPoint { point: id })?;
        let group = like.alike().ok_or(CannotPlan::Groups { point: id })?;
        let variant = self
            .variants
            .iter()
            .find(|variant| variant.id == like.variant)
            .ok_or(CannotPlan::NoPoint { point: id })?;
        let amount = Amount::Scaled(Scaled {
            amount: load,
            per: Per::Host,
        });
        let asked = Single {
            layout: like.layouts.first().map_or("", String::as_str),
            guests: group.guests,
            vcpus: group.vcpus,
            amount: &amount,
        };
        let mut context = Context::default();
        let point = points::single(variant, &asked, &self.division(), host, &mut context);
        point
            .map(|point| Point {
                layouts: like.layouts.clone(),
                ..point
            })
            .ok_or_else(|| refused(context))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::growth::tests::{STUDY, host, plan};

    #[test]
    fn a_point_under_another_load_is_added_with_all_its_variants_and_repeats() {
        let mut plan = plan(STUDY);
        let before = (plan.points.len(), plan.trials.len());
        // Point 3 has one guest and 40 users; both tunings get the new load.
        let ids = plan.add_point(3, 60.0, &host()).expect("fits");
        assert_eq!(ids.len(), 2);
        assert_eq!(
            (plan.points.len(), plan.trials.len()),
            (before.0 + 2, before.1 + 6)
        );
        let added = &plan.points[before.0..];
        assert_eq!(added.iter().map(|point| point.id).collect::<Vec<_>>(), ids);
        assert!(
            added
                .iter()
                .all(|point| point.total_users() == 60 && point.search.is_none())
        );
        assert_eq!(
            added[0].baseline,
            Some(added[0].id),
            "one guest is its own baseline"
        );
        let blocks: BTreeSet<u32> = plan.trials[before.1..]
            .iter()
            .map(|trial| trial.block)
            .collect();
        assert_eq!(blocks.len(), 3, "one for each repeat");
        let seeds: BTreeSet<u64> = plan.trials.iter().map(|trial| trial.seed).collect();
        let all: BTreeSet<u32> = plan.trials.iter().map(|trial| trial.block).collect();
        assert_eq!(seeds.len(), all.len(), "no block has the seed of another");
        let again = plan.add_point(1, 60.0, &host());
        assert_eq!(
            again.expect_err("it is there").to_string(),
            format!("point {} has that load already", ids[0])
        );
        assert!(plan.add_point(99, 60.0, &host()).is_err());
        assert!(
            plan.add_point(1, 1e9, &host()).is_err(),
            "the host does not carry it"
        );
    }
}
