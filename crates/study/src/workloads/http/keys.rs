//! The keys of `[workload]` with `kind = "http"`, and of workload files.

use std::time::Duration;

use rookery_workload::{
    DelayDistribution,
    data_driven::{MOST_OPERATIONS, OnFailure, Template},
    http::{Method, TlsVersion},
};

use crate::{
    grammar::{
        keys,
        kinds::{Choice, Database, Factor, Text, Time, Truth, Whole},
    },
    names::Named as Words,
    workloads::data_driven::{
        keys::{FeederKeys, MOST, MOST_FEEDERS, THINK, is_plain_name, named},
        kinds::{
            DIGEST, NAME, Named, PATH, PATTERN, PEM, POINTER, Read, TEMPLATE, TOKEN, Tables,
            Values, is_token,
        },
    },
};

impl Words for Method {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("GET", Self::Get, "read"),
        ("HEAD", Self::Head, "read without its body"),
        ("POST", Self::Post, "send"),
        ("PUT", Self::Put, "replace"),
        ("PATCH", Self::Patch, "change"),
        ("DELETE", Self::Delete, "remove"),
        ("OPTIONS", Self::Options, "ask what is possible"),
    ];
}

impl Words for TlsVersion {
    const NAMES: &'static [(&'static str, Self, &'static str)] =
        &[("1.2", Self::V12, "TLS 1.2"), ("1.3", Self::V13, "TLS 1.3")];
}

const TEMPLATES: Values<Read<Template>> = Values {
    kind: TEMPLATE,
    most: MOST,
};

/// Fields of forms may have any printable name.
pub(super) fn is_field(name: &str) -> bool {
    (1..=200).contains(&name.len()) && !name.contains(|c: char| c.is_control() || c == '"')
}

keys! {
    /// Keys that stand in a study alone, whether or not the rest is in a file.
    StudyKeys {
        /// Workload file with all other keys of the workload, relative to the file of the study.
        file: Text = Text { most: 500, lines: false, example: "site.toml" }, Optional("the keys stand here");
        /// Nominal size of each guest's database, where the stack serves a DVD Store.
        database: Database = Database, Default("\"10MB per guest\"");
        /// Mean pause after an operation that says none; with cycle pacing the cycle time.
        think_time: Time = THINK, Default("\"0s\"");
        /// How pauses scatter about their mean, where an operation says nothing.
        think_distribution: Choice<DelayDistribution> = Choice::NEW, Optional("\"uniform\"");
    }
}

keys! {
    /// The keys of a workload file.
    ContentKeys {
        /// The operations: pages, or requests of an interface.
        operation: Tables<OperationKeys> = Tables { what: "operations", most: MOST_OPERATIONS, example: "{name = \"home\", path = \"/\"}", keys: OperationKeys::keys, read: OperationKeys::read, write: OperationKeys::write }, Optional("in the file");
        /// Sources of values: `${NAME}` in templates.
        feeder: Tables<FeederKeys> = Tables { what: "feeders", most: MOST_FEEDERS, example: "{name = \"id\", range = \"1..1000\"}", keys: FeederKeys::keys, read: FeederKeys::read, write: FeederKeys::write }, Optional("no data");
        /// Operations one after the other, as a session; instead of weights or `next`.
        script: Values<Read<String>> = Values { kind: NAME, most: 1000 }, Optional("as weights or `next` say");
        /// What a session begins with, by probability; with `next` of the operations.
        start: Named<Factor> = named(Factor::SHARE, "operation", "browse", is_plain_name), Optional("the first operation");
        /// Operations of a session that are drawn by weights.
        session_operations: Whole<u32> = Whole { min: 1, max: 1_000_000 }, Optional("a session has no end");
        /// The operation that every session begins with, once.
        login: Read<String> = NAME, Optional("none");
        /// What a failure does to the session of its user.
        on_failure: Choice<OnFailure> = Choice::NEW, Default("\"restart\"");
        /// Mean pause between two sessions.
        session_pause: Time = THINK, Optional("as after any operation");
        /// How that pause scatters about its mean.
        session_pause_distribution: Choice<DelayDistribution> = Choice::NEW, Optional("\"uniform\"");
        /// Headers of all requests but those of embedded objects.
        headers: Named<Read<Template>> = named(TEMPLATE, "header", "Accept-Language", is_token), Optional("none");
        /// Connections of one user, over which it loads embedded objects.
        connections: Whole<u8> = Whole { min: 1, max: 16 }, Default("2");
        /// Whether a user keeps embedded objects for its session, as a browser does.
        browser_cache: Truth = Truth, Default("true");
        /// Whether compressed bodies are accepted.
        gzip: Truth = Truth, Default("false");
        /// The most that one user receives, bytes/s.
        receive_rate: Whole<u64> = Whole { min: 1000, max: 100_000_000_000 }, Optional("no limit");
        /// Version of TLS, for targets with `https://`.
        tls_version: Choice<TlsVersion> = Choice::NEW, Optional("what both sides speak");
        /// Certificates that sign that of the server.
        ca: Read<String> = PEM, Optional("none: `insecure` must be said");
        /// Whether the certificate of the server is left unverified.
        insecure: Truth = Truth, Default("false");
    }
}

keys! {
    /// The keys of an operation.
    OperationKeys {
        /// Its name in tables and limits.
        name: Read<String> = NAME, Required;
        /// Method of its request.
        method: Choice<Method> = Choice::NEW, Default("\"GET\"");
        /// Path and query.
        path: Read<Template> = PATH, Required;
        /// How often it is drawn, relative to the others.
        weight: Factor = Factor { min: 0.0, max: 1e6 }, Optional("1; of the login 0");
        /// What follows it, by probability; `end` is the end of the session. The row sums to 1.
        next: Named<Factor> = named(Factor::SHARE, "operation", "end", is_plain_name), Optional("as weights say");
        /// Headers of its request.
        headers: Named<Read<Template>> = named(TEMPLATE, "header", "Accept", is_token), Optional("those of all requests");
        /// Body of its request as text.
        body: Read<Template> = TEMPLATE, Optional("none");
        /// Body of its request as JSON; values are escaped.
        body_json: Read<Template> = TEMPLATE, Optional("none");
        /// Body of its request as fields of a form.
        form: Named<Read<Template>> = named(TEMPLATE, "field", "name", is_field), Optional("none");
        /// Body of its request as parts of a form with files.
        multipart: Named<Read<Template>> = named(TEMPLATE, "field", "text", is_field), Optional("none");
        /// Files among the parts: bytes of made-up text, by field.
        files: Named<Whole<u32>> = named(Whole { min: 0, max: 16 << 20 }, "field", "upload", is_field), Optional("none");
        /// Statuses of a good answer.
        status: Values<Whole<u16>> = Values { kind: Whole { min: 100, max: 599 }, most: MOST }, Optional("200 to 299");
        /// Texts that the body must contain.
        contains: Values<Read<Template>> = TEMPLATES, Optional("not checked");
        /// Texts that the body must not contain.
        lacks: Values<Read<Template>> = TEMPLATES, Optional("not checked");
        /// Regular expressions that must match somewhere in the body.
        matches: Values<Read<String>> = Values { kind: PATTERN, most: MOST }, Optional("not checked");
        /// Values in a JSON body, as text, by JSON pointer.
        json: Named<Read<Template>> = named(TEMPLATE, "JSON pointer", "\"/status\"", is_pointer), Optional("not checked");
        /// Fewest bytes of the body.
        min_bytes: Whole<u64> = Whole { min: 0, max: 1 << 40 }, Optional("not checked");
        /// Most bytes of the body.
        max_bytes: Whole<u64> = Whole { min: 0, max: 1 << 40 }, Optional("not checked");
        /// SHA-256 of the body.
        sha256: Read<String> = DIGEST, Optional("not checked");
        /// Values taken from the body by the first group of a regular expression.
        capture: Named<Read<String>> = named(PATTERN, "value", "token", is_plain_name), Optional("none");
        /// Values taken from a JSON body by a JSON pointer.
        capture_json: Named<Read<String>> = named(POINTER, "value", "id", is_plain_name), Optional("none");
        /// Values taken from headers of the answer.
        capture_header: Named<Read<String>> = named(TOKEN, "value", "version", is_plain_name), Optional("none");
        /// Values taken from cookies.
        capture_cookie: Named<Read<String>> = named(TOKEN, "value", "session_id", is_plain_name), Optional("none");
        /// Whether redirects within the site are followed.
        follow: Truth = Truth, Default("true");
        /// Mean pause after it; with cycle pacing its cycle time.
        think_time: Time = THINK, Optional("as the workload says");
        /// How the pause scatters about its mean.
        think_distribution: Choice<DelayDistribution> = Choice::NEW, Optional("as the workload says");
        /// Limit on the whole operation.
        timeout: Time = Time { min: Duration::from_millis(1), max: Duration::from_secs(3600), example: "10s" }, Optional("10s, or as the command line says");
        /// Largest body after decompression, bytes; more is a failure.
        body_limit: Whole<u64> = Whole { min: 1, max: 1 << 34 }, Default("16777216");
        /// Paths of embedded objects that are loaded behind it.
        objects: Values<Read<Template>> = Values { kind: PATH, most: 256 }, Optional("none");
        /// Share of requests for these objects that are conditional, whatever the cache holds.
        objects_conditional: Factor = Factor::SHARE, Optional("as the cache says");
        /// Whether objects that the page names are loaded behind it.
        find_objects: Truth = Truth, Default("false");
        /// What each success makes one more of on the server, for the audit.
        counts: Text = Text { most: 60, lines: false, example: "comments" }, Optional("nothing");
    }
}

fn is_pointer(pointer: &str) -> bool {
    pointer.is_empty() || pointer.starts_with('/')
}
