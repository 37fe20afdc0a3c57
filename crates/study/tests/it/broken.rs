//! Broken study files, each with the code and the line that its author must be told.

use rookery_study::{Code, Document, HostFacts, Plan, Problems};

/// A valid study; the cases break it in one place each.
const GOOD: &str = r#"title = "t"
seed = 7
[workload]
kind = "dvdstore"
database = "10MB per vcpu"
think_time = "250ms"
[load]
users = ["10 per vcpu", 20]
steady = "60s"
repeats = 2
[qos]
p95 = "2s"
errors = 0.001
[guest]
kind = "container"
memory = "640MiB per vcpu"
[host]
guest_cpus = "0-2"
driver_cpus = 3
[[layout]]
name = "big"
guests = 1
vcpus = [0.5, 1]
[[layout]]
name = "small"
guests = [1, 2]
vcpus = 0.5
"#;

fn host() -> HostFacts {
    HostFacts {
        cpus: vec![0, 1, 2, 3],
        memory_mib: 8192,
        disk_free_mib: 20_000,
        root: true,
        places: Vec::new(),
    }
}

/// Reads and plans.
fn refuse(text: &str) -> Result<Plan, Problems> {
    Plan::of(&Document::parse("s.toml", text)?, &host())
}

/// Breaks `GOOD` by replacing text that occurs in it, and wants exactly one problem.
fn check(from: &str, to: &str, code: Code, line: usize) {
    assert!(GOOD.contains(from), "`{from}` is not in the good study");
    let text = GOOD.replacen(from, to, 1);
    let problems = refuse(&text).expect_err(&format!("accepted: {from} -> {to}"));
    let found: Vec<_> = problems
        .list()
        .iter()
        .map(|problem| (problem.code, problem.line))
        .collect();
    assert_eq!(found, [(code, line)], "{from} -> {to}\n{problems}");
    for problem in problems.list() {
        assert!(!problem.help.is_empty() && !problem.message.is_empty());
    }
}

#[test]
fn the_good_study_is_good() {
    refuse(GOOD).unwrap_or_else(|problems| panic!("{problems}"));
}

#[test]
fn names_that_do_not_exist() {
    check("steady =", "stedy =", Code::UnknownKey, 9);
    check("[qos]", "[qoss]", Code::UnknownKey, 11);
    check("errors =", "error_ratio =", Code::UnknownKey, 13);
    check(
        "[qos]",
        "[qos.checkout]\np95 = \"1s\"\n[qos]",
        Code::UnknownKey,
        11,
    );
    check("seed = 7", "sede = 7", Code::UnknownKey, 2);
    check("seed = 7", "steady = \"60s\"", Code::UnknownKey, 2);
    check("guests = 1", "guest = 1", Code::UnknownKey, 22);
    check("[host]", "[hosts]", Code::UnknownKey, 17);
    check("\"container\"", "\"containr\"", Code::UnknownChoice, 15);
    check(
        "repeats = 2",
        "order = \"backwards\"",
        Code::UnknownChoice,
        10,
    );
    check("repeats = 2", "model = \"bursty\"", Code::UnknownChoice, 10);
    check("\"dvdstore\"", "\"tpcc\"", Code::UnknownChoice, 4);
    check(
        "memory =",
        "pin = \"scatter\"\nmemory =",
        Code::UnknownChoice,
        16,
    );
}

#[test]
fn things_that_are_missing() {
    check("title = \"t\"\n", "", Code::MissingKey, 26);
    check("kind = \"dvdstore\"\n", "", Code::MissingKey, 3);
    check("users = [\"10 per vcpu\", 20]\n", "", Code::MissingKey, 7);
    check("name = \"small\"\n", "", Code::MissingKey, 24);
    let without_layouts = &GOOD[..GOOD.find("[[layout]]").expect("it has layouts")];
    let problems = refuse(without_layouts).expect_err("nothing to run");
    assert_eq!(problems.list()[0].code, Code::MissingKey);
    assert_eq!(problems.list()[0].line, 19);
    assert!(refuse("").is_err());
}

#[test]
fn values_of_the_wrong_type() {
    check("title = \"t\"", "title = 5", Code::WrongType, 1);
    check("seed = 7", "seed = \"7\"", Code::WrongType, 2);
    check("seed = 7", "seed = 7.5", Code::WrongType, 2);
    check("repeats = 2", "repeats = true", Code::WrongType, 10);
    check("repeats = 2", "repeats = [2, 3]", Code::Contradiction, 10);
    check(
        "steady = \"60s\"",
        "steady = 1979-05-27",
        Code::WrongType,
        9,
    );
    check("p95 = \"2s\"", "p99.9 = \"2s\"", Code::WrongType, 12);
    check("errors = 0.001", "errors = \"0.1%\"", Code::WrongType, 13);
    check(
        "users = [\"10 per vcpu\", 20]",
        "users = { from = 10 }",
        Code::WrongType,
        8,
    );
    check(
        "users = [\"10 per vcpu\", 20]",
        "users = [10, [20]]",
        Code::WrongType,
        8,
    );
    check("driver_cpus = 3", "driver_cpus = 3.0", Code::WrongType, 19);
    check("vcpus = 0.5", "vcpus = \"half\"", Code::WrongType, 27);
    check("[qos]", "[[qos]]", Code::WrongType, 11);
    check("seed = 7", "stack = \"embedded\"", Code::WrongType, 2);
}

#[test]
fn units_that_are_missing_or_wrong() {
    check("\"250ms\"", "\"250\"", Code::WrongUnit, 6);
    check("\"250ms\"", "250", Code::WrongUnit, 6);
    check("\"60s\"", "\"60 seconds\"", Code::WrongUnit, 9);
    check("\"60s\"", "\"60MB\"", Code::WrongUnit, 9);
    check(
        "\"10MB per vcpu\"",
        "\"10MiB per vcpu\"",
        Code::WrongUnit,
        5,
    );
    check("\"10MB per vcpu\"", "10", Code::WrongUnit, 5);
    check(
        "\"640MiB per vcpu\"",
        "\"640 per vcpu\"",
        Code::WrongUnit,
        16,
    );
    check(
        "\"640MiB per vcpu\"",
        "\"640MiB per user\"",
        Code::WrongUnit,
        16,
    );
    check("\"10 per vcpu\"", "\"10 per cpu\"", Code::WrongUnit, 8);
    check("\"10 per vcpu\"", "\"10ms\"", Code::WrongUnit, 8);
    check("\"60s\"", "\"soon\"", Code::Malformed, 9);
    check("\"0-2\"", "\"0..2\"", Code::Malformed, 18);
    check("\"0-2\"", "\"2-0\"", Code::Malformed, 18);
}

#[test]
fn impossible_values() {
    check("\"60s\"", "\"0s\"", Code::OutOfRange, 9);
    check("\"60s\"", "\"-60s\"", Code::OutOfRange, 9);
    check("\"60s\"", "\"60h\"", Code::OutOfRange, 9);
    check("repeats = 2", "repeats = 0", Code::OutOfRange, 10);
    check("repeats = 2", "repeats = 1001", Code::OutOfRange, 10);
    check("seed = 7", "seed = -7", Code::OutOfRange, 2);
    check("errors = 0.001", "errors = 1.5", Code::OutOfRange, 13);
    check("errors = 0.001", "errors = nan", Code::OutOfRange, 13);
    check(
        "think_time =",
        "new_customers = 20\nthink_time =",
        Code::OutOfRange,
        6,
    );
    check(
        "think_time =",
        "searches = 0\nthink_time =",
        Code::OutOfRange,
        6,
    );
    check("\"10 per vcpu\", 20", "0", Code::OutOfRange, 8);
    check("\"10 per vcpu\", 20", "-5", Code::OutOfRange, 8);
    check("\"10 per vcpu\", 20", "9999999", Code::OutOfRange, 8);
    check("guests = 1\n", "guests = 0\n", Code::OutOfRange, 22);
    check("guests = 1\n", "guests = 5000\n", Code::OutOfRange, 22);
    check("vcpus = 0.5", "vcpus = 0.3333", Code::OutOfRange, 27);
    check("vcpus = 0.5", "vcpus = inf", Code::OutOfRange, 27);
    check("\"0-2\"", "\"0-99999\"", Code::OutOfRange, 18);
    check(
        "guest_cpus =",
        "overcommit = 0.5\nguest_cpus =",
        Code::OutOfRange,
        18,
    );
    check("title = \"t\"", "title = \" \"", Code::OutOfRange, 1);
    check(
        "title = \"t\"",
        "title = \"\\u001b[2J\"",
        Code::Malformed,
        1,
    );
    check(
        "users = [\"10 per vcpu\", 20]",
        "users = []",
        Code::EmptyList,
        8,
    );
    check("guests = [1, 2]", "guests = []", Code::EmptyList, 26);
    check(
        "guests = [1, 2]",
        "guests = [1, 2, 1]",
        Code::DuplicateValue,
        26,
    );
    check(
        "vcpus = [0.5, 1]",
        "vcpus = [1, 1.0]",
        Code::DuplicateValue,
        23,
    );
    check("\"0-2\"", "[0, 1, 0]", Code::DuplicateValue, 18);
    check(
        "name = \"small\"",
        "name = \"big\"",
        Code::DuplicateValue,
        25,
    );
}

#[test]
fn contradictions_within_the_file() {
    check(
        "p95 = \"2s\"",
        "p95 = \"2s\"\np99 = \"1s\"",
        Code::Contradiction,
        13,
    );
    check(
        "errors = 0.001",
        "errors = 0.001\n[qos.order]\np50 = \"2s\"\np75 = \"1s\"",
        Code::Contradiction,
        16,
    );
    check(
        "think_time = \"250ms\"",
        "pacing = \"cycle\"",
        Code::Contradiction,
        6,
    );
    check(
        "driver_cpus = 3",
        "driver_cpus = [2, 3]",
        Code::SharedCpu,
        19,
    );
    let bare = GOOD.replace("\"container\"", "\"bare\"");
    let found: Vec<_> = refuse(&bare)
        .expect_err("fractions")
        .list()
        .iter()
        .map(|problem| (problem.code, problem.line))
        .collect();
    assert_eq!(
        found,
        [(Code::Contradiction, 23), (Code::Contradiction, 27)]
    );
}

#[test]
fn too_much_of_anything() {
    let many = (1..=65)
        .map(|n| n.to_string())
        .collect::<Vec<_>>()
        .join(", ");
    check(
        "guests = [1, 2]",
        &format!("guests = [{many}]"),
        Code::TooMany,
        26,
    );
    let levels = (1..=64)
        .map(|n| n.to_string())
        .collect::<Vec<_>>()
        .join(", ");
    check(
        "users = [\"10 per vcpu\", 20]\nsteady = \"60s\"\nrepeats = 2",
        &format!("users = [{levels}]\nrepeats = 1000"),
        Code::TooMany,
        9,
    );
    check(
        "guests = 1\n",
        &format!("guests = [4096, 4095, 4094]\nusers = [{levels}]\n"),
        Code::TooMany,
        20,
    );
    let layouts: String = (0..65)
        .map(|n| format!("[[layout]]\nname = \"{n}\"\n"))
        .collect();
    let text =
        format!("title = \"t\"\n[workload]\nkind = \"dvdstore\"\n[load]\nusers = 1\n{layouts}");
    let problems = refuse(&text).expect_err("65 layouts");
    assert!(
        problems
            .list()
            .iter()
            .any(|problem| problem.code == Code::TooMany),
        "{problems}"
    );
    let large = refuse(&format!("{GOOD}# {}", "x".repeat(300_000))).expect_err("too large");
    assert_eq!(large.list()[0].code, Code::TooLarge);
}

#[test]
fn contradictions_with_the_host() {
    check("\"0-2\"", "\"0-2,8\"", Code::NoSuchCpu, 18);
    check("driver_cpus = 3", "driver_cpus = 4", Code::NoSuchCpu, 19);
    check(
        "guest_cpus = \"0-2\"\ndriver_cpus = 3",
        "guest_cpus = \"0-3\"",
        Code::SharedCpu,
        18,
    );
    check(
        "guest_cpus = \"0-2\"\ndriver_cpus = 3",
        "driver_cpus = \"0-3\"",
        Code::SharedCpu,
        18,
    );
    check(
        "vcpus = [0.5, 1]",
        "vcpus = [0.5, 3.5]",
        Code::TooFewCpus,
        23,
    );
    check("guests = [1, 2]", "guests = [1, 7]", Code::TooFewCpus, 26);
    check("\"640MiB per vcpu\"", "\"5GiB\"", Code::Memory, 26);
    check("\"640MiB per vcpu\"", "\"10MiB\"", Code::Memory, 16);
    check("\"10MB per vcpu\"", "\"5GB\"", Code::Disk, 5);
    check(
        "users = [\"10 per vcpu\", 20]",
        "users = \"1 per host\"",
        Code::Users,
        8,
    );
    check(
        "guests = [1, 2]",
        "guests = [1, 2]\nusers = 900000",
        Code::Users,
        27,
    );
    check(
        "guests = [1, 2]",
        "guests = 2\nusers = \"0.5 per vcpu\"",
        Code::Users,
        27,
    );
}

/// Too much for one guest is the fault of its memory, too much for many is the fault of their
/// number.
#[test]
fn memory_blames_the_key_that_has_to_change() {
    for text in [
        GOOD.replace("640MiB per vcpu", "8GiB per host"),
        GOOD.replace("driver_cpus = 3", "driver_cpus = 3\nreserve = \"7800MiB\"")
            .replace("seed = 7\n", ""),
    ] {
        let problems = refuse(&text).expect_err("too much memory");
        let found: Vec<_> = problems
            .list()
            .iter()
            .map(|problem| (problem.code, problem.line))
            .collect();
        let memory = 1 + text
            .lines()
            .position(|line| line.starts_with("memory"))
            .expect("it has the key");
        assert_eq!(found, [(Code::Memory, memory), (Code::Memory, 26)]);
    }
}

#[test]
fn containers_need_root_and_driver_and_guests_need_two_cpus() {
    let document = Document::parse("s.toml", GOOD).expect("valid");
    let user = HostFacts {
        root: false,
        ..host()
    };
    let problems = Plan::of(&document, &user).expect_err("no root");
    assert_eq!(
        (problems.list()[0].code, problems.list()[0].line),
        (Code::NeedsRoot, 15)
    );
    let small = HostFacts {
        cpus: vec![0],
        ..host()
    };
    let problems = Plan::of(&document, &small).expect_err("one CPU");
    assert_eq!(
        (problems.list()[0].code, problems.list()[0].line),
        (Code::TooFewCpus, 19)
    );
    let none = HostFacts {
        cpus: vec![],
        ..host()
    };
    assert!(Plan::of(&document, &none).is_err());
}

#[test]
fn text_that_is_not_toml() {
    check("seed = 7", "seed = ", Code::Syntax, 2);
    check("seed = 7", "seed", Code::Syntax, 2);
    check("[workload]", "[workload", Code::Syntax, 3);
    check("\"250ms\"", "250ms", Code::Syntax, 6);
    check("seed = 7", "seed = 7\nseed = 8", Code::DuplicateKey, 3);
    check("[guest]", "[load]\n[guest]", Code::DuplicateKey, 14);
    let bytes = [GOOD.as_bytes(), b"# \xff\xfe\n"].concat();
    let problems = Document::parse_bytes("s.toml", &bytes).expect_err("not UTF-8");
    assert_eq!(
        (problems.list()[0].code, problems.list()[0].line),
        (Code::Syntax, 28)
    );
}

#[test]
fn a_dotted_percentile_is_told_to_stand_in_quotes() {
    for (from, to) in [
        ("p95 = \"2s\"", "p99.9 = \"2s\""),
        ("p95 = \"2s\"", "p99 = \"2s\"\np99.9 = \"4s\""),
    ] {
        let problems = refuse(&GOOD.replacen(from, to, 1)).expect_err("a dotted key");
        assert!(
            problems.to_string().contains("in quotes: `\"p99.9\""),
            "{problems}"
        );
    }
}

/// Without limits these overflow the stack, or fill memory and time.
#[test]
fn hostile_files_end_with_a_short_report() {
    for text in [
        "[".repeat(100_000),
        "a = ".to_owned() + &"[".repeat(100_000),
        "a = ".to_owned() + &"{a=".repeat(60_000),
        "a.".repeat(100_000) + "b = 1",
        format!("[{}]", "a.".repeat(100_000) + "b"),
        "[[layout]]\n".repeat(20_000),
        (0..20_000).map(|n| format!("k{n} = 1\n")).collect(),
        (0..20_000).map(|n| format!("[s{n}]\n")).collect(),
        format!("{} = 1", "k".repeat(200_000)),
        format!("title = \"{}\"", "\u{202e}".repeat(80_000)),
        "\n".repeat(250_000),
        "\"\"\"".repeat(80_000),
        "\u{feff}\u{feff}".to_owned(),
        "\0".repeat(200_000),
        "= = =\n".repeat(40_000),
    ] {
        let problems = refuse(&text).expect_err("not a study");
        assert!(problems.list().len() <= 100);
        assert!(problems.to_string().len() < 200_000);
    }
}

/// What a user sees.
#[test]
fn all_problems_of_a_file_are_reported_at_once() {
    let text = r#"titel = "t"
[workload]
kind = "dvdstore"
think_time = "250"
[load]
users = "50 per cpu"
steady = 60
repeats = 0
[qos]
p95 = "2s"
p99 = "1s"
[guest]
kind = "docker"
[host]
guest_cpus = "0-1"
driver_cpus = 1
[[layout]]
name = "a"
guests = [1, 1]
[[layout]]
name = "a"
vcpu = 2
"#;
    insta::assert_snapshot!(refuse(text).expect_err("broken"));
}

#[test]
fn problems_of_plans_are_reported_at_once() {
    let text = GOOD
        .replace("\"0-2\"", "\"0-1\"")
        .replace("vcpus = [0.5, 1]", "vcpus = [0.5, 4]")
        .replace("guests = [1, 2]", "guests = [1, 40]");
    insta::assert_snapshot!(refuse(&text).expect_err("contradictions"));
}
