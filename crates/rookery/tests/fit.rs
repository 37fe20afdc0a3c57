//! `rookery fit` on anybody's measurements.

mod common;

use common::{Place, code, text};

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
    let (code, out, err) = fit(&place, PLATEAU, &[]);
    assert_eq!(code, 0, "{err}");
    contains(&out, &["Chosen: closed queue", "ceiling  240.48", "knee     12.3"]);
    assert!(!out.contains("peak "), "a plateau has no peak:\n{out}");
}

#[test]
fn what_the_data_cannot_carry_is_refused_with_the_reason() {
    let place = Place::new();
    let (_, out, _) = fit(&place, "users,rate\n10,100\n20,190\n", &[]);
    contains(
        &out,
        &[
            "No law",
            "F1",
            "2 distinct loads",
            "F2",
            "the largest load is 2.00 times the smallest",
        ],
    );
    let (_, out, _) = fit(&place, "users,rate\n1,10\n2,20.1\n4,39.9\n8,80.2\n16,159.9\n32,320.3\n", &[]);
    contains(&out, &["Chosen: linear", "F4", "no limit can be named"]);
    let (_, out, _) = fit(&place, "users,rate\n1,10\n2,24\n4,60\n8,110\n16,190\n32,300\n", &[]);
    contains(&out, &["F8", "cache"]);
}

#[test]
fn the_figure_is_one_page_that_needs_nothing_else() {
    let place = Place::new();
    let (code, out, err) = fit(&place, PEAKED, &["--html", "fit.html"]);
    assert_eq!(code, 0, "{err}");
    contains(&out, &["Figure: fit.html"]);
    let page = std::fs::read_to_string(place.dir.path().join("fit.html")).expect("the page");
    contains(&page, &["USL (chosen)", "Plotly.newPlot", "<td>1934</td>"]);
    assert!(
        !page.contains("<script src") && !page.contains("<link"),
        "nothing is loaded from elsewhere"
    );
}

#[test]
fn errors_name_place_and_mend() {
    let place = Place::new();
    let cases: [(&str, &[&str], &str); 6] = [
        ("users,rate\n1,2\n2,fast\n", &[], "runs.csv:3: `fast` in column `rate` is no number"),
        ("user,rate\n1,2\n", &[], "there is no column `users`"),
        ("users,rate\n1,-2\n", &[], "runs.csv:2: -2 in column `rate` is not above 0"),
        ("users,rate\n2,2\n4,4\n", &["--two-parameter"], "needs runs at load 1"),
        (PEAKED, &["--weights", "variance"], "three runs at every load"),
        (PEAKED, &["--html", "no/such/dir.html"], "cannot write no/such/dir.html"),
    ];
    for (csv, more, expected) in cases {
        let (code, _, err) = fit(&place, csv, more);
        assert!(code == 2 || code == 8, "{code}: {err}");
        contains(&err, &[expected, "mend:"]);
    }
}
