//! The files of tunings.

use rookery_study::{Expression, Variables};
use serde::Deserialize;

use super::{
    Component, Family, Gone, Setting, TuningError, WebServer, malformed, parse_key, value::Value,
    value::render,
};

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TuningFile {
    pub(super) name: String,
    pub(super) title: String,
    #[serde(default, rename = "setting")]
    pub(super) settings: Vec<Line>,
}

/// One setting, or one knob that is gone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    component: Component,
    name: Option<String>,
    value: Option<String>,
    formula: Option<String>,
    server: Option<WebServer>,
    former: Option<String>,
    reason: String,
}

/// A line, evaluated.
pub(super) enum Entry {
    Setting(Setting),
    Gone(Gone),
}

impl TuningFile {
    pub(super) fn named(family: Family, name: &str) -> Result<Self, TuningError> {
        let Some((_, text)) = family.files().iter().find(|(known, _)| *known == name) else {
            return Err(TuningError::Unknown {
                name: name.to_owned(),
                known: family.names(),
            });
        };
        toml::from_str(text).map_err(|error| TuningError::File {
            name: name.to_owned(),
            what: error.to_string(),
        })
    }
}

impl Line {
    pub(super) fn evaluated(
        self,
        family: Family,
        variables: &Variables,
    ) -> Result<Entry, TuningError> {
        let label = self
            .name
            .as_ref()
            .or(self.former.as_ref())
            .cloned()
            .unwrap_or_default();
        let key = format!("{}.{label}", self.component);
        let Some(name) = self.name else {
            return match self.former {
                Some(former) if self.value.is_none() && self.formula.is_none() => {
                    Ok(Entry::Gone(Gone {
                        component: self.component,
                        former,
                        reason: self.reason,
                    }))
                }
                _ => Err(malformed(
                    &key,
                    "needs `name`, or `former` alone",
                    "see the other settings",
                )),
            };
        };
        let (component, name) = parse_key(family, &format!("{}.{name}", self.component))?;
        let value = match (&self.value, &self.formula) {
            (Some(text), None) => Value::text(text),
            (None, Some(formula)) => {
                Expression::parse(formula)
                    .map(Value::Formula)
                    .map_err(|error| {
                        (
                            error.to_string(),
                            "write a formula over vcpus, memory, users and guests".to_owned(),
                        )
                    })
            }
            _ => Err((
                "needs `value` or `formula`".to_owned(),
                "give one of them".to_owned(),
            )),
        };
        let value = value
            .and_then(|value| render(component, &name, &value, variables))
            .map_err(|(what, help)| malformed(&key, what, help))?;
        Ok(Entry::Setting(Setting {
            component,
            name,
            value,
            formula: self.formula,
            server: self.server,
            former: self.former,
            reason: self.reason,
        }))
    }
}
