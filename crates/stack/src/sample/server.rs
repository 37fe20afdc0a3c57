//! Requests to the server of the sample workload.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use rookery_cast::index;
use rookery_workload::sample::{HEALTH_PATH, LIST_PATH, RECORD_PATH, WRITE_PATH};

use super::{
    records::{MOST_TEXT_BYTES, Records},
    working_set::WorkingSet,
};
use crate::http_server::{
    Answer, Content, HttpServer, HttpSite, Method, Request, ServerError, StopSignal,
};

/// A MiB in bytes.
const MIB: u64 = 1 << 20;

/// Most records of a list.
const MOST_LISTED: u32 = 1000;

/// What to serve and where.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// The file that [`load()`](super::load()) made.
    pub records: PathBuf,
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Worker threads, at least 1.
    pub workers: usize,
    /// Memory that requests touch in turn, MiB; 0 for none.
    pub working_set_mib: u64,
}

/// A server that listens already: clients may connect, and are answered once it runs.
pub struct Server {
    http: HttpServer,
    site: Arc<SampleSite>,
}

impl Server {
    /// Read the records, start the threads, and listen.
    ///
    /// # Errors
    /// When the records cannot be read, or the address is taken.
    pub fn bind(config: &ServeConfig) -> Result<Self, ServerError> {
        let records = Arc::new(Records::open(&config.records)?);
        Ok(Self {
            http: HttpServer::bind(config.listen, config.workers, "sample-worker")?,
            site: Arc::new(SampleSite {
                records,
                working_set: WorkingSet::new(index(config.working_set_mib.saturating_mul(MIB))),
            }),
        })
    }

    /// Where it listens, with the port that was taken.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.http.local_addr()
    }

    /// Serve until `stop` is raised, and let requests in flight finish (at most 5 s).
    pub fn run(self, stop: &StopSignal) {
        self.http.run(self.site, stop);
    }
}

struct SampleSite {
    records: Arc<Records>,
    working_set: WorkingSet,
}

impl HttpSite for SampleSite {
    type Answer = Answer;

    async fn answer(&self, request: Request<'_>) -> Answer {
        if request.method != Method::Get {
            return text(405, "only GET is answered here\n");
        }
        let field = |name: &str| {
            let pairs = request
                .query
                .split('&')
                .filter_map(|pair| pair.split_once('='));
            pairs
                .into_iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value)
        };
        let number = |name: &str| field(name)?.parse::<u32>().ok();
        if request.path != HEALTH_PATH {
            self.working_set.touch();
        }
        match request.path {
            HEALTH_PATH => text(200, "ok\n"),
            RECORD_PATH => match number("number") {
                Some(number) => self.read(number, 1),
                None => text(400, "`number` is missing\n"),
            },
            LIST_PATH => match (number("first"), number("count")) {
                (Some(first), Some(count)) => self.read(first, count.min(MOST_LISTED)),
                _ => text(400, "`first` or `count` is missing\n"),
            },
            WRITE_PATH => match field("text").filter(|text| is_text(text)) {
                Some(text) => self.write(text.to_owned()).await,
                None => text(
                    400,
                    "`text` is missing, too long, or more than letters and digits\n",
                ),
            },
            _ => text(404, "there is no such page\n"),
        }
    }

    fn refusal(status: u16, heading: &str, sentence: &str) -> Answer {
        text(status, &format!("{heading}: {sentence}\n"))
    }
}

impl SampleSite {
    fn read(&self, first: u32, count: u32) -> Answer {
        let mut body = String::new();
        match self.records.read(first, count, &mut body) {
            0 => text(404, "there is no such record\n"),
            _ => text(200, &body),
        }
    }

    /// The disk is waited for on a thread of its own: workers go on answering.
    async fn write(&self, record: String) -> Answer {
        let records = Arc::clone(&self.records);
        match tokio::task::spawn_blocking(move || records.write(&record)).await {
            Ok(Ok(number)) => text(200, &format!("written {number}\n")),
            Ok(Err(error)) => text(500, &format!("nothing was written: {error}\n")),
            Err(_) => text(500, "nothing was written: the server is ending\n"),
        }
    }
}

fn is_text(text: &str) -> bool {
    (1..=MOST_TEXT_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn text(status: u16, body: &str) -> Answer {
    Answer {
        status,
        content: Content::Text,
        body: body.as_bytes().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use rookery_workload::sample::{SampleData, check_list, check_record, check_written};

    use super::*;

    /// The answer to a GET of `path` and `query`, with ten records of 16 bytes.
    fn answer(path: &str, query: &str) -> Answer {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("records.txt");
        let data = SampleData {
            records: 10,
            record_bytes: 16,
        };
        super::super::load(&file, data).expect("loaded");
        let site = SampleSite {
            records: Arc::new(Records::open(&file).expect("opened")),
            working_set: WorkingSet::new(0),
        };
        let request = Request {
            method: Method::Get,
            path,
            query,
            form: "",
            headers: None,
        };
        tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime")
            .block_on(site.answer(request))
    }

    #[test]
    fn answers_keep_the_contract() {
        assert_eq!(check_record(&answer("/record", "number=7").body, 7), Ok(()));
        assert_eq!(
            check_list(&answer("/list", "first=7&count=3").body, 7, 3),
            Ok(())
        );
        assert_eq!(check_written(&answer("/write", "text=abc").body), Ok(11));
        assert_eq!(answer("/health", "").status, 200);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (path, query, status) in [
            ("/record", "number=11", 404),
            ("/record", "number=x", 400),
            ("/list", "first=7", 400),
            ("/write", "text=", 400),
            ("/write", "text=a%0Ab", 400),
            ("/other", "", 404),
        ] {
            assert_eq!(answer(path, query).status, status, "{path}?{query}");
        }
    }
}
