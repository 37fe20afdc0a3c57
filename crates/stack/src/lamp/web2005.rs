//! The pages of banking, e-commerce and support in PHP: `stacks/lamp/pages/web2005`, embedded.
//!
//! They keep the same contract as the embedded server, value for value (`docs/web2005-pages.md`).
//! Images and downloads are Apache's.
//! Each page is a file of its own that calls what all pages of its workload share.

use rookery_study::WebServer;
use rookery_workload::web2005::{
    Day, Model,
    files::{PageFiles, pages},
};

use super::{
    Software, Tuned,
    config::{EncryptedPort, Site, serving},
};
use crate::SupervisedService;

/// What pages share: path below the document root, and text.
const SHARED: [(&str, &str); 4] = [
    (
        "web2005/common.php",
        include_str!("../../../../stacks/lamp/pages/web2005/common.php"),
    ),
    (
        "web2005/banking.php",
        include_str!("../../../../stacks/lamp/pages/web2005/banking.php"),
    ),
    (
        "web2005/ecommerce.php",
        include_str!("../../../../stacks/lamp/pages/web2005/ecommerce.php"),
    ),
    (
        "web2005/support.php",
        include_str!("../../../../stacks/lamp/pages/web2005/support.php"),
    ),
];

/// Path of the pages' settings below the document root.
pub const SETTINGS_FILE: &str = "web2005/config.php";

/// Settings of the pages of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings<'a> {
    /// The workload.
    pub model: Model,
    /// Root of the file set, an absolute path.
    pub files: &'a str,
    /// Address and port of the back-end.
    pub backend: &'a str,
    /// The day of the back-end's reset, of which users' orders and transfers are.
    pub today: Day,
    /// How long after its last request a session is forgotten, seconds.
    pub session_expiry_s: u32,
}

/// Every file of the pages of a workload, without its settings: path below the document root, and
/// text.
#[must_use]
pub fn files(model: Model) -> Vec<(String, String)> {
    let shared = SHARED
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    let call = model.name();
    let of_pages = pages(model)
        .iter()
        .filter(|page| page.name != "download")
        .map(|page| {
            let file = match page.name {
                "home" => "index",
                name => name,
            };
            (
                format!("{}/{file}.php", model.directory()),
                format!(
                    "<?php\nrequire __DIR__ . '/../web2005/{call}.php';\n\
                     serve(fn () => {call}('{}'));\n",
                    page.name
                ),
            )
        });
    let of_server = [("health.php", "health"), ("init.php", "init")].map(|(path, function)| {
        let page =
            format!("<?php\nrequire __DIR__ . '/web2005/common.php';\nserve({function}(...));\n");
        (path.to_owned(), page)
    });
    shared.chain(of_pages).chain(of_server).collect()
}

impl Settings<'_> {
    /// The text of [`SETTINGS_FILE`].
    #[must_use]
    pub fn php(&self) -> String {
        let pages: String = pages(self.model).iter().map(page_line).collect();
        format!(
            "<?php\nreturn [\n    'number' => {},\n    'model' => '{}',\n    'directory' => '{}',\n    'files' => {},\n    \
             'backend' => {},\n    'today' => '{}',\n    'session_expiry_s' => {},\n    \
             'pages' => [\n{pages}    ],\n];\n",
            self.model.number(),
            self.model.name(),
            self.model.directory(),
            quoted(self.files),
            quoted(self.backend),
            self.today,
            self.session_expiry_s,
        )
    }
}

/// The service of a guest whose Apache and PHP serve the pages, with the back-end at the address of
/// the settings, and also at the `encrypted` port, where there is one; `backend` is that of this
/// guest, where it has one, as arguments of this program.
#[must_use]
pub(crate) fn service(
    software: &Software,
    tuned: &Tuned,
    server: WebServer,
    settings: &Settings<'_>,
    encrypted: Option<EncryptedPort>,
    backend: Option<&[String]>,
) -> SupervisedService {
    let mut documents = files(settings.model);
    documents.push((SETTINGS_FILE.to_owned(), settings.php()));
    let directory = settings.model.directory();
    let alias = |name: &str| {
        (
            format!("/{directory}/{name}"),
            format!("{}/{directory}/{name}", settings.files),
        )
    };
    let served = match settings.model {
        Model::Banking | Model::Ecommerce => vec![alias("images")],
        Model::Support => vec![alias("images"), alias("downloads")],
    };
    let site = Site {
        documents,
        private: vec!["web2005".to_owned()],
        aliases: served,
        encrypted,
        first: backend.map_or(String::new(), |args| {
            backend_service(args, settings.backend)
        }),
        files: Vec::new(),
        ..Site::default()
    };
    serving(software, tuned, server, site)
}

/// The back-end beside the pages, as a services file has it.
fn backend_service(args: &[String], address: &str) -> String {
    let words: Vec<String> = args.iter().map(|arg| format!("\"{arg}\"")).collect();
    format!(
        "\n[[service]]\nname = \"back-end\"\nown_program = true\ncommand = [{}]\nready = \
         \"tcp:{address}\"\nready_within_ms = 60000\nstop_signal = \"TERM\"\ngrace_ms = 10000\n",
        words.join(", ")
    )
}

/// Length, folder and numbers of what a page embeds.
fn page_line(page: &PageFiles) -> String {
    let folder = page.images().next().map_or("", |image| image.folder);
    let numbers: Vec<String> = page
        .images()
        .map(|image| image.number.to_string())
        .collect();
    format!(
        "        '{}' => [{}, '{folder}', [{}]],\n",
        page.name,
        page.html_bytes,
        numbers.join(", ")
    )
}

/// A text as PHP writes it in single quotes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_php() {
        let settings = Settings {
            model: Model::Support,
            files: "{data}/it's\\files",
            backend: "127.0.0.1:8081",
            today: Day::of_time(1_097_157_010),
            session_expiry_s: 600,
        };
        let text = settings.php();
        assert!(
            text.starts_with("<?php\nreturn [\n    'number' => 3,\n"),
            "{text}"
        );
        for line in [
            "    'directory' => 'support',\n",
            "    'files' => '{data}/it\\'s\\\\files',\n",
            "    'backend' => '127.0.0.1:8081',\n    'today' => '20041007',\n",
            "        'catalog' => [29031, '', [4, 6, 7, 8, 14, 17, 23, 24]],\n",
            "        'download' => [0, '', []],\n    ],\n];\n",
        ] {
            assert!(text.contains(line), "{line}");
        }
        let settings = Settings {
            model: Model::Ecommerce,
            ..settings
        };
        let billing = "'billing' => [30560, 'billing/', [1, 2, 3, 4, 5]],\n";
        assert!(settings.php().contains(billing));
    }

    #[test]
    fn every_page_is_a_file_that_calls_what_is_there() {
        for (model, count) in Model::ALL.into_iter().zip([16, 13, 6]) {
            let files = files(model);
            assert_eq!(files.len(), SHARED.len() + count + 2);
            let shared = format!("web2005/{}.php", model.name());
            let (_, functions) = files
                .iter()
                .find(|(path, _)| *path == shared)
                .expect("the workload's functions");
            assert!(functions.contains(&format!("function {}(string $name)", model.name())));
            for page in pages(model).iter().filter(|page| page.name != "download") {
                assert!(
                    functions.contains(&format!("'{}'", page.name)),
                    "{}",
                    page.name
                );
            }
        }
    }

    #[test]
    fn pages_hold_nothing_that_a_guest_would_replace() {
        for (path, text) in Model::ALL.into_iter().flat_map(files) {
            for word in [
                "data", "shared", "conf", "run", "program", "address", "port", "listen",
            ] {
                assert!(
                    !text.contains(&format!("{{{word}}}")),
                    "{path} holds {{{word}}}"
                );
            }
        }
    }
}
