//! The environment of a command: a short list, the variables that are named, and the fencing tokens
//! of the execution. A variable that can load other code into a program is refused unless it is
//! named.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use ade_api::claims::{FencedResource, Permit};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::TOKEN_VARIABLE;

const TASK: &str = "ADE_TASK";
const EXECUTION: &str = "ADE_EXECUTION";
const TOKEN_FENCE: &str = "ADE_TOKEN_FENCE";
const PROGRAM: &str = "ADE_PROGRAM";
/// The descriptor of the receipt. Its text is not in the environment, which is copied to every
/// child process and shown by many tools.
const RECEIPT_FD: &str = "ADE_RECEIPT_FD";
const FENCES: &str = "ADE_FENCES";
const FENCE_PREFIX: &str = "ADE_FENCE_";
const OWN: [&str; 7] = [TOKEN_VARIABLE, TASK, EXECUTION, TOKEN_FENCE, PROGRAM, RECEIPT_FD, FENCES];

/// The variables that every command gets. None of them is a secret.
const ALWAYS: [&str; 10] =
    ["HOME", "LANG", "LANGUAGE", "LOGNAME", PATH, "SHELL", "TERM", "TMPDIR", "TZ", "USER"];
const ALWAYS_PREFIX: &str = "LC_";
const PATH: &str = "PATH";

/// Variables with which loaders, shells and interpreters run other code than the program.
const LOADING: [&str; 26] = [
    "AWKPATH",
    "BASHOPTS",
    "BASH_ENV",
    "CDPATH",
    "CLASSPATH",
    "ENV",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "KSH_ENV",
    "LESSCLOSE",
    "LESSOPEN",
    "LOCPATH",
    "NLSPATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PROMPT_COMMAND",
    "PS4",
    "PSQLRC",
    "SHELLOPTS",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];
const LOADING_PREFIXES: [&str; 9] =
    ["BASH_FUNC_", "DYLD_", "GIT_", "LD_", "LUA_", "MALLOC_", "PERL", "PYTHON", "RUBY"];

/// The variables that reviewers see and the command gets. They are read once, before the review.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, OsString>,
}

impl Environment {
    /// Selects variables of `all`: the usual ones, and those that are `named`.
    pub fn select(
        named: &[String],
        all: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, Failure> {
        let named: BTreeSet<&str> = named.iter().map(String::as_str).collect();
        if let Some(own) = named.iter().find(|name| is_own(name)) {
            let what = format!("the command cannot get {own} from the environment");
            return Err(Failure::new(Exit::Usage, what)
                .detail("`ade run` keeps its token and sets the other ADE variables itself")
                .or_next("ade run --help"));
        }
        let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value));
        let mut variables: BTreeMap<String, OsString> = all.into_iter().filter_map(text).collect();
        let refused: Vec<&str> = variables
            .keys()
            .map(String::as_str)
            .filter(|name| loads_code(name) && !named.contains(name))
            .collect();
        if !refused.is_empty() {
            return Err(refuse(&refused));
        }
        if let Some(unset) = named.iter().find(|name| !variables.contains_key(**name)) {
            return Err(Failure::new(Exit::Usage, format!("the variable {unset} is not set"))
                .detail("no task was created")
                .or_next(format!("{unset}=… ade run --env {unset} …")));
        }
        variables.retain(|name, _| is_usual(name) || named.contains(name.as_str()));
        Ok(Self { variables })
    }

    pub fn path(&self) -> Option<&OsStr> {
        self.variables.get(PATH).map(OsString::as_os_str)
    }

    pub fn variables(&self) -> impl Iterator<Item = (&String, &OsString)> {
        self.variables.iter()
    }

    /// Returns what reviewers see: values that are no secrets, and of all others the length and a
    /// keyed hash.
    pub fn declared(&self, hash: impl Fn(&str, &[u8]) -> [u8; 32]) -> Vec<Value> {
        let one = |(name, value): (&String, &OsString)| {
            if is_usual(name) || loads_code(name) {
                return json!({ "name": name, "value": value.to_string_lossy() });
            }
            let mut text = "hmac-sha256:".to_owned();
            for byte in hash(name, value.as_bytes()) {
                let _ = write!(text, "{byte:02x}");
            }
            json!({ "name": name, "bytes": value.len(), "hash": text })
        };
        self.variables.iter().map(one).collect()
    }
}

fn is_own(name: &str) -> bool {
    OWN.contains(&name) || name.starts_with(FENCE_PREFIX)
}

fn is_usual(name: &str) -> bool {
    ALWAYS.contains(&name) || name.starts_with(ALWAYS_PREFIX)
}

/// Checks whether a variable can make a program run code that reviewers did not see.
fn loads_code(name: &str) -> bool {
    LOADING.contains(&name) || LOADING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn refuse(names: &[&str]) -> Failure {
    let options: Vec<String> = names.iter().map(|name| format!("--env {name}")).collect();
    let unset: Vec<String> = names.iter().map(|name| format!("-u {name}")).collect();
    let what = format!("the environment can change what the command runs: {}", names.join(", "));
    Failure::new(Exit::Usage, what)
        .detail(format!(
            "no task was created; unset the variables, or show them to reviewers with {}",
            options.join(" ")
        ))
        .or_next(format!("env {} ade run …", unset.join(" ")))
}

/// Returns the variables that the execution adds, without the bearer token and the lease, which
/// allow reporting, and without the receipt, which has a descriptor.
pub fn granted(permit: &Permit, program: &str, receipt_fd: i32) -> BTreeMap<String, String> {
    let mut variables = fences(&permit.resources);
    variables.insert(TASK.to_owned(), permit.task.summary.id.to_string());
    variables.insert(EXECUTION.to_owned(), permit.execution_id.to_string());
    variables.insert(TOKEN_FENCE.to_owned(), permit.fence.to_string());
    variables.insert(PROGRAM.to_owned(), program.to_owned());
    variables.insert(RECEIPT_FD.to_owned(), receipt_fd.to_string());
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
#[path = "environment_tests.rs"]
mod tests;
