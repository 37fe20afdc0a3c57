//! From the keys of an operation to the operation, and back.

use rookery_workload::{
    RandomDelay,
    data_driven::Template,
    http::{
        Body, Capture, CaptureSource, Check, Field, FormPart, Header, HttpOperation, Method,
        Object, PartContent, Statuses,
    },
};

use super::keys::OperationKeys;
use crate::{grammar::Context, problem::Code, source::quoted, workloads::data_driven::Defaults};

/// A name with a template.
type Pair = (String, Template);

/// The largest body where an operation says nothing, bytes.
const BODY_LIMIT: u64 = 16 << 20;

/// One operation; nothing where it was refused. `path` is where its keys stand.
pub(super) fn build(
    keys: OperationKeys,
    defaults: Defaults,
    path: &str,
    context: &mut Context,
) -> Option<HttpOperation> {
    let body = body(&keys, path, context);
    let checks = checks(&keys, path, context);
    let captures = captures(&keys);
    let method = keys.method?;
    let body = body?;
    if body != Body::Empty && matches!(method, Method::Get | Method::Head) {
        let span = context.spans.nearest(path);
        let message = format!("a `{}` request sends no body", method.name());
        let help = "write `method = \"POST\"`, or remove the body";
        return context.refuse(Code::Contradiction, span, message, help);
    }
    Some(HttpOperation {
        name: keys.name?,
        method,
        path: keys.path?,
        headers: headers(keys.headers, &format!("{path}.headers"), context)?,
        body,
        captures,
        checks: checks?,
        statuses: keys.status.map_or(Statuses::Success, Statuses::OneOf),
        follow: keys.follow?,
        delay: RandomDelay {
            mean: keys.think_time.unwrap_or(defaults.think_time),
            distribution: keys.think_distribution.unwrap_or(defaults.distribution),
        },
        timeout: keys.timeout,
        body_limit: keys.body_limit?,
        objects: keys
            .objects
            .unwrap_or_default()
            .into_iter()
            .map(|path| Object {
                path,
                conditional: keys.objects_conditional,
            })
            .collect(),
        find_objects: keys.find_objects?,
        counts: keys.counts,
    })
}

/// Headers that users may set: those that say how a message is framed are the driver's own.
pub(super) fn headers(
    given: Option<Vec<Pair>>,
    path: &str,
    context: &mut Context,
) -> Option<Vec<Header>> {
    const OWN: [&str; 5] = [
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "cookie",
    ];
    let given = given.unwrap_or_default();
    let mut sound = true;
    for (name, value) in &given {
        let own = OWN.contains(&name.to_ascii_lowercase().as_str());
        let control = value
            .texts()
            .any(|text| text.contains(|c: char| c.is_control()));
        let message = if own {
            format!("the header {} is the driver's own", quoted(name))
        } else if control {
            format!(
                "the header {} has a line break or another control character",
                quoted(name)
            )
        } else {
            continue;
        };
        let span = context.spans.nearest(&format!("{path}.{name}"));
        context.refuse::<()>(Code::Contradiction, span, message, "remove it");
        sound = false;
    }
    let header = |(name, value)| Header { name, value };
    sound.then(|| given.into_iter().map(header).collect())
}

fn body(keys: &OperationKeys, path: &str, context: &mut Context) -> Option<Body> {
    let parts = keys.multipart.is_some() || keys.files.is_some();
    let given = [
        ("body", keys.body.is_some()),
        ("body_json", keys.body_json.is_some()),
        ("form", keys.form.is_some()),
        ("multipart", parts),
    ];
    let given: Vec<&str> = given
        .into_iter()
        .filter_map(|(key, is)| is.then_some(key))
        .collect();
    if given.len() > 1 {
        let span = context.spans.nearest(&format!("{path}.{}", given[1]));
        let message = format!("a request has one body, not {}", given.join(" and "));
        return context.refuse(Code::Contradiction, span, message, "keep one of them");
    }
    if let Some(text) = &keys.body {
        return Some(Body::Text(text.clone()));
    }
    if let Some(text) = &keys.body_json {
        return Some(Body::Json(text.clone()));
    }
    if let Some(fields) = &keys.form {
        let field = |(name, value): Pair| Field { name, value };
        return Some(Body::Form(fields.iter().cloned().map(field).collect()));
    }
    if !parts {
        return Some(Body::Empty);
    }
    let values = keys
        .multipart
        .iter()
        .flatten()
        .cloned()
        .map(|(name, value)| FormPart {
            name,
            content: PartContent::Value(value),
        });
    let files = keys
        .files
        .iter()
        .flatten()
        .cloned()
        .map(|(name, bytes)| FormPart {
            content: PartContent::File {
                name: format!("{name}.txt"),
                bytes,
            },
            name,
        });
    Some(Body::Multipart(values.chain(files).collect()))
}

fn checks(keys: &OperationKeys, path: &str, context: &mut Context) -> Option<Vec<Check>> {
    let mut checks = Vec::new();
    let texts = |texts: &Option<Vec<Template>>| texts.clone().unwrap_or_default();
    checks.extend(texts(&keys.contains).into_iter().map(Check::Contains));
    checks.extend(texts(&keys.lacks).into_iter().map(Check::Lacks));
    checks.extend(keys.matches.iter().flatten().cloned().map(Check::Matches));
    checks.extend(
        keys.json
            .iter()
            .flatten()
            .cloned()
            .map(|(pointer, value)| Check::Json { pointer, value }),
    );
    match (keys.min_bytes, keys.max_bytes) {
        (None, None) => {}
        (Some(min), Some(max)) if min > max => {
            let span = context.spans.nearest(&format!("{path}.max_bytes"));
            let message =
                format!("a body of at least {min} and at most {max} bytes does not exist");
            return context.refuse(
                Code::Contradiction,
                span,
                message,
                "make `max_bytes` larger",
            );
        }
        (min, max) => checks.push(Check::Size {
            min: min.unwrap_or(0),
            max: max.unwrap_or(u64::MAX),
        }),
    }
    checks.extend(keys.sha256.clone().map(Check::Digest));
    Some(checks)
}

/// The captures of one kind, and what they are.
type CaptureKind<'k> = (
    &'k Option<Vec<(String, String)>>,
    fn(String) -> CaptureSource,
);

fn captures(keys: &OperationKeys) -> Vec<Capture> {
    let kinds: [CaptureKind<'_>; 4] = [
        (&keys.capture, CaptureSource::Regex),
        (&keys.capture_json, CaptureSource::Json),
        (&keys.capture_header, CaptureSource::Header),
        (&keys.capture_cookie, CaptureSource::Cookie),
    ];
    kinds
        .into_iter()
        .flat_map(|(given, source)| {
            given
                .iter()
                .flatten()
                .cloned()
                .map(move |(name, text)| Capture {
                    name,
                    source: source(text),
                })
        })
        .collect()
}

/// The keys of an operation, but for its place in the mix.
pub(super) fn keys_of(operation: &HttpOperation) -> OperationKeys {
    let mut keys = OperationKeys {
        name: Some(operation.name.clone()),
        method: Some(operation.method).filter(|method| *method != Method::Get),
        path: Some(operation.path.clone()),
        headers: header_keys(&operation.headers),
        status: match &operation.statuses {
            Statuses::Success => None,
            Statuses::OneOf(list) => Some(list.clone()),
        },
        follow: Some(operation.follow).filter(|follow| !follow),
        think_time: Some(operation.delay.mean),
        think_distribution: Some(operation.delay.distribution),
        timeout: operation.timeout,
        body_limit: Some(operation.body_limit).filter(|limit| *limit != BODY_LIMIT),
        objects: some(operation.objects.iter().map(|object| object.path.clone())),
        objects_conditional: operation
            .objects
            .iter()
            .find_map(|object| object.conditional),
        find_objects: Some(operation.find_objects).filter(|find| *find),
        counts: operation.counts.clone(),
        ..OperationKeys::default()
    };
    put_body(&mut keys, &operation.body);
    put_checks(&mut keys, &operation.checks);
    put_captures(&mut keys, &operation.captures);
    keys
}

/// Headers as keys.
pub(super) fn header_keys(headers: &[Header]) -> Option<Vec<Pair>> {
    let pair = |header: &Header| (header.name.clone(), header.value.clone());
    some(headers.iter().map(pair))
}

fn some<T>(values: impl Iterator<Item = T>) -> Option<Vec<T>> {
    let all: Vec<T> = values.collect();
    (!all.is_empty()).then_some(all)
}

fn put_body(keys: &mut OperationKeys, body: &Body) {
    match body {
        Body::Empty => {}
        Body::Text(text) => keys.body = Some(text.clone()),
        Body::Json(text) => keys.body_json = Some(text.clone()),
        Body::Form(fields) => {
            let pair = |field: &Field| (field.name.clone(), field.value.clone());
            keys.form = Some(fields.iter().map(pair).collect());
        }
        Body::Multipart(parts) => {
            let mut values = Vec::new();
            let mut files = Vec::new();
            for part in parts {
                match &part.content {
                    PartContent::Value(value) => values.push((part.name.clone(), value.clone())),
                    PartContent::File { bytes, .. } => files.push((part.name.clone(), *bytes)),
                }
            }
            (keys.multipart, keys.files) = (Some(values), some(files.into_iter()));
        }
    }
}

fn put_checks(keys: &mut OperationKeys, checks: &[Check]) {
    for check in checks {
        match check {
            Check::Contains(text) => keys.contains.get_or_insert_default().push(text.clone()),
            Check::Lacks(text) => keys.lacks.get_or_insert_default().push(text.clone()),
            Check::Matches(text) => keys.matches.get_or_insert_default().push(text.clone()),
            Check::Json { pointer, value } => keys
                .json
                .get_or_insert_default()
                .push((pointer.clone(), value.clone())),
            Check::Size { min, max } => {
                keys.min_bytes = Some(*min);
                keys.max_bytes = Some(*max).filter(|max| *max != u64::MAX);
            }
            Check::Digest(digest) => keys.sha256 = Some(digest.clone()),
        }
    }
}

fn put_captures(keys: &mut OperationKeys, captures: &[Capture]) {
    for Capture { name, source } in captures {
        let (list, text) = match source {
            CaptureSource::Regex(text) => (&mut keys.capture, text),
            CaptureSource::Json(text) => (&mut keys.capture_json, text),
            CaptureSource::Header(text) => (&mut keys.capture_header, text),
            CaptureSource::Cookie(text) => (&mut keys.capture_cookie, text),
        };
        list.get_or_insert_default()
            .push((name.clone(), text.clone()));
    }
}
