//! The configuration of an image: what it runs, and the digests of its layers.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};

use super::Texts;
use crate::{
    description::{ExposedPort, ImageDescription},
    digest::Digest,
    error::DocumentProblem,
};

/// As it is written. Builders write `null` where there is nothing.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    pub(super) architecture: String,
    pub(super) os: String,
    #[serde(default)]
    config: Option<Execution>,
    pub(super) rootfs: RootFs,
}

#[derive(Debug, Deserialize)]
pub(super) struct RootFs {
    pub(super) diff_ids: Vec<Digest>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Execution {
    user: Option<String>,
    exposed_ports: Option<BTreeMap<String, IgnoredAny>>,
    env: Option<Vec<String>>,
    entrypoint: Option<Vec<String>>,
    cmd: Option<Vec<String>>,
    volumes: Option<BTreeMap<String, IgnoredAny>>,
    working_dir: Option<String>,
    labels: Option<Texts>,
    stop_signal: Option<String>,
}

impl Config {
    /// What it says, for the image `id`.
    ///
    /// # Errors
    /// When something in it cannot be.
    pub(super) fn description(
        self,
        id: Digest,
        manifest: Option<Digest>,
        names: Vec<String>,
    ) -> Result<ImageDescription, DocumentProblem> {
        let execution = self.config.unwrap_or_default();
        let mut command = execution.entrypoint.unwrap_or_default();
        command.extend(execution.cmd.unwrap_or_default());
        let ports = execution.exposed_ports.unwrap_or_default().into_keys();
        let ports = ports.map(|text| port(&text)).collect::<Result<_, _>>()?;
        let working_directory = execution.working_dir.filter(|path| !path.is_empty());
        let labels = execution.labels.unwrap_or_default();
        let environment = variables(execution.env.unwrap_or_default())?;
        let volumes: Vec<String> = execution.volumes.unwrap_or_default().into_keys().collect();
        let working_directory = working_directory.unwrap_or_else(|| "/".to_owned());
        let user = execution.user.unwrap_or_default();
        let texts = command.iter().chain(&volumes);
        let texts = texts.chain([&working_directory, &user]);
        if texts
            .chain(environment.values())
            .any(|text| text.contains('\0'))
        {
            return Err(DocumentProblem::Content("a text has a zero byte"));
        }
        Ok(ImageDescription {
            id,
            manifest,
            names,
            architecture: self.architecture,
            environment,
            command,
            working_directory,
            user,
            ports,
            volumes,
            labels,
            stop_signal: execution.stop_signal.filter(|signal| !signal.is_empty()),
            layers: self.rootfs.diff_ids,
        })
    }
}

fn variables(lines: Vec<String>) -> Result<Texts, DocumentProblem> {
    lines
        .into_iter()
        .map(|line| match line.split_once('=') {
            Some((name, value)) if !name.is_empty() && !name.contains('\0') => {
                Ok((name.to_owned(), value.to_owned()))
            }
            _ => Err(DocumentProblem::Value {
                what: "an environment variable has no name",
                value: rookery_diagnosis::outside_text(&line),
            }),
        })
        .collect()
}

/// `8080/tcp`, or the number alone, which means TCP.
fn port(text: &str) -> Result<ExposedPort, DocumentProblem> {
    let (number, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
    let number = number.parse().ok().filter(|&number| number != 0);
    match (number, protocol) {
        (Some(number), "tcp" | "udp" | "sctp") => Ok(ExposedPort {
            number,
            protocol: protocol.to_owned(),
        }),
        _ => Err(DocumentProblem::Value {
            what: "an exposed port is none",
            value: rookery_diagnosis::outside_text(text),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(execution: &str) -> Result<ImageDescription, DocumentProblem> {
        let text = format!(
            r#"{{"architecture":"amd64","os":"linux","config":{execution},
                "rootfs":{{"type":"layers","diff_ids":[]}}}}"#
        );
        let config: Config = serde_json::from_str(&text).expect("a configuration");
        config.description(Digest::of(b""), None, Vec::new())
    }

    #[test]
    fn what_an_image_says_is_read() {
        let image = described(
            r#"{"User":"www-data","ExposedPorts":{"8080/tcp":{},"53/udp":{}},
                "Env":["PATH=/usr/bin","A=b=c","EMPTY="],"Entrypoint":["/app"],
                "Cmd":["--port","8080"],"Volumes":{"/data":{}},"WorkingDir":"/srv",
                "Labels":{"version":"1"},"StopSignal":"SIGQUIT"}"#,
        )
        .expect("valid");
        let json = serde_json::to_string_pretty(&image).expect("JSON");
        insta::assert_snapshot!(json);
    }

    #[test]
    fn nulls_mean_nothing() {
        let nothing = described("null").expect("valid");
        let nulls = described(
            r#"{"User":null,"ExposedPorts":null,"Env":null,"Entrypoint":null,"Cmd":null,
                "Volumes":null,"WorkingDir":"","Labels":null,"OnBuild":null}"#,
        );
        assert_eq!(nulls.expect("valid"), nothing);
        assert_eq!(nothing.working_directory, "/");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for execution in [
            r#"{"ExposedPorts":{"0/tcp":{}}}"#,
            r#"{"ExposedPorts":{"99999":{}}}"#,
            r#"{"ExposedPorts":{"80/icmp":{}}}"#,
            r#"{"Env":["NAME"]}"#,
            r#"{"Env":["=value"]}"#,
            r#"{"Cmd":["a\u0000b"]}"#,
        ] {
            assert!(described(execution).is_err(), "{execution}");
        }
    }
}
