//! The label that everything of a run carries, and how it looks on each kind of thing.

use rookery_host::{Controller, RunId};

/// Environment variable with the run's id, in every process of a run.
pub(crate) const RUN_VARIABLE: &str = "ROOKERY_RUN";
/// Environment variable with the guest's name.
pub(crate) const GUEST_VARIABLE: &str = "ROOKERY_GUEST";
/// Environment variable with the controller's identity, so that a living run is recognised without
/// its registration.
pub(crate) const CONTROLLER_VARIABLE: &str = "ROOKERY_CONTROLLER";
/// What all names begin with.
const PREFIX: &str = "rookery-";
/// The control group above all runs.
pub(crate) const ROOT_GROUP: &str = "rookery";

/// Labels of one run.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    /// The run.
    pub(crate) run: RunId,
    /// Who conducts it.
    pub(crate) controller: Controller,
}

impl Label {
    /// Environment of the run's processes, their search path included.
    pub(crate) fn environment(&self, guest: &str) -> Vec<(String, String)> {
        let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        let mut environment = vec![("PATH".to_owned(), path.to_owned())];
        environment.extend(self.variables(guest));
        environment
    }

    /// The label itself, for processes that keep the rest of our environment.
    pub(crate) fn variables(&self, guest: &str) -> Vec<(String, String)> {
        let variables = [
            (RUN_VARIABLE, self.run.to_string()),
            (GUEST_VARIABLE, guest.to_owned()),
            (CONTROLLER_VARIABLE, self.controller.to_string()),
        ];
        variables
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    }
}

#[cfg(test)]
impl Label {
    /// The label of a run that this process conducts.
    pub(crate) fn for_test(run: &str) -> Self {
        Self {
            run: RunId::try_from(run.to_owned()).expect("valid"),
            controller: Controller::current().expect("own"),
        }
    }
}

/// Source of the run's mounts, and name of its lab namespace.
pub(crate) fn run_name(run: &RunId) -> String {
    format!("{PREFIX}{run}")
}

/// Name of a guest's network namespace.
pub(crate) fn guest_netns(run: &RunId, guest: &str) -> String {
    format!("{PREFIX}{run}-{guest}")
}

/// The run in a name made by [`run_name`] or [`guest_netns`].
pub(crate) fn run_of_name(name: &str) -> Option<RunId> {
    let rest = name.strip_prefix(PREFIX)?;
    RunId::try_from(rest.split_once('-').map_or(rest, |(run, _)| run).to_owned()).ok()
}

/// Control group of a run.
pub(crate) fn run_group(run: &RunId) -> String {
    format!("{ROOT_GROUP}/{run}")
}

/// Control group of a guest.
pub(crate) fn guest_group(run: &RunId, guest: &str) -> String {
    format!("{ROOT_GROUP}/{run}/{guest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_run() {
        let run = RunId::try_from("ab12".to_owned()).expect("valid");
        assert_eq!(run_of_name(&run_name(&run)), Some(run.clone()));
        assert_eq!(run_of_name(&guest_netns(&run, "g-1")), Some(run));
        assert_eq!(run_of_name("rookery"), None);
        assert_eq!(run_of_name("rookery-"), None);
        assert_eq!(run_of_name("my-rookery-ab12"), None);
    }

    #[test]
    fn the_controller_is_read_back() {
        let label = Label::for_test("a");
        let environment = label.environment("g1");
        let text = environment
            .iter()
            .find(|(key, _)| key == CONTROLLER_VARIABLE)
            .map(|(_, value)| value.as_str());
        assert_eq!(text.and_then(Controller::parse), Some(label.controller));
    }
}
