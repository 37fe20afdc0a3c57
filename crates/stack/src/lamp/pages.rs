//! The pages of the shop in PHP: `stacks/lamp/pages`, embedded.
//!
//! They keep the page contract of DVD Store 2.1 to the letter, as the embedded server does, and say
//! the same texts. Beyond it: values are bound by the client library (a statement prepared on the
//! server takes one more round trip, 7 to 10 per cent of a page), output is escaped, and input that
//! no page can be made of is answered with 400. A database that fails is answered with 503, never
//! with a page that looks like success or like a shortage.

/// The pages' files: path below the document root, and text.
pub const FILES: [(&str, &str); 8] = [
    (
        "health.php",
        include_str!("../../../../stacks/lamp/pages/health.php"),
    ),
    (
        "ds2/index.html",
        include_str!("../../../../stacks/lamp/pages/ds2/index.html"),
    ),
    (
        "ds2/common.php",
        include_str!("../../../../stacks/lamp/pages/ds2/common.php"),
    ),
    (
        "ds2/order.php",
        include_str!("../../../../stacks/lamp/pages/ds2/order.php"),
    ),
    (
        "ds2/dslogin.php",
        include_str!("../../../../stacks/lamp/pages/ds2/dslogin.php"),
    ),
    (
        "ds2/dsnewcustomer.php",
        include_str!("../../../../stacks/lamp/pages/ds2/dsnewcustomer.php"),
    ),
    (
        "ds2/dsbrowse.php",
        include_str!("../../../../stacks/lamp/pages/ds2/dsbrowse.php"),
    ),
    (
        "ds2/dspurchase.php",
        include_str!("../../../../stacks/lamp/pages/ds2/dspurchase.php"),
    ),
];

/// Path of the pages' settings below the document root.
pub const SETTINGS_FILE: &str = "ds2/config.php";

/// Settings of the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings<'a> {
    /// MariaDB's socket, or `None` for a guest without a database: then `health.php` answers 200
    /// without asking one.
    pub socket: Option<&'a str>,
    /// Whether the known defects of the original are reproduced.
    pub faithful: bool,
    /// Whether a PHP process keeps its connection to the database for the next request.
    pub persistent: bool,
}

impl Settings<'_> {
    /// The text of [`SETTINGS_FILE`].
    #[must_use]
    pub fn php(&self) -> String {
        let socket = self.socket.map_or("null".to_owned(), quoted);
        format!(
            "<?php
return [
    'socket' => {socket},
    'user' => 'web',
    'password' => 'web',
    'database' => 'DS2',
    'faithful' => {},
    'persistent' => {},
];
",
            self.faithful, self.persistent
        )
    }
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
            socket: Some("{data}/it's\\mysql.sock"),
            faithful: true,
            persistent: false,
        };
        insta::assert_snapshot!(settings.php(), @r"
        <?php
        return [
            'socket' => '{data}/it\'s\\mysql.sock',
            'user' => 'web',
            'password' => 'web',
            'database' => 'DS2',
            'faithful' => true,
            'persistent' => false,
        ];
        ");
        assert!(Settings::default().php().contains("'socket' => null"));
    }

    #[test]
    fn pages_hold_nothing_that_a_guest_would_replace() {
        for (path, text) in FILES {
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

    #[test]
    fn every_page_that_php_includes_is_there() {
        let paths: Vec<&str> = FILES
            .iter()
            .map(|(path, _)| *path)
            .chain([SETTINGS_FILE])
            .collect();
        for (path, text) in FILES {
            let directory = path
                .rsplit_once('/')
                .map_or(String::new(), |(directory, _)| format!("{directory}/"));
            for included in text.split("require __DIR__ . '/").skip(1) {
                let name = included.split('\'').next().unwrap_or_default();
                assert!(
                    paths.contains(&format!("{directory}{name}").as_str()),
                    "{path} includes {name}"
                );
            }
        }
    }
}
