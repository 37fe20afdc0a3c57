//! The PHP pages of banking, e-commerce and support survive hostile input: a page or a clear 400,
//! no complaint of PHP, and nothing in the back-end's ledger.

#[path = "../../src/web2005/pages/hostile_words.rs"]
mod words;

use std::{fs, path::Path, sync::atomic::AtomicBool, thread};

use rookery_stack::{
    StopSignal,
    lamp::web2005::{SETTINGS_FILE, Settings, files},
    web2005::{
        BesimConfig, BesimServer, FilesetOptions, LedgerSync, StateKeeping, read_ledger,
        write_fileset,
    },
};
use rookery_workload::{
    RandomDelay,
    random::{RandomSource as _, SplitMix64},
    web2005::{
        Model,
        besim::{State, ledger::LedgerTotals},
        files::{Shape, pages},
    },
};
use tempfile::TempDir;
use words::{FIELDS, VALUES};

use crate::lamp_support::{
    php::{Answer, Php, expect_no_complaint},
    skipped,
};

/// Requests to the pages of each workload.
const REQUESTS: usize = 1_000;

/// The pages of one workload, their file set, and a back-end with a ledger.
struct Site {
    model: Model,
    dir: TempDir,
    php: Php,
    stop: StopSignal,
    backend: Option<thread::JoinHandle<()>>,
}

impl Site {
    fn start(model: Model) -> Self {
        let dir = TempDir::with_prefix("rk-").expect("a temporary directory");
        let scale = match model {
            Model::Banking => 0.04,
            Model::Ecommerce | Model::Support => 1.0,
        };
        let shape = Shape::new(model, 1, scale, 7).expect("a shape");
        let set = dir.path().join("files");
        let options = FilesetOptions {
            threads: 1,
            max_bytes: None,
            stop: &AtomicBool::new(false),
        };
        write_fileset(&set, &shape, &options, &|_| {}).expect("a file set");
        let state = State::new(7, &shape);
        let today = state.day();
        let server = BesimServer::bind(&BesimConfig {
            state,
            keeping: StateKeeping::Pure,
            delay: RandomDelay::default(),
            ledger: Some(dir.path().join("ledger.txt")),
            sync: LedgerSync::Process,
            listen: ([127, 0, 0, 1], 0).into(),
            workers: 1,
        })
        .expect("a back-end");
        let settings = Settings {
            model,
            files: set.to_str().expect("a path in UTF-8"),
            backend: &server.local_addr().to_string(),
            today,
            session_expiry_s: 600,
        };
        write_documents(&dir.path().join("htdocs"), &settings);
        let stop = StopSignal::new();
        let until = stop.clone();
        Self {
            model,
            php: Php::start(dir.path(), 2),
            dir,
            stop,
            backend: Some(thread::spawn(move || server.run(&until))),
        }
    }

    /// What the back-end has written; it is ended first.
    fn ledger(&mut self) -> LedgerTotals {
        self.end();
        read_ledger(&self.dir.path().join("ledger.txt")).expect("readable")
    }

    fn end(&mut self) {
        self.stop.raise();
        if let Some(backend) = self.backend.take() {
            backend.join().expect("the back-end ends");
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop.raise();
    }
}

fn write_documents(root: &Path, settings: &Settings<'_>) {
    let documents = files(settings.model);
    let own = [(SETTINGS_FILE.to_owned(), settings.php())];
    for (path, text) in documents.into_iter().chain(own) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
        fs::write(path, text).expect("a page");
    }
}

/// A request of no session to any page, as a query, a form, or both.
fn ask(site: &Site, random: &mut SplitMix64) -> (String, Answer, &'static str) {
    let mut draw = |count: usize| random.index(count);
    let all = pages(site.model);
    let page = &all[draw(all.len())];
    let file = if page.name == "home" {
        "index"
    } else {
        page.name
    };
    let mut pairs = [Vec::new(), Vec::new()];
    for _ in 0..draw(12) {
        let pair = format!(
            "{}={}",
            FIELDS[draw(FIELDS.len())],
            VALUES[draw(VALUES.len())]
        );
        pairs[draw(2)].push(pair);
    }
    let [query, form] = pairs.map(|pairs| pairs.join("&"));
    let target = format!("/{}/{file}.php?{query}", site.model.directory());
    let answer = match draw(2) {
        0 => site.php.get(&target),
        _ => site.php.post(&target, &form),
    };
    (format!("{target} {form}"), answer, page.name)
}

#[test]
fn hostile_input_is_answered_or_refused_and_writes_nothing() {
    if skipped() {
        return;
    }
    for model in Model::ALL {
        let mut site = Site::start(model);
        let mut random = SplitMix64::new(u64::from(model.number()));
        let (mut answered, mut refused) = (0, 0);
        for _ in 0..REQUESTS {
            let (asked, Answer { status, body }, page) = ask(&site, &mut random);
            // A file that is downloaded is no page, and one region leads to another.
            let allowed: &[u16] = match page {
                "download" => &[404],
                "index" => &[200, 307, 400],
                _ => &[200, 400],
            };
            assert!(allowed.contains(&status), "{asked}: {status}\n{body}");
            for injected in ["<script", "\"></pre>", "Warning", "Stack trace", "root:"] {
                assert!(!body.contains(injected), "{asked}: {injected}\n{body}");
            }
            answered += usize::from(status == 200);
            refused += usize::from(status == 400);
        }
        assert!(answered > 10 && refused > 10, "{answered} and {refused}");
        expect_no_complaint(site.dir.path());
        assert_eq!(site.ledger(), LedgerTotals::default(), "{}", model.name());
    }
}
