//! The log: `run.log` of a run at debug, and what `-v` or `RUST_LOG` puts on standard error.

use std::{
    fs::File,
    io::{self, Write, stderr},
    path::Path,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use rookery_host::without_links;
use tracing_subscriber::{
    EnvFilter, Layer, Registry, layer::SubscriberExt, util::SubscriberInitExt,
};

use crate::exit::{Code, Failure};

/// Name of the log in a run's directory.
pub(crate) const FILE: &str = "run.log";
/// Most bytes that are kept of what is logged before the run's directory is known.
const MOST_WAITING: usize = 1 << 20;
/// The variable with filters for standard error, such as `debug` or `rookery_guest=trace`.
const VARIABLE: &str = "RUST_LOG";

/// The file of the log, of which a process has one.
static LOG_FILE: LogFile = LogFile(Mutex::new(Sink::Waiting(Vec::new())));
/// Whether standard error carries the log.
static ON_TERMINAL: OnceLock<bool> = OnceLock::new();

/// Begin to log. `verbose` counts the `-v`; `to_file` says that a file will be named by
/// [`write_to`].
///
/// # Errors
/// When `RUST_LOG` is set and cannot be read.
pub(crate) fn begin(verbose: u8, to_file: bool) -> Result<(), Failure> {
    let asked = terminal_filter(verbose)?;
    let _ = ON_TERMINAL.set(asked.is_some());
    let terminal = asked.map(|filter| {
        // Colours are not compiled in: the text is the same on a terminal and in a pipe.
        tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(stderr)
            .with_filter(filter)
    });
    let file = to_file.then(|| {
        tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(|| LogLine(LOG_FILE.sink()))
            .with_filter(EnvFilter::new("rookery=debug"))
    });
    // A second call finds the first one's subscriber at work, which is as good.
    let _ = Registry::default().with(terminal).with(file).try_init();
    Ok(())
}

/// What goes to standard error; `None` = nothing.
fn terminal_filter(verbose: u8) -> Result<Option<EnvFilter>, Failure> {
    if let Some(text) = std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) {
        let text = text.to_string_lossy();
        return match EnvFilter::try_new(&text) {
            Ok(filter) => Ok(Some(filter)),
            Err(error) => Err(
                Failure::new(Code::Usage, format!("{VARIABLE}={text}: {error}"))
                    .help("write a level such as debug, or a crate and a level: rookery_lab=trace"),
            ),
        };
    }
    Ok(match verbose {
        0 => None,
        1 => Some(EnvFilter::new("rookery=info")),
        2 => Some(EnvFilter::new("rookery=debug")),
        _ => Some(EnvFilter::new("rookery=trace")),
    })
}

/// Whether standard error carries the log: a progress bar would be torn apart by its lines.
pub(crate) fn on_terminal() -> bool {
    ON_TERMINAL.get() == Some(&true)
}

/// Append the log to the file at `path` from now on, what was logged so far first.
///
/// # Errors
/// When the file cannot be opened or written, or is reached through a symbolic link.
pub(crate) fn write_to(path: &Path) -> io::Result<()> {
    let mut file = without_links::append(path)?;
    let mut sink = LOG_FILE.sink();
    if let Sink::Waiting(waiting) = &*sink {
        file.write_all(waiting)?;
    }
    *sink = Sink::File(file);
    Ok(())
}

/// Where the log goes.
enum Sink {
    /// Nowhere yet.
    Waiting(Vec<u8>),
    File(File),
}

/// The file of the log, written a line at a time by any thread.
struct LogFile(Mutex<Sink>);

impl LogFile {
    fn sink(&self) -> MutexGuard<'_, Sink> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One line on its way to the file.
struct LogLine<'a>(MutexGuard<'a, Sink>);

impl Write for LogLine<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.0 {
            Sink::File(file) => file.write(bytes),
            Sink::Waiting(waiting) => {
                if waiting.len() + bytes.len() <= MOST_WAITING {
                    waiting.extend_from_slice(bytes);
                }
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        // Every line is one write: there is nothing to flush.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_logged_before_the_file_is_known_is_kept_within_bounds() {
        let log = LogFile(Mutex::new(Sink::Waiting(Vec::new())));
        LogLine(log.sink()).write_all(b"early\n").expect("kept");
        LogLine(log.sink())
            .write_all(&vec![b'x'; MOST_WAITING])
            .expect("dropped");
        let sink = log.sink();
        assert!(matches!(&*sink, Sink::Waiting(waiting) if waiting == b"early\n"));
    }
}
