//! Factors, designs and scales: lists become variants, problems point at the right line, pairs run
//! back to back.

use crate::common::{assert_plan, assert_useful, host};
use rookery_study::{Code, Design, Document, Plan, Problems, Study};

/// A LAMP study; `stack` are lines of its `[stack]` section and of those below.
fn text(top: &str, stack: &str) -> String {
    format!(
        "title = \"t\"\n{top}\n[workload]\nkind = \"dvdstore\"\n[load]\nusers = \"max(10, 50 * \
         vcpus)\"\n[guest]\nkind = \"container\"\n\
         [[layout]]\nname = \"one\"\nvcpus = [0.5, 1]\n[[layout]]\nname = \"many\"\nguests = \
         2\nvcpus = 0.5\n\
         [stack]\nkind = \"lamp\"\n{stack}\n"
    )
}

fn parse(text: &str) -> Document {
    Document::parse("s.toml", text).unwrap_or_else(|problems| panic!("{problems}"))
}

fn plan(text: &str) -> Plan {
    let document = parse(text);
    let plan = Plan::of(&document, &host()).unwrap_or_else(|problems| panic!("{problems}"));
    assert_plan(document.study(), &plan);
    plan
}

fn refused(text: &str) -> Problems {
    let problems = Document::parse("s.toml", text).expect_err(text);
    assert_useful(&problems);
    problems
}

/// Code and the text of the file at the place of each problem.
fn places(text: &str) -> Vec<(Code, String)> {
    let problems = refused(text);
    let places = problems
        .list()
        .iter()
        .map(|problem| (problem.code, text[problem.span.clone()].to_owned()));
    places.collect()
}

#[test]
fn a_list_is_a_factor_and_its_levels_are_compared_in_blocks() {
    let plan = plan(&text(
        "",
        "tuning = [\"stock\", \"pureflex\", \"modern\"]\n[stack.settings]\n\"mariadb.x\" = \
         [\"8MiB\", 64]",
    ));
    let factors: Vec<(&str, Vec<&str>)> = plan
        .factors
        .iter()
        .map(|factor| {
            (
                factor.key.as_str(),
                factor.levels.iter().map(String::as_str).collect(),
            )
        })
        .collect();
    assert_eq!(
        factors,
        [
            ("stack.tuning", vec!["stock", "pureflex", "modern"]),
            ("mariadb.x", vec!["8MiB", "64"])
        ]
    );
    assert_eq!(
        (plan.variants.len(), plan.points.len(), plan.trials.len()),
        (6, 18, 54)
    );
    assert_eq!(
        plan.points[1].label(),
        "1 x 0.5 vCPU, 25 users, tuning=stock, x=64"
    );
    let settings = |id: usize| {
        &plan
            .study_of(&plan.points[id - 1])
            .stack
            .lamp()
            .expect("lamp")
            .settings["mariadb.x"]
    };
    assert_eq!(
        (settings(1).to_string(), settings(2).to_string()),
        ("8MiB".to_owned(), "64".to_owned())
    );
    let firsts: Vec<u32> = plan
        .trials
        .chunks(6)
        .map(|block| block[0].point % 6)
        .collect();
    assert!(
        firsts.iter().any(|first| *first != firsts[0]),
        "the order within blocks is drawn"
    );
}

#[test]
fn every_variant_is_a_study_of_its_own() {
    let document = parse(&text(
        "seed = 3",
        "tuning = [\"stock\", \"modern\"]\nserver = [\"prefork\", \"event\"]",
    ));
    for variant in document.variants() {
        assert_eq!(
            Study::parse("again.toml", &variant.study.to_toml())
                .ok()
                .as_ref(),
            Some(&variant.study)
        );
    }
    assert_eq!(document.study(), &document.variants()[0].study);
}

#[test]
fn one_value_in_a_list_is_no_factor() {
    let (list, plain) = (
        plan(&text("", "tuning = [\"modern\"]")),
        plan(&text("", "tuning = \"modern\"")),
    );
    assert_eq!(list, plain);
}

#[test]
fn lists_by_nature_stay_lists() {
    let text = text("", "").replace(
        "users = \"max(10, 50 * vcpus)\"",
        "users = [10, \"30 per vcpu\"]",
    );
    let plan = plan(&text);
    assert_eq!(
        (plan.factors.len(), plan.variants.len(), plan.points.len()),
        (0, 1, 6)
    );
}

#[test]
fn bad_levels_are_refused_where_they_stand_and_once() {
    assert_eq!(
        places(&text("", "tuning = [\"stock\", \"pureflx\"]")),
        [(Code::UnknownChoice, "\"pureflx\"".to_owned())]
    );
    assert_eq!(
        places(&text("", "tuning = []")),
        [(Code::EmptyList, "[]".to_owned())]
    );
    assert_eq!(
        places(&text("", "tuning = [[\"stock\"], \"modern\"]")),
        [(Code::WrongType, "[\"stock\"]".to_owned())]
    );
    let memory = text("", "").replace(
        "kind = \"container\"",
        "kind = \"container\"\nmemory = [\"1GiB\", \"1024MiB\"]",
    );
    assert_eq!(
        places(&memory),
        [(Code::DuplicateValue, "\"1024MiB\"".to_owned())]
    );
    // The key that is missing is told once, not for every level.
    let untitled =
        text("", "tuning = [\"stock\", \"pureflex\", \"modern\"]").replace("title", "titel");
    let codes: Vec<Code> = places(&untitled)
        .into_iter()
        .map(|(code, _)| code)
        .collect();
    assert_eq!(codes, [Code::UnknownKey, Code::MissingKey]);
}

#[test]
fn contradictions_of_single_levels_are_found() {
    let mixed = text("", "tuning = \"modern\"")
        .replace("kind = \"lamp\"", "kind = [\"embedded\", \"lamp\"]");
    assert_eq!(
        places(&mixed),
        [(Code::Contradiction, "\"modern\"".to_owned())]
    );
}

#[test]
fn some_keys_have_one_value() {
    for (from, to) in [
        ("title = \"t\"", "title = [\"t\", \"u\"]"),
        ("[load]", "[qos]\np95 = [\"1s\", \"2s\"]\n[load]"),
        ("[load]", "[load]\nrepeats = [2, 3]"),
        ("name = \"one\"", "name = [\"one\", \"two\"]"),
    ] {
        let text = text("", "").replacen(from, to, 1);
        let problems = refused(&text);
        assert_eq!(problems.list().len(), 1, "{problems}");
        assert!(
            [Code::Contradiction, Code::WrongType].contains(&problems.list()[0].code),
            "{problems}"
        );
    }
}

#[test]
fn too_many_variants_are_refused() {
    let levels: Vec<String> = (1..=16).map(|n| n.to_string()).collect();
    let list = format!("[{}]", levels.join(", "));
    let fits = text(
        "",
        &format!("[stack.settings]\n\"php.a\" = {list}\n\"php.b\" = {list}"),
    );
    assert_eq!(parse(&fits).variants().len(), 256);
    let many = text(
        "",
        &format!("[stack.settings]\n\"php.a\" = {list}\n\"php.b\" = {list}\n\"php.c\" = [1, 2]"),
    );
    assert_eq!(places(&many), [(Code::TooMany, "[1, 2]".to_owned())]);
    let long = text(
        "",
        "[stack.settings]\n\"php.a\" = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]",
    );
    assert_eq!(places(&long)[0].0, Code::TooMany);
    let trials = fits.replace("[load]", "[load]\nrepeats = 14");
    assert_eq!(places(&trials)[0].0, Code::TooMany);
}

#[test]
fn a_flood_of_problems_times_levels_stays_small() {
    let keys: String = (0..9000).map(|n| format!("k{n} = 1\n")).collect();
    let settings: String = (0..20)
        .map(|n| format!("\"php.s{n}\" = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"))
        .collect();
    let scales: String = (0..16)
        .map(|n| format!("[scale.s{n}]\nseed = {n}\n"))
        .collect();
    let problems = refused(&text(
        &keys,
        &format!("[stack.settings]\n{settings}{scales}"),
    ));
    assert_eq!(problems.list().len(), 100);
}

#[test]
fn screening_tries_a_part_and_says_what_it_mixes() {
    let settings = "[stack.settings]\n\"mariadb.pool\" = \
                    [\"8MiB\", \"64MiB\"]\n\"apache.KeepAlive\" = [false, true]\n\
                    \"php.opcache.enable\" = [0, 1]\n\"apache.MaxRequestWorkers\" = [2, 64]\n";
    let plan = plan(&text("design = \"screening\"", settings));
    assert_eq!((plan.design, plan.variants.len()), (Design::Screening, 8));
    assert_eq!(
        plan.aliases,
        [
            ["pool x KeepAlive", "opcache.enable x MaxRequestWorkers"],
            ["pool x opcache.enable", "KeepAlive x MaxRequestWorkers"],
            ["pool x MaxRequestWorkers", "KeepAlive x opcache.enable"]
        ]
    );
    assert!(
        plan.variants[0]
            .levels
            .iter()
            .zip(&plan.factors)
            .all(|(level, factor)| level.value == factor.levels[0])
    );
}

#[test]
fn screening_wants_factors_of_two_levels() {
    let three = text(
        "design = \"screening\"",
        "tuning = [\"stock\", \"pureflex\", \"modern\"]",
    );
    assert_eq!(
        places(&three),
        [(
            Code::Contradiction,
            "[\"stock\", \"pureflex\", \"modern\"]".to_owned()
        )]
    );
    assert_eq!(
        places(&text("design = \"screening\"", "")),
        [(Code::Contradiction, "\"screening\"".to_owned())]
    );
}

const SCALES: &str = "[scale.large.load]\nusers = 7\nsteady \
                      = \"5min\"\n[[scale.large.layout]]\nname = \"eight\"\nguests = 8\n\
                      [scale.small.workload]\ndatabase = \"2MB\"\n";

#[test]
fn a_scale_replaces_keys_lists_and_layouts() {
    let text = text("", SCALES);
    let scaled = |scale| {
        Document::parse_scaled("s.toml", &text, scale)
            .unwrap_or_else(|problems| panic!("{problems}"))
    };
    let (plain, large) = (scaled(None), scaled(Some("large")));
    assert_eq!((plain.scale(), large.scale()), (None, Some("large")));
    assert_eq!(plain.study().layouts.len(), 2);
    let study = large.study();
    assert_eq!(
        (study.layouts.len(), study.layouts[0].guests.as_slice()),
        (1, [8].as_slice())
    );
    assert_eq!(
        (study.load.steady.as_secs(), study.load.ramp_up),
        (300, plain.study().load.ramp_up)
    );
    assert_eq!(study.stack, plain.study().stack);
}

#[test]
fn every_scale_is_checked_and_told_at_its_own_line() {
    let bad = text("", SCALES).replace("steady = \"5min\"", "stedy = \"5min\"");
    assert_eq!(places(&bad), [(Code::UnknownKey, "stedy".to_owned())]);
    let bad = text("", SCALES).replace("\"2MB\"", "\"2ms\"");
    assert_eq!(places(&bad), [(Code::WrongUnit, "\"2ms\"".to_owned())]);
    let bad = text("", "[scale.small]\nlaod = {}\n");
    assert_eq!(places(&bad), [(Code::UnknownKey, "laod".to_owned())]);
}

#[test]
fn a_scale_may_have_factors() {
    let text = text(
        "",
        "tuning = [\"stock\", \"modern\"]\n[scale.one.stack]\ntuning \
         = \"modern\"\n[scale.two.stack]\nserver = [\"prefork\", \"event\"]\n",
    );
    let variants = |scale| {
        let document = Document::parse_scaled("s.toml", &text, scale)
            .unwrap_or_else(|problems| panic!("{problems}"));
        document.variants().len()
    };
    assert_eq!(
        (variants(None), variants(Some("one")), variants(Some("two"))),
        (2, 1, 4)
    );
}

#[test]
fn unknown_scales_are_refused_with_those_that_exist() {
    let problems = Document::parse_scaled("s.toml", &text("", SCALES), Some("larg"))
        .expect_err("no such scale");
    assert_eq!(
        problems.list()[0].help,
        "write `--scale large`; the file has: large, small"
    );
    let problems =
        Document::parse_scaled("s.toml", &text("", ""), Some("large")).expect_err("no scales");
    assert_eq!(
        problems.list()[0].help,
        "the file has no scales: leave `--scale` out"
    );
    assert_eq!(
        places(&text("scale = 5", "")),
        [(Code::WrongType, "5".to_owned())]
    );
}

#[test]
fn rules_are_evaluated_for_every_guest() {
    let text = text("", "").replace(
        "kind = \"container\"",
        "kind = \"container\"\nmemory = \"max(640MiB, 960MiB * vcpus, 1MiB * users)\"",
    );
    let text = text.replace(
        "kind = \"dvdstore\"",
        "kind = \"dvdstore\"\ndatabase = \"10MB * vcpus + memory / 320\"",
    );
    let plan = plan(&text);
    let points: Vec<_> = plan
        .points
        .iter()
        .map(|point| {
            (
                point.guests(),
                point.total_users(),
                point.only_group().memory_mib,
                point.only_group().database.megabytes(),
            )
        })
        .collect();
    assert_eq!(points, [(1, 25, 640, 7), (1, 50, 960, 13), (2, 50, 640, 7)]);
}

#[test]
fn rules_without_a_good_value_are_refused() {
    for (from, to, code) in [
        ("50 * vcpus", "50 / (vcpus - 1)", Code::Users),
        ("\"max(10, 50 * vcpus)\"", "\"-5 * vcpus\"", Code::Users),
        (
            "kind = \"container\"",
            "kind = \"container\"\nmemory = \"1GiB / (1 - guests)\"",
            Code::Memory,
        ),
        (
            "kind = \"container\"",
            "kind = \"container\"\nmemory = \"1GiB * -1\"",
            Code::Memory,
        ),
        (
            "kind = \"dvdstore\"",
            "kind = \"dvdstore\"\ndatabase = \"1GB - 2GB\"",
            Code::Database,
        ),
        (
            "kind = \"dvdstore\"",
            "kind = \"dvdstore\"\ndatabase = \"1GB / 0\"",
            Code::Database,
        ),
    ] {
        let text = text("", "").replacen(from, to, 1);
        let problems = Plan::of(&parse(&text), &host()).expect_err(to);
        assert!(
            problems.list().iter().any(|problem| problem.code == code),
            "{to}: {problems}"
        );
    }
}

#[test]
fn settings_name_their_setting_as_a_factor_without_quotes_too() {
    let plan = plan(&text(
        "",
        "[stack.settings]\nmariadb.innodb_flush_log_at_trx_commit = [1, 2]\n",
    ));
    assert_eq!(
        plan.factors[0].key,
        "mariadb.innodb_flush_log_at_trx_commit"
    );
    assert_eq!(plan.variants.len(), 2);
}
