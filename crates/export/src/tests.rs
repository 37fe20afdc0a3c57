//! Tests over the stored runs of earlier versions: every table, in every format.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use parquet::{file::reader::FileReader as _, file::reader::SerializedFileReader, record::Row};
use rookery_analysis::Analysis;
use rookery_store::{Cell, Store};
use tempfile::TempDir;

use crate::{CsvFiles, JsonDocument, ParquetFiles, TABLES, write};

const RUNS: [&str; 16] = [
    "bare",
    "container",
    "interrupted",
    "lamp",
    "lamp-bare",
    "layers",
    "layers-vm",
    "mariadb",
    "open",
    "partly-open",
    "pool",
    "postgresql",
    "search",
    "simulated",
    "sqlite",
    "void",
];

fn stored(name: &str) -> (TempDir, Store) {
    let dir = TempDir::new().expect("a temporary directory");
    let path = dir.path().join("run.sqlite");
    let from = format!("../store/tests/data/v5/{name}.sqlite");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(from), &path).expect("a stored run");
    let store = Store::open_read_only(&path).expect("a store");
    (dir, store)
}

fn exported_csv(store: &Store, dir: &TempDir) -> PathBuf {
    let out = dir.path().join("export");
    write(
        store,
        &mut CsvFiles::create(&out).expect("a folder"),
        TABLES,
    )
    .expect("an export");
    out
}

fn exported_json(store: &Store) -> serde_json::Value {
    let mut document = JsonDocument::begin(Vec::new(), Path::new("memory")).expect("begun");
    write(store, &mut document, TABLES).expect("an export");
    serde_json::from_slice(&document.finish().expect("ended")).expect("JSON")
}

/// What a cell says, the same for every format.
fn words(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Null => "null".to_owned(),
        Cell::Whole(number) => number.to_string(),
        Cell::Number(number) => format!("{number:?}"),
        Cell::Flag(flag) => flag.to_string(),
        Cell::Text(text) => format!("{text:?}"),
    }
}

fn parquet_words(row: &Row) -> Vec<String> {
    use parquet::record::Field;
    row.get_column_iter()
        .map(|(_, field)| match field {
            Field::Null => "null".to_owned(),
            Field::Long(number) => number.to_string(),
            Field::Double(number) => format!("{number:?}"),
            Field::Bool(flag) => flag.to_string(),
            Field::Str(text) => format!("{text:?}"),
            other => panic!("a field of another kind: {other:?}"),
        })
        .collect()
}

fn json_words(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "null".to_owned(),
        serde_json::Value::Bool(flag) => flag.to_string(),
        serde_json::Value::Number(number) if number.is_f64() => {
            format!("{:?}", number.as_f64().expect("a double"))
        }
        serde_json::Value::Number(number) => number.to_string(),
        serde_json::Value::String(text) => format!("{text:?}"),
        other => panic!("a nested value: {other}"),
    }
}

#[test]
fn names_are_unique_and_say_units() {
    let tables: BTreeSet<&str> = TABLES.iter().map(|table| table.name).collect();
    assert_eq!(tables.len(), TABLES.len());
    for table in TABLES {
        let columns: BTreeSet<&str> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(columns.len(), table.columns.len(), "{}", table.name);
        for column in table.columns {
            let unit = ["_us", "_msec", "_json", "position"];
            assert!(
                !unit.iter().any(|end| column.name.ends_with(end)),
                "{}.{}",
                table.name,
                column.name
            );
            assert!(
                column.meaning.ends_with('.'),
                "{}.{}",
                table.name,
                column.name
            );
        }
    }
}

#[test]
fn every_format_holds_the_same_rows_of_the_same_tables() {
    for name in RUNS {
        let (dir, store) = stored(name);
        let json = exported_json(&store);
        let files = dir.path().join("parquet");
        let mut writer = ParquetFiles::create(&files).expect("a folder");
        write(&store, &mut writer, TABLES).expect("an export");
        let csv = exported_csv(&store, &dir);
        for table in TABLES {
            let mut rows: Vec<Vec<String>> = Vec::new();
            table
                .visit(&store, &mut |cells| {
                    assert_eq!(cells.len(), table.columns.len(), "{name}: {}", table.name);
                    rows.push(cells.iter().map(words).collect());
                    Ok(())
                })
                .expect("a whole table");
            let objects = json[table.name].as_array().expect("a list of rows");
            let of_json: Vec<Vec<String>> = objects
                .iter()
                .map(|row| {
                    let of = |column: &crate::Column| json_words(&row[column.name]);
                    table.columns.iter().map(of).collect()
                })
                .collect();
            assert_eq!(of_json, rows, "{name}: {}", table.name);
            let file = fs::File::open(files.join(format!("{}.parquet", table.name)));
            let reader = SerializedFileReader::new(file.expect("a file")).expect("a Parquet file");
            let of_parquet: Vec<Vec<String>> = reader
                .get_row_iter(None)
                .expect("rows")
                .map(|row| parquet_words(&row.expect("a row")))
                .collect();
            assert_eq!(of_parquet, rows, "{name}: {}", table.name);
            let text = fs::read_to_string(csv.join(format!("{}.csv", table.name)));
            let text = text.expect("a file");
            let head: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
            assert_eq!(text.lines().next(), Some(head.join(",").as_str()));
            for row in rows.iter().flatten() {
                let nested = row.starts_with("\"{") || row.starts_with("\"[{");
                assert!(!nested, "{name}: {}: JSON in a cell: {row}", table.name);
            }
        }
    }
}

#[test]
fn results_are_the_numbers_of_the_report() {
    for name in RUNS {
        let (_dir, store) = stored(name);
        let analysis = Analysis::from_store(&store).expect("a whole run");
        let json = exported_json(&store);
        let rows = json["results"].as_array().expect("rows");
        for summary in &analysis.points {
            let own = |metric: &str| {
                rows.iter().find(|row| {
                    row["point"] == summary.point.id
                        && row["search"].is_null()
                        && row["metric"] == metric
                })
            };
            let Some(estimate) = summary.per_minute else {
                assert!(own("throughput").is_none(), "{name}");
                continue;
            };
            let row = own("throughput").expect("throughput");
            assert_eq!(row["mean"].as_f64(), Some(estimate.mean), "{name}");
            assert_eq!(
                row["low"].as_f64(),
                estimate.ends.map(|ends| ends.0),
                "{name}"
            );
            assert_eq!(row["n"], summary.done, "{name}");
            assert_eq!(row["limits"] == "met", summary.limits.held(), "{name}");
            for rate in &summary.trials {
                let trials = json["trials"].as_array().expect("trials");
                let trial = trials.iter().find(|row| row["trial"] == rate.trial);
                let carried = &trial.expect("the trial")["throughput_per_min"];
                assert_eq!(carried.as_f64(), Some(rate.per_minute), "{name}");
            }
        }
        for search in &analysis.searches {
            let row = rows
                .iter()
                .find(|row| row["search"] == search.id && row["metric"] == "largest_load");
            let load = search.load;
            assert_eq!(row.expect("its load")["mean"].as_f64(), load, "{name}");
        }
    }
}

#[test]
fn tables_are_chosen_by_name_and_large_ones_only_so() {
    let names = |chosen: &[&str]| {
        let chosen: Vec<String> = chosen.iter().map(|name| (*name).to_owned()).collect();
        crate::chosen(&chosen).map(|tables| tables.iter().map(|table| table.name).collect())
    };
    let usual: Vec<&str> = names(&[]).expect("tables");
    assert_eq!(usual.len(), TABLES.len() - 1);
    assert!(!usual.contains(&"histograms"));
    assert_eq!(names(&["histograms"]).expect("a table"), ["histograms"]);
    assert!(names(&["bills"]).is_err());
}

#[test]
fn histograms_add_up_to_their_operations() {
    let (_dir, store) = stored("bare");
    let json = exported_json(&store);
    let sum = |operation: &serde_json::Value| -> u64 {
        let buckets = json["histograms"].as_array().expect("buckets").iter();
        buckets
            .filter(|bucket| bucket["time"] == "service")
            .filter(|bucket| {
                ["trial", "guest", "operation"]
                    .iter()
                    .all(|key| bucket[*key] == operation[*key])
            })
            .map(|bucket| bucket["count"].as_u64().expect("a count"))
            .sum()
    };
    for operation in json["operations"].as_array().expect("operations") {
        let timed = operation["succeeded"].as_u64().expect("a count")
            + operation["unfinished"].as_u64().expect("a count");
        assert_eq!(sum(operation), timed, "{operation}");
    }
}

#[test]
fn trials_have_flags_words_and_quoted_text() {
    let (dir, store) = stored("void");
    let out = exported_csv(&store, &dir);
    let csv = |name: &str| fs::read_to_string(out.join(name)).expect("a file of the export");
    assert!(
        csv("limits.csv").contains(",met,false,true"),
        "{}",
        csv("limits.csv")
    );
    assert!(
        csv("trials.csv").contains(",void,"),
        "{}",
        csv("trials.csv")
    );
    assert!(
        csv("audits.csv").contains(",false,true,"),
        "{}",
        csv("audits.csv")
    );
}

/// Blocks of a language in the page about exports.
fn documented(language: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/exports.md");
    let text = fs::read_to_string(page).expect("docs/exports.md");
    let opening = format!("```{language}\n");
    text.split(&opening)
        .skip(1)
        .map(|block| block.split("```").next().unwrap_or_default().to_owned())
        .collect()
}

/// What a Python program says beside an export; Debian's, where `.ci/run` installs pandas.
fn python(program: &str, beside: &Path) -> String {
    let output = Command::new("/usr/bin/python3")
        .args(["-c", program])
        .current_dir(beside)
        .output()
        .expect("python3 starts");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program}\n{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Label and mean of the report's best point.
fn best(store: &Store) -> (String, f64) {
    let analysis = Analysis::from_store(store).expect("a whole run");
    let leader = analysis.best.within_limits.or(analysis.best.highest);
    let leader = leader.expect("a measured point").point;
    let summary = analysis
        .points
        .iter()
        .find(|summary| summary.point.id == leader);
    let summary = summary.expect("the point");
    let mean = summary.per_minute.expect("throughput").mean;
    (summary.point.label.clone(), mean)
}

#[test]
fn the_documented_lines_of_plain_python_find_the_best_point() {
    for name in ["bare", "mariadb", "simulated", "layers"] {
        let (dir, store) = stored(name);
        exported_csv(&store, &dir);
        let (label, mean) = best(&store);
        let programs = documented("python");
        let plain = programs
            .iter()
            .find(|program| program.starts_with("import csv"));
        let told = python(plain.expect("the lines with csv"), dir.path());
        assert!(
            told.starts_with(&format!("{label} {mean} ")),
            "{name}: {told}"
        );
    }
}

#[test]
fn the_documented_lines_of_pandas_run() {
    if std::env::var_os("ROOKERY_SKIP_PANDAS_TESTS").is_some_and(|value| value == "1") {
        eprintln!("SKIPPED on request: ROOKERY_SKIP_PANDAS_TESTS=1");
        return;
    }
    let (dir, store) = stored("simulated");
    exported_csv(&store, &dir);
    let (label, mean) = best(&store);
    let programs = documented("python");
    let mut with_pandas = programs
        .iter()
        .filter(|program| program.starts_with("import pandas"));
    let wide =
        "import pandas\npandas.set_option('display.width', 1000, 'display.max_columns', 20)\n";
    let first = with_pandas.next().expect("the lines with pandas");
    let told = python(&format!("{wide}{first}"), dir.path());
    let digits: String = format!("{mean:.2}");
    assert!(
        told.contains(&label) && told.contains(&digits[..4]),
        "{told}, {mean}"
    );
    for program in with_pandas {
        assert!(python(program, dir.path()).contains("1.0"));
    }
}
