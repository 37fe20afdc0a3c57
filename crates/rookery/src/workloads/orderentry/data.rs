//! `rookery data orderentry`: the files that databases load in bulk, and the SQL around them.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rookery_cast::{index, low_u32};
use rookery_diagnosis::Diagnosis;
use rookery_workload::orderentry::{
    Dialect, ParseTimestampError, Population, Scale, SchemaOptions, Table, Timestamp, after_load,
    create_tables,
    population::{Part, TextFormat},
};
use serde::Serialize;

use super::files::{Job, Plan, WriteError, write_all};
use crate::{
    exit::{Code, Failure},
    output,
    progress::bytes_bar,
    signals,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OrderentryFormat {
    /// Comma separated, for any database
    Csv,
    /// For COPY of PostgreSQL
    Copy,
    /// For LOAD DATA of MariaDB and MySQL
    LoadData,
}

#[derive(Debug, Args)]
pub(crate) struct DataOrderentryArgs {
    /// Number of warehouses, about 75 MB each
    #[arg(long, default_value_t = 1)]
    warehouses: u32,
    /// Directory to write to; it is made if it does not exist [default: orderentry-WAREHOUSES]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// For which bulk loader
    #[arg(long, value_enum, default_value_t = OrderentryFormat::Csv)]
    format: OrderentryFormat,
    /// Seed; the same seed gives the same bytes
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Divide the rows of each warehouse for a test database: 2, 4, 5, 10, 20, 25, 50 or 100
    #[arg(long, default_value_t = 1)]
    divisor: u32,
    /// Time of the load in the rows [default: 2000-01-01 00:00:00]
    #[arg(long, value_name = "TIME")]
    loaded_at: Option<String>,
    /// Threads [default: all CPUs]
    #[arg(long)]
    threads: Option<usize>,
    /// Replace files that exist
    #[arg(long)]
    overwrite: bool,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
    /// Say in JSON what was written
    #[arg(long)]
    json: bool,
}

/// What was written, for `--json`.
#[derive(Debug, Serialize)]
struct Report<'a> {
    directory: &'a Path,
    warehouses: u32,
    seed: u64,
    files: u64,
    rows: u64,
    bytes: u64,
    seconds: f64,
}

pub(crate) fn run(args: &DataOrderentryArgs) -> Result<Code, Failure> {
    let usage = |error: &dyn Diagnosis| Failure::from_error(Code::Usage, error);
    let scale = Scale::new(args.warehouses, args.divisor).map_err(|error| usage(&error))?;
    let loaded_at = args
        .loaded_at
        .as_deref()
        .map_or(Ok(Timestamp::DEFAULT_LOAD), str::parse);
    let population = Population {
        loaded_at: loaded_at.map_err(|error: ParseTimestampError| usage(&error))?,
        ..Population::new(scale, args.seed)
    };
    let format = Format(args.format);
    let stop = signals::stop_flag()?;
    let directory = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("orderentry-{}", args.warehouses)));
    let bar = bytes_bar(args.quiet || args.json);
    // Text takes about a tenth more than the values themselves.
    bar.set_length(scale.payload_bytes() / 10 * 11);
    let plan = Plan {
        directory: &directory,
        count: FIRST_PARTS.len() as u64 + PARTS.len() as u64 * u64::from(scale.warehouses()),
        job: &|number| job(&population, format, number),
        population: &population,
        format: format.text(),
        threads: args.threads,
        overwrite: args.overwrite,
        stop: &stop,
        progress: &|bytes| bar.inc(bytes),
    };
    let written = write_all(&plan)
        .and_then(|written| write_sql(&directory, &population, format).map(|()| written));
    bar.finish_and_clear();
    let written = written.map_err(|error| {
        let code = if signals::came(&stop) {
            Code::Interrupted
        } else {
            Code::Store
        };
        Failure::from_error(code, &error)
    })?;
    if args.json {
        return output::json(&Report {
            directory: &directory,
            warehouses: scale.warehouses(),
            seed: args.seed,
            files: written.files,
            rows: written.rows,
            bytes: written.bytes,
            seconds: written.seconds,
        });
    }
    let megabytes = written.bytes as f64 / 1e6;
    output::text(format!(
        "{} files, {} rows, {megabytes:.1} MB in {:.2} s: {:.0} MB/s to {}",
        written.files,
        written.rows,
        written.seconds,
        megabytes / written.seconds.max(1e-9),
        directory.display()
    ));
    Ok(Code::Done)
}

/// Tables with one file for all warehouses.
const FIRST_PARTS: [Table; 4] = [Table::Item, Table::Meta, Table::Warehouse, Table::District];

/// Tables with one file for each warehouse.
const PARTS: [Table; 6] = [
    Table::Stock,
    Table::Customer,
    Table::History,
    Table::Orders,
    Table::NewOrders,
    Table::OrderLine,
];

/// File `number` of a population, counted from 0.
fn job(population: &Population, format: Format, number: u64) -> Job {
    let warehouses = population.scale.warehouses();
    if let Some(&table) = usize::try_from(number)
        .ok()
        .and_then(|number| FIRST_PARTS.get(number))
    {
        let last = if matches!(table, Table::Warehouse | Table::District) {
            warehouses
        } else {
            0
        };
        return Job {
            name: format!("{}.{}", table.name(), format.ending()),
            parts: (last.min(1)..=last)
                .map(|warehouse| Part { table, warehouse })
                .collect(),
        };
    }
    let number = number - FIRST_PARTS.len() as u64;
    let part = Part {
        table: PARTS[index(number % PARTS.len() as u64)],
        warehouse: low_u32(number / PARTS.len() as u64) + 1,
    };
    Job {
        name: format.file(part.table, part.warehouse, warehouses),
        parts: vec![part],
    }
}

/// A format, and the database whose SQL goes with it.
#[derive(Clone, Copy)]
struct Format(OrderentryFormat);

impl Format {
    fn text(self) -> TextFormat {
        match self.0 {
            OrderentryFormat::Csv => TextFormat::Csv,
            OrderentryFormat::Copy => TextFormat::Copy,
            OrderentryFormat::LoadData => TextFormat::LoadData,
        }
    }

    fn dialect(self) -> Dialect {
        match self.0 {
            OrderentryFormat::Csv => Dialect::Generic,
            OrderentryFormat::Copy => Dialect::Postgresql,
            OrderentryFormat::LoadData => Dialect::Mariadb,
        }
    }

    fn ending(self) -> &'static str {
        match self.0 {
            OrderentryFormat::Csv => "csv",
            OrderentryFormat::Copy => "copy",
            OrderentryFormat::LoadData => "tsv",
        }
    }

    /// Numbers have as many digits as the largest, so that names sort like warehouses.
    fn file(self, table: Table, warehouse: u32, warehouses: u32) -> String {
        let digits = warehouses.ilog10() as usize + 1;
        format!("{}-{warehouse:0digits$}.{}", table.name(), self.ending())
    }

    /// The statement that loads a file, where the format belongs to one database.
    fn load(self, table: Table, file: &str) -> Option<String> {
        let columns: Vec<&str> = table
            .loaded_columns()
            .iter()
            .map(|column| column.name)
            .collect();
        let (name, columns) = (table.name(), columns.join(", "));
        match self.0 {
            OrderentryFormat::Csv => None,
            OrderentryFormat::Copy => Some(format!("\\copy {name} ({columns}) from '{file}'")),
            OrderentryFormat::LoadData => Some(format!(
                "LOAD DATA LOCAL INFILE '{file}' INTO TABLE {name} ({columns});"
            )),
        }
    }
}

/// Writes `schema.sql`, `load.sql` where there is one, and `after-load.sql`.
fn write_sql(directory: &Path, population: &Population, format: Format) -> Result<(), WriteError> {
    let options = SchemaOptions::default();
    let statements = |statements: Vec<String>| {
        statements
            .iter()
            .map(|text| format!("{text};\n"))
            .collect::<String>()
    };
    let mut load = String::new();
    if format.0 == OrderentryFormat::LoadData {
        load.push_str("SET foreign_key_checks = 0;\n");
    }
    let warehouses = population.scale.warehouses();
    let together = FIRST_PARTS
        .into_iter()
        .map(|table| (table, format!("{}.{}", table.name(), format.ending())));
    let apart = (1..=warehouses).flat_map(|warehouse| {
        PARTS.map(|table| (table, format.file(table, warehouse, warehouses)))
    });
    for (table, file) in together.chain(apart) {
        if let Some(statement) = format.load(table, &file) {
            load.push_str(&statement);
            load.push('\n');
        }
    }
    let mut files = vec![
        (
            "schema.sql",
            statements(create_tables(format.dialect(), options)),
        ),
        (
            "after-load.sql",
            statements(after_load(format.dialect(), options)),
        ),
    ];
    if format.0 != OrderentryFormat::Csv {
        files.push(("load.sql", load));
    }
    for (name, text) in files {
        let path = directory.join(name);
        std::fs::write(&path, text).map_err(|source| WriteError::file(&path, source))?;
    }
    Ok(())
}
