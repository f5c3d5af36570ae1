//! What an author should know about a task that the rules accept. A warning prevents nothing.

use super::gate::GateCode;
use super::state::State;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskWarning {
    /// The gate that the warning is about.
    pub code: GateCode,
    pub message: String,
}

/// Returns the warnings about a task. `has_applier` is true if the server or an active agent of
/// the tenant can apply tasks of this type.
pub fn warnings(state: State, task_type: &str, has_applier: bool) -> Vec<TaskWarning> {
    if has_applier || !state.is_before_permit() {
        return Vec::new();
    }
    let message = format!(
        "no agent has the capability `{task_type}`, so the task can be approved but not applied; \
         ask an admin to add the capability to an agent"
    );
    vec![TaskWarning { code: GateCode::NotCapable, message }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_without_an_applier_is_warned_about_before_the_permit() {
        for state in State::ALL {
            let found = warnings(state, "db.migrate", false);
            assert_eq!(found.len(), usize::from(state.is_before_permit()), "{state}");
            assert!(found.iter().all(|one| one.message.contains("`db.migrate`")), "{found:?}");
            assert_eq!(warnings(state, "db.migrate", true), [], "{state}");
        }
    }
}
