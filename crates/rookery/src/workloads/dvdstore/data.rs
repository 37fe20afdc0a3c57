//! `rookery data dvdstore`: the load files.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    thread,
};

use clap::{Args, ValueEnum};
use rookery_stack::dvdstore_files::{self, FileKind, FileOptions};
use rookery_workload::dvdstore::{ParseSizeError, Size, data};
use sha2::{Digest, Sha256};

use super::words::{self, WordArgs};
use crate::{
    exit::{Code, Failure},
    output,
    progress::bytes_bar,
    signals,
};

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CustomerRandom {
    /// As the published files were made
    Newlib,
    /// As the generator makes them on Linux
    Gnu,
}

#[derive(Debug, Args)]
pub(crate) struct DataDvdstoreArgs {
    /// S, M, L, or a whole number with MB or GB
    #[arg(long, default_value = "10MB")]
    size: String,
    /// Directory to write to; it is made if it does not exist [default: dvdstore-SIZE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Random generator of the customers
    #[arg(long, value_enum, default_value_t = CustomerRandom::Newlib)]
    customers: CustomerRandom,
    /// End lines with CR LF
    #[arg(long)]
    crlf: bool,
    /// Threads [default: all CPUs]
    #[arg(long)]
    threads: Option<usize>,
    /// Replace files that exist
    #[arg(long)]
    overwrite: bool,
    /// Print SHA-256 digests of the files; up to 100MB they are printed anyway
    #[arg(long)]
    digests: bool,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    words: WordArgs,
}

/// Up to this nominal size digests cost no time worth asking for.
const DIGESTS_UP_TO_MB: u64 = 100;

pub(crate) fn run(args: &DataDvdstoreArgs) -> Result<Code, Failure> {
    let size: Size = args
        .size
        .parse()
        .map_err(|error: ParseSizeError| Failure::from_error(Code::Usage, &error))?;
    let words = words::lists(&args.words)?;
    let stop = signals::stop_flag()?;
    let options = FileOptions {
        words: &words,
        customers: match args.customers {
            CustomerRandom::Newlib => data::CustomerRandom::Newlib,
            CustomerRandom::Gnu => data::CustomerRandom::Gnu,
        },
        line_end: if args.crlf {
            data::LineEnd::Windows
        } else {
            data::LineEnd::Unix
        },
        threads: args
            .threads
            .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)),
        overwrite: args.overwrite,
        ..FileOptions::new(&stop)
    };
    let bar = bytes_bar(args.quiet);
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("dvdstore-{size}")));
    let written = dvdstore_files::write_all(&out, size, &options, &|progress| {
        bar.set_length(progress.expected_bytes);
        bar.set_position(progress.bytes);
    });
    bar.finish_and_clear();
    let written = written.map_err(|error| {
        let code = if signals::came(&stop) {
            Code::Interrupted
        } else {
            Code::Store
        };
        Failure::from_error(code, &error)
    })?;
    if args.digests || size.megabytes() <= DIGESTS_UP_TO_MB {
        print_digests(&out)?;
    }
    let megabytes = written.bytes as f64 / 1e6;
    output::result(format!(
        "{} files, {} rows, {megabytes:.1} MB in {:.2} s: {:.0} MB/s to {}",
        written.files,
        written.rows,
        written.seconds,
        megabytes / written.seconds.max(1e-9),
        out.display()
    ));
    Ok(Code::Done)
}

/// Digests of every file, and of the twelve files of a kind in the order of the months, as the
/// kit's are published.
fn print_digests(out: &Path) -> Result<(), Failure> {
    for kind in FileKind::ALL {
        let names = kind.file_names();
        let mut all = Sha256::new();
        for name in &names {
            let mut one = Sha256::new();
            read_into(&out.join(name), &mut [&mut one, &mut all]).map_err(|error| {
                Failure::new(Code::Store, format!("cannot read {name} again: {error}"))
            })?;
            output::result(format!("{}  {name}", hex(one)));
        }
        if names.len() == 12 {
            let kind = names[0].trim_start_matches("jan_");
            output::result(format!("{}  all twelve {kind}", hex(all)));
        }
    }
    Ok(())
}

fn read_into(path: &Path, digests: &mut [&mut Sha256]) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        for digest in digests.iter_mut() {
            digest.update(&buffer[..length]);
        }
    }
}

fn hex(digest: Sha256) -> String {
    digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
