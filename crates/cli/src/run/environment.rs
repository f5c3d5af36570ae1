//! The environment of a command: that of `ade` without its secrets and without variables of another
//! run, plus the fencing tokens of this execution.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use ade_api::claims::{FencedResource, Permit};

use crate::settings::TOKEN_VARIABLE;

const TASK: &str = "ADE_TASK";
const EXECUTION: &str = "ADE_EXECUTION";
const TOKEN_FENCE: &str = "ADE_TOKEN_FENCE";
const RECEIPT: &str = "ADE_RECEIPT";
const FENCES: &str = "ADE_FENCES";
const FENCE_PREFIX: &str = "ADE_FENCE_";
const OWN: [&str; 6] = [TOKEN_VARIABLE, TASK, EXECUTION, TOKEN_FENCE, RECEIPT, FENCES];

pub fn inherited() -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| !is_own(name)).collect()
}

fn is_own(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    OWN.contains(&name.as_ref()) || name.starts_with(FENCE_PREFIX)
}

/// Returns the variable names for reviewers; values are left out because they may be secrets.
pub fn names() -> Vec<String> {
    let text = |(name, _): (OsString, OsString)| name.to_string_lossy().into_owned();
    let mut names: Vec<String> = inherited().into_iter().map(text).collect();
    names.sort();
    names
}

/// Returns the added variables, without the bearer token and the lease, which allow reporting.
pub fn granted(permit: &Permit) -> BTreeMap<String, String> {
    let mut variables = fences(&permit.resources);
    variables.insert(TASK.to_owned(), permit.task.summary.id.to_string());
    variables.insert(EXECUTION.to_owned(), permit.execution_id.to_string());
    variables.insert(TOKEN_FENCE.to_owned(), permit.fence.to_string());
    variables.insert(RECEIPT.to_owned(), permit.receipt.clone());
    variables
}

/// Returns a variable per resource. If two resources map to the same name, neither gets one,
/// because a wrong fencing token is worse than none; `ADE_FENCES` contains both.
fn fences(resources: &[FencedResource]) -> BTreeMap<String, String> {
    let mut named: BTreeMap<String, Option<u64>> = BTreeMap::new();
    for FencedResource { resource, fence, .. } in resources {
        let name = variable(&resource.to_string());
        named.entry(name).and_modify(|known| *known = None).or_insert(Some(*fence));
    }
    let exact: BTreeMap<String, u64> =
        resources.iter().map(|fenced| (fenced.resource.to_string(), fenced.fence)).collect();
    let mut variables: BTreeMap<String, String> =
        named.into_iter().filter_map(|(name, fence)| Some((name, fence?.to_string()))).collect();
    variables.insert(FENCES.to_owned(), serde_json::to_string(&exact).unwrap_or_default());
    variables
}

/// Returns the variable name: `database:prod-db.01` is `ADE_FENCE_DATABASE_PROD_DB_01`.
fn variable(resource: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    FENCE_PREFIX.chars().chain(resource.chars().map(letter)).collect()
}

#[cfg(test)]
mod tests {
    use ade_api::tasks::Mode;

    use super::*;

    fn fenced(resource: &str, fence: u64) -> FencedResource {
        FencedResource { resource: resource.parse().unwrap(), mode: Mode::Exclusive, fence }
    }

    #[test]
    fn fence_variable_is_named_after_its_resource() {
        let variables = fences(&[fenced("database:prod-db.01", 7), fenced("host:a", 9)]);
        assert_eq!(variables["ADE_FENCE_DATABASE_PROD_DB_01"], "7");
        assert_eq!(variables["ADE_FENCE_HOST_A"], "9");
        assert_eq!(variables["ADE_FENCES"], r#"{"database:prod-db.01":7,"host:a":9}"#);
    }

    #[test]
    fn fence_variable_of_clashing_names_is_left_to_the_json() {
        let variables =
            fences(&[fenced("host:a-b", 1), fenced("host:a_b", 2), fenced("host:c", 3)]);
        assert!(!variables.contains_key("ADE_FENCE_HOST_A_B"), "{variables:?}");
        assert_eq!(variables["ADE_FENCE_HOST_C"], "3");
        assert_eq!(variables["ADE_FENCES"], r#"{"host:a-b":1,"host:a_b":2,"host:c":3}"#);
    }

    #[test]
    fn environment_names_of_ade_are_recognized() {
        for own in ["ADE_TOKEN", "ADE_TASK", "ADE_FENCE_HOST_A", "ADE_FENCES", "ADE_RECEIPT"] {
            assert!(is_own(OsStr::new(own)), "{own}");
        }
        for other in ["PATH", "ADE_SERVER", "ADE", "MY_ADE_TOKEN"] {
            assert!(!is_own(OsStr::new(other)), "{other}");
        }
    }
}
