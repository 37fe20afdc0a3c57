//! The keys of `[workload]` that only banking, e-commerce and support have.

use std::time::Duration;

use rookery_cast::{count_u8, truncate_u32, truncate_u64};
use rookery_workload::{
    http::{Tls, TlsVersion},
    web2005::{Bands, Model, ModernBrowser, Profile, Rules, Scope, WebThink},
};

use super::{
    super::{
        Pace,
        data_driven::{
            keys::THINK,
            kinds::{PEM, Read},
        },
        web_pacing,
    },
    MOST_SESSIONS, Web2005Use,
};
use crate::{
    grammar::{
        Context, keys,
        kinds::{Choice, Count, Factor, Time, Truth, Whole},
    },
    names::Named,
    problem::Code,
};

impl Named for Scope {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "aggregate",
            Self::Aggregate,
            "all page types together, as in the published results",
        ),
        ("page", Self::Page, "every page type by itself"),
    ];
}

/// A profile without what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProfileName {
    /// As in 2005.
    Classic2005,
    /// As of today.
    Modern,
}

impl ProfileName {
    fn of(profile: Profile) -> Self {
        match profile {
            Profile::Classic2005 => Self::Classic2005,
            Profile::Modern(_) => Self::Modern,
        }
    }
}

impl Named for ProfileName {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "classic2005",
            Self::Classic2005,
            "as in the published results",
        ),
        ("modern", Self::Modern, "as of today"),
    ];
}

/// Sessions that a file set is for.
const SESSIONS: Count = Count {
    noun: "sessions",
    what: "number of sessions",
    most: MOST_SESSIONS,
    example: "\"100 per guest\"",
};

/// A limit on the time of a page.
const BAND: Time = Time {
    min: Duration::from_millis(1),
    max: Duration::from_secs(3600),
    example: "2s",
};

/// The longest think time by its mean, as in the original.
const LONGEST_THINK: u32 = 15;
/// Millionths of a whole.
const PPM: f64 = 1e6;

keys! {
    /// Keys of banking, e-commerce and support.
    Web2005Keys {
        /// How browsers behave, and what is asked of pages. `modern`: files stay in a cache, pages
        /// are compressed, all page types are encrypted, half of the sessions resume one of TLS,
        /// one of ten downloads is resumed at its half, and the first byte of a page is limited.
        profile: Choice<ProfileName> = Choice::NEW, Default("\"classic2005\"");
        /// Share of sessions that begin with the cache of the session before (profile `modern`).
        returning: Factor = Factor::SHARE, Optional("0.5");
        /// Simultaneous sessions that the file set of each guest is for: no fewer than the guest
        /// gets users, or users share identities.
        sessions: Count = SESSIONS, Default("\"100 per guest\"");
        /// How many users, product lines or download directories the file set has, as a share of
        /// those of a full one; sizes of files never change.
        fileset_scale: Factor = Factor { min: 0.000_001, max: 1.0 }, Default("1.0");
        /// Mean think time before a page that is not the first of a session.
        think_time: Time = THINK, Optional("\"10s\", of support \"5s\"");
        /// The longest think time.
        think_max: Time = THINK, Optional("15 times the mean");
        /// Connections of one user, over which it loads embedded files.
        connections: Whole<u8> = Whole { min: 1, max: 16 }, Optional("2, of `modern` 6");
        /// The most that one user receives, bytes/s; 0 for no limit.
        receive_rate: Whole<u64> = Whole { min: 0, max: 100_000_000_000 },
            Optional("100000, of `modern` 2500000");
        /// Up to this time a page is good. Downloads are judged by their byte rate: 99 % of
        /// `receive_rate`.
        good: Time = BAND, Optional("\"3s\", of banking and of `modern` \"2s\"");
        /// Up to this time a page is tolerable; downloads: 95 % of `receive_rate`.
        tolerable: Time = BAND, Optional("\"5s\", of banking and of `modern` \"4s\"");
        /// Least share of good pages.
        good_share: Factor = Factor::SHARE, Default("0.95");
        /// Least share of good and tolerable pages.
        tolerable_share: Factor = Factor::SHARE, Default("0.99");
        /// Of which pages the shares are taken.
        scope: Choice<Scope> = Choice::NEW, Optional("\"aggregate\", of `modern` \"page\"");
        /// Largest share of pages whose answer is not what it must be.
        validation_errors: Factor = Factor::SHARE, Default("0.005");
        /// Fewest requests of every page type.
        min_requests: Whole<u64> = Whole { min: 0, max: 1_000_000_000 }, Default("100");
        /// Whether page types are encrypted that the original encrypted: all of banking, of
        /// e-commerce those from the cart on; of `modern` all (embedded stack
        /// and LAMP).
        encrypted: Truth = Truth, Optional("false, of `modern` true");
        /// Version of TLS, for targets with `https://` and pages that are encrypted.
        tls_version: Choice<TlsVersion> = Choice::NEW, Optional("what both sides speak");
        /// Certificates that sign that of the server.
        ca: Read<String> = PEM, Optional("none: `insecure` must be said");
        /// Whether the certificate of the server is left unverified.
        insecure: Truth = Truth, Default("false");
    }
}

impl Web2005Keys {
    pub(crate) fn build(
        self,
        model: Model,
        pace: Option<Pace>,
        context: &mut Context,
    ) -> Option<Web2005Use> {
        web_pacing(model.kind(), pace, None, context)?;
        let profile = self.profile(context)?;
        let think = self.think(model, context)?;
        let rate = self.receive_rate.unwrap_or(profile.rate_bytes_per_s());
        let rate = (rate > 0).then_some(rate);
        let bands = self.bands(profile.bands(model, rate), context)?;
        // Without the digits that multiplying by 100 adds.
        let percent = |share: f64| (1e10 * share).round() / 1e8;
        Some(Web2005Use {
            model,
            sessions: self.sessions?,
            fileset_scale_ppm: truncate_u32((PPM * self.fileset_scale?).round()),
            profile,
            think,
            connections: self.connections.unwrap_or(profile.connections()),
            receive_rate: rate,
            bands,
            rules: Rules {
                scope: self.scope.unwrap_or(profile.scope()),
                good_pct: percent(self.good_share?),
                tolerable_pct: percent(self.tolerable_share?),
                validation_error_pct: percent(self.validation_errors?),
                min_requests: self.min_requests?,
            },
            encrypted: self.encrypted.unwrap_or(profile.modern().is_some()),
            tls: Tls {
                ca: self.ca,
                insecure: self.insecure?,
                version: self.tls_version,
            },
        })
    }

    fn profile(&self, context: &mut Context) -> Option<Profile> {
        match (self.profile?, self.returning) {
            (ProfileName::Modern, returning) => Some(Profile::Modern(returning.map_or(
                ModernBrowser::default(),
                |share| ModernBrowser {
                    returning_percent: count_u8(rookery_cast::index(truncate_u64(
                        (100.0 * share).round(),
                    ))),
                },
            ))),
            (ProfileName::Classic2005, None) => Some(Profile::Classic2005),
            (ProfileName::Classic2005, Some(_)) => {
                let span = context.spans.nearest("workload.returning");
                let message = "`workload.returning` belongs to `profile = \"modern\"`: browsers of \
                               2005 keep nothing here";
                let help = "remove it, or add `profile = \"modern\"`";
                context.refuse(Code::Contradiction, span, message, help)
            }
        }
    }

    fn think(&self, model: Model, context: &mut Context) -> Option<WebThink> {
        let mean = self.think_time.unwrap_or(WebThink::new(model).mean);
        let max = self.think_max.unwrap_or(LONGEST_THINK * mean);
        if max < mean {
            let span = context.spans.nearest("workload.think_max");
            let message = "`workload.think_max` is shorter than the mean think time";
            let help = "leave it out: think times are then cut at 15 times their mean";
            return context.refuse(Code::Contradiction, span, message, help);
        }
        Some(WebThink { mean, max })
    }

    fn bands(&self, usual: Bands, context: &mut Context) -> Option<Bands> {
        let us = |time: Duration| truncate_u64(time.as_secs_f64() * 1e6);
        let bands = Bands {
            good_us: self.good.map_or(usual.good_us, us),
            tolerable_us: self.tolerable.map_or(usual.tolerable_us, us),
            ..usual
        };
        if bands.tolerable_us < bands.good_us {
            let span = context.spans.nearest("workload.tolerable");
            let message = "`workload.tolerable` is shorter than `workload.good`: a page would be \
                           good and not tolerable";
            return context.refuse(
                Code::Contradiction,
                span,
                message,
                "write the longer of both times as `tolerable`",
            );
        }
        Some(bands)
    }

    pub(crate) fn from_use(wanted: &Web2005Use) -> Self {
        let share = |percent: f64| percent / 100.0;
        let rules = &wanted.rules;
        Self {
            profile: Some(ProfileName::of(wanted.profile)),
            returning: wanted
                .profile
                .modern()
                .map(|browser| share(f64::from(browser.returning_percent))),
            sessions: Some(wanted.sessions.clone()),
            fileset_scale: Some(f64::from(wanted.fileset_scale_ppm) / PPM),
            think_time: Some(wanted.think.mean),
            think_max: Some(wanted.think.max),
            connections: Some(wanted.connections),
            receive_rate: Some(wanted.receive_rate.unwrap_or(0)),
            good: Some(Duration::from_micros(wanted.bands.good_us)),
            tolerable: Some(Duration::from_micros(wanted.bands.tolerable_us)),
            good_share: Some(share(rules.good_pct)),
            tolerable_share: Some(share(rules.tolerable_pct)),
            scope: Some(rules.scope),
            validation_errors: Some(share(rules.validation_error_pct)),
            min_requests: Some(rules.min_requests),
            encrypted: Some(wanted.encrypted),
            tls_version: wanted.tls.version,
            ca: wanted.tls.ca.clone(),
            insecure: Some(wanted.tls.insecure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Study, sections::testing::*};

    const STACK: &str = "[stack]\nkind = \"external\"\ntarget = \"http://127.0.0.1:8080\"\n";

    fn text(kind: &str, keys: &str) -> String {
        format!("{STACK}[workload]\nkind = \"{kind}\"\n{keys}\n")
    }

    fn banking(keys: &str) -> String {
        text("web-banking", keys)
    }

    fn study(kind: &str, keys: &str) -> Study {
        with(&text(kind, keys)).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    fn wanted(kind: &str, keys: &str) -> Web2005Use {
        let study = study(kind, keys);
        study.workload.web2005().expect("one of the three").clone()
    }

    #[test]
    fn defaults_are_those_of_the_original() {
        for (kind, model, think_s, good_us) in [
            ("web-banking", Model::Banking, 10, 2_000_000),
            ("web-ecommerce", Model::Ecommerce, 10, 3_000_000),
            ("web-support", Model::Support, 5, 3_000_000),
        ] {
            let wanted = wanted(kind, "");
            assert_eq!(wanted.model, model);
            assert_eq!(wanted.think.mean, Duration::from_secs(think_s));
            assert_eq!(wanted.think.max, 15 * wanted.think.mean);
            assert_eq!(wanted.bands.good_us, good_us);
            assert_eq!(wanted.bands, Bands::new(model));
            assert_eq!(wanted.rules, Rules::default());
            assert_eq!(
                (wanted.connections, wanted.receive_rate),
                (2, Some(100_000))
            );
            assert_eq!(wanted.fileset_scale_ppm, 1_000_000);
        }
    }

    #[test]
    fn keys_come_back_as_they_were_written() {
        let lines = "sessions = \"20 per guest\"\nfileset_scale = 0.1\nthink_time = \"500ms\"\n\
                     receive_rate = 0\ngood = \"1s\"\ntolerable = \"1500ms\"\nscope = \"page\"\n\
                     good_share = 0.9\nmin_requests = 5\n";
        let study = study("web-banking", lines);
        let found = study.workload.web2005().expect("banking");
        assert_eq!(found.receive_rate, None);
        assert_eq!(
            (found.bands.good_us, found.bands.tolerable_us),
            (1_000_000, 1_500_000)
        );
        assert_eq!(found.rules.scope, Scope::Page);
        let again = Study::parse("again.toml", &study.to_toml());
        assert_eq!(again.unwrap_or_else(|problems| panic!("{problems}")), study);
    }

    #[test]
    fn a_profile_brings_its_own_defaults() {
        let embedded = |keys: &str| with(&format!("[workload]\nkind = \"web-support\"\n{keys}\n"));
        let text = "profile = \"modern\"\nreturning = 0.25\nconnections = 4";
        let study = embedded(text).unwrap_or_else(|problems| panic!("{problems:?}"));
        let found = study.workload.web2005().expect("support");
        let browser = ModernBrowser {
            returning_percent: 25,
        };
        assert_eq!(found.profile, Profile::Modern(browser));
        assert_eq!((found.connections, found.encrypted), (4, true));
        assert_eq!(found.receive_rate, Some(2_500_000));
        assert_eq!(
            (found.bands.good_us, found.bands.tolerable_us),
            (2_000_000, 4_000_000)
        );
        assert_eq!(found.rules.scope, Scope::Page);
        let again = Study::parse("again.toml", &study.to_toml());
        assert_eq!(again.unwrap_or_else(|problems| panic!("{problems}")), study);
        assert!(refusal(&banking("returning = 0.5")).contains("profile = \"modern\""));
        assert!(refusal(&banking("profile = \"modern\"")).contains("`workload.encrypted`"));
    }

    #[test]
    fn limits_of_operations_come_back_in_their_order() {
        // `search` is an operation of e-commerce, too, whose operations are known first.
        let support = study("web-support", "");
        let again = Study::parse("again.toml", &support.to_toml());
        assert_eq!(
            again.unwrap_or_else(|problems| panic!("{problems}")),
            support
        );
    }

    #[test]
    fn only_our_own_pages_are_encrypted_in_part() {
        let refused = refusal(&banking("encrypted = true"));
        assert!(
            refused.starts_with("study::contradiction: `workload.encrypted`"),
            "{refused}"
        );
        let shop = "[workload]\nkind = \"web-ecommerce\"\nencrypted = true\n";
        assert!(with(&format!("[stack]\nkind = \"lamp\"\n{shop}")).is_ok());
        let study = with(shop).unwrap_or_else(|problems| panic!("{problems:?}"));
        assert!(study.workload.web2005().expect("the shop").encrypted);
        let again = Study::parse("again.toml", &study.to_toml());
        assert_eq!(again.unwrap_or_else(|problems| panic!("{problems}")), study);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        assert_eq!(
            refusal(&banking("good = \"3s\"\ntolerable = \"2s\"")),
            "study::contradiction: `workload.tolerable` is shorter than `workload.good`: a page \
             would be good and not tolerable"
        );
        assert_eq!(
            refusal(&banking("think_time = \"2s\"\nthink_max = \"1s\"")),
            "study::contradiction: `workload.think_max` is shorter than the mean think time"
        );
        assert_eq!(
            refusal(&banking("pacing = \"cycle\"")),
            "study::contradiction: `workload.pacing` = \"cycle\" belongs to `kind = \
             \"dvdstore\"`, but `workload.kind` is \"web-banking\""
        );
        assert!(refusal(&banking("fileset_scale = 0")).contains("fileset_scale"));
        assert!(refusal(&banking("searches = 3")).contains("belongs to"));
    }

    #[test]
    fn limits_follow_the_bands_where_the_file_says_none() {
        let limits = |kind: &str, more: &str| {
            let all = study(kind, more).qos.percentiles.into_iter();
            all.map(|limit| {
                (
                    limit.operation.unwrap_or_default(),
                    limit.percentile,
                    limit.limit_us,
                )
            })
            .collect::<Vec<_>>()
        };
        assert_eq!(
            limits("web-banking", ""),
            [
                ("page".to_owned(), 95.0, 2_000_000),
                ("page".to_owned(), 99.0, 4_000_000)
            ]
        );
        let support = limits("web-support", "");
        assert_eq!(support.len(), 12);
        assert!(
            support
                .iter()
                .all(|(name, ..)| name != "download" && name != "page")
        );
        let own = limits("web-banking", "[qos.login]\np95 = \"1s\"\n");
        assert_eq!(own, [("login".to_owned(), 95.0, 1_000_000)]);
    }
}
