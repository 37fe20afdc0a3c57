//! `rookery fit` on anybody's measurements.

use crate::common::{Place, code, text};

/// Throughput with a peak; from the specification of models.
const PEAKED: &str = "users,host,rate\n1,a,1012\n2,a,1934\n4,a,3710\n8,a,6480\n12,a,8260\n16,a,9790\n24,a,11210\n32,a,11660\n";
/// Throughput with a plateau.
const PLATEAU: &str = "users;rate\n1;19.8\n2;39.1\n4;76.5\n8;142\n16;214\n32;246\n64;250\n";

fn fit(place: &Place, csv: &str, more: &[&str]) -> (i32, String, String) {
    let file = place.study("runs.csv", csv);
    let mut args = vec!["fit", &file, "--n", "users", "--x", "rate"];
    args.extend_from_slice(more);
    let output = place.rookery(&args).output().expect("rookery starts");
    (code(&output), text(&output.stdout), text(&output.stderr))
}

fn contains(out: &str, words: &[&str]) {
    for word in words {
        assert!(out.contains(word), "`{word}` is missing in:\n{out}");
    }
}

#[test]
fn a_peak_is_found_with_its_intervals_and_rivals() {
    let place = Place::new();
    let (code, out, err) = fit(&place, PEAKED, &["--at", "48", "--at", "65"]);
    assert_eq!(code, 0, "{err}");
    contains(
        &out,
        &[
            "8 runs at 8 loads",
            "Chosen: USL",
            "lambda   1018.7 (969.51 to 1067.9)",
            "sigma    0.032108",
            "peak     at 34.68 users (31.409 to 37.952)",
            "extrapolated",
            "last value",
            "lost: larger error",
            "at 48: 11307 rate (10840 to 11774)",
            "F13  at 65: refused",
        ],
    );
}

#[test]
fn a_plateau_goes_to_the_queueing_model() {
    let place = Place::new();
    let (code, out, err) = fit(&place, PLATEAU, &["--at", "128"]);
    assert_eq!(code, 0, "{err}");
    contains(
        &out,
        &[
            "Chosen: closed queue",
            "ceiling  240.48 (",
            "knee     12.3",
            "at 128: 240.48 rate (",
        ],
    );
    contains(&out, &["USL           lambda 23.227 (", "kappa 0.00054643"]);
    assert!(!out.contains("  peak  "), "a plateau has no peak:\n{out}");
}

#[test]
fn what_the_data_cannot_carry_is_refused_with_the_reason() {
    let place = Place::new();
    let (_, out, _) = fit(&place, "users,rate\n10,100\n20,190\n", &[]);
    contains(
        &out,
        &[
            "Chosen: linear",
            "F1   Amdahl refused: 2 distinct loads; 2 parameters need 4",
            "F2",
            "the largest load is 2.00 times the smallest",
        ],
    );
    let (code, out, _) = fit(&place, "users,rate\n10,100\n", &[]);
    assert_eq!(code, 11, "no law is no answer");
    contains(&out, &["No law", "F1", "1 distinct load;"]);
    assert!(
        !out.contains("sigma"),
        "no parameters of a refused law:\n{out}"
    );
    let (_, out, _) = fit(
        &place,
        "users,rate\n1,10\n2,20.1\n4,39.9\n8,80.2\n16,159.9\n32,320.3\n",
        &[],
    );
    contains(&out, &["Chosen: linear", "F4", "no limit can be named"]);
    let (_, out, _) = fit(
        &place,
        "users,rate\n1,10\n2,24\n4,60\n8,110\n16,190\n32,300\n",
        &[],
    );
    contains(&out, &["F8", "cache"]);
}

/// SPEC SDM91; see the tests of the models for its source.
const SDM91: &str =
    "load,throughput\n1,64.9\n18,995.9\n36,1652.4\n72,1853.2\n108,1828.9\n144,1775.0\n216,1702.2\n";

#[test]
fn published_parameters_are_printed_by_every_method() {
    let place = Place::new();
    let file = place.study("sdm91.csv", SDM91);
    let output = place
        .rookery(&["fit", &file, "--n", "LOAD", "--x", "2"])
        .output()
        .expect("rookery starts");
    let out = text(&output.stdout);
    contains(
        &out,
        &[
            "least squares, lambda free              89.995    0.027728 (0.0091217)  0.00010437 \
             (0.000019875)",
            "least squares, lambda = X(1)              64.9    0.012605",
            "Gunther's transform, lambda = X(1)        64.9    0.017047 (0.0033184) 0.000078925 \
             (0.000024918)",
        ],
    );
    // A refused law shows its parameters to whoever asks, and to nobody else.
    let straight = "users,rate\n1,10\n2,20.1\n4,39.9\n8,80.2\n16,159.9\n32,320.3\n";
    let (_, out, _) = fit(&place, straight, &[]);
    assert!(!out.contains("sigma"), "{out}");
    let (_, out, _) = fit(&place, straight, &["--published"]);
    contains(&out, &["Gunther's transform", "USL is refused below"]);
}

#[test]
fn files_of_many_hands_give_the_same_answer() {
    let place = Place::new();
    let (_, plain, _) = fit(&place, PEAKED, &[]);
    let rows: Vec<Vec<&str>> = PEAKED
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    let written = |row: &dyn Fn(&str, &str) -> String, head: &str, end: &str| {
        let rows = rows.iter().rev().map(|cells| row(cells[0], cells[2]));
        std::iter::once(head.to_owned())
            .chain(rows)
            .collect::<Vec<_>>()
            .join(end)
    };
    let thousands = |x: &str, mark: char| match x.len() {
        4.. => format!("{}{mark}{}", &x[..x.len() - 3], &x[x.len() - 3..]),
        _ => x.to_owned(),
    };
    let files = [
        written(&|n, x| format!("{n};{x},0"), "\u{feff}Users;Rate", "\r\n"),
        written(
            &|n, x| format!("\"{}\",{n},\"a, \"\"b\"\"\"", thousands(x, ',')),
            "\"rate\",users,note",
            "\n",
        ),
        written(
            &|n, x| format!("{n}\t{}", thousands(x, '\u{a0}')),
            "# measured twice\nusers\trate",
            "\n\n",
        ),
        written(&|n, x| format!("  {n}   {x}e0"), "# users rate", "\n"),
        written(
            &|n, x| format!("{n}|{},00", thousands(x, '.')),
            "users|rate",
            "\r",
        ),
    ];
    for file in files {
        let (code, out, err) = fit(&place, &file, &[]);
        assert_eq!(code, 0, "{file:?}: {err}");
        // The file's own letters are kept.
        assert_eq!(out.to_lowercase(), plain.to_lowercase(), "{file:?}");
    }
    let wide: Vec<u8> = std::iter::once('\u{feff}')
        .chain(PEAKED.chars())
        .flat_map(|c| (c as u16).to_le_bytes())
        .collect();
    std::fs::write(place.dir.path().join("wide.csv"), wide).expect("written");
    let wide = place
        .rookery(&["fit", "wide.csv", "--n", "users", "--x", "rate"])
        .output()
        .expect("rookery starts");
    assert_eq!(text(&wide.stdout), plain);
}

#[test]
fn runs_that_do_not_count_are_left_out_and_told() {
    let place = Place::new();
    let marked = PEAKED
        .replace(",rate", ",rate,void")
        .replace("1012\n", "1012,ok\n")
        + "64,b,900,driver bound\n";
    let (code, out, err) = fit(&place, &marked, &["--exclude", "void"]);
    assert_eq!(code, 0, "{err}");
    contains(
        &out,
        &[
            "Chosen: USL",
            "lambda   1018.7",
            "F11  data: 1 run does not count: driver bound (at 64)",
        ],
    );
    let (code, _, err) = fit(&place, "users,rate,void\n1,2,bad\n", &["--exclude", "void"]);
    assert_eq!(code, 2);
    contains(&err, &["the column `void` leaves no run", "help:"]);
}

#[test]
fn the_figure_is_one_page_that_needs_nothing_else() {
    let place = Place::new();
    let (code, out, err) = fit(&place, PEAKED, &["--html", "fit.html"]);
    assert_eq!(code, 0, "{err}");
    contains(&out, &["Figure: fit.html"]);
    let page = std::fs::read_to_string(place.dir.path().join("fit.html")).expect("the page");
    contains(&page, &["USL (chosen)", "Plotly.react", "<td>1934</td>"]);
    assert!(
        !page.contains("<script src") && !page.contains("<link rel=\"stylesheet"),
        "nothing is loaded from elsewhere"
    );
}

#[test]
fn errors_name_place_and_help() {
    let place = Place::new();
    let cases: [(&str, &[&str], &str, &str); 8] = [
        (
            "users;rate\n1;1,012\n2;1,934\n",
            &[],
            "`1,012` may be 1012 or 1.012",
            "runs.csv:2",
        ),
        (
            "users,rate\n1,\"2\n",
            &[],
            "a quote is opened and never closed",
            "runs.csv:2",
        ),
        (
            "users,rate\n1,2\n2,fast\n",
            &[],
            "`fast` in column `rate` is no number",
            "runs.csv:3",
        ),
        (
            "user,rate\n1,2\n",
            &[],
            "there is no column `users`",
            "runs.csv:1",
        ),
        (
            "users,rate\n1,-2\n",
            &[],
            "-2 in column `rate` is not above 0",
            "runs.csv:2",
        ),
        (
            "users,rate\n2,2\n4,4\n",
            &["--two-parameter"],
            "needs runs at load 1",
            "",
        ),
        (
            PEAKED,
            &["--weights", "variance"],
            "three runs at every load",
            "",
        ),
        (
            PEAKED,
            &["--html", "no/such/dir.html"],
            "cannot write no/such/dir.html",
            "",
        ),
    ];
    for (csv, more, expected, at) in cases {
        let (code, _, err) = fit(&place, csv, more);
        assert!(code == 2 || code == 8, "{code}: {err}");
        contains(&err, &[expected, at, "help:"]);
    }
}
