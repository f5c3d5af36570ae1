//! The environment of a command: what is passed, shown, hashed and refused.

use ade_api::tasks::Mode;

use super::*;
use crate::output::Paint;

fn fenced(resource: &str, fence: u64) -> FencedResource {
    FencedResource { resource: resource.parse().unwrap(), mode: Mode::Exclusive, fence }
}

fn select(named: &[&str], all: &[(&str, &str)]) -> Result<Environment, String> {
    let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
    let all = all.iter().map(|(name, value)| (name.into(), value.into()));
    Environment::select(&named, all).map_err(|failure| failure.shown(Paint::OFF))
}

fn names(environment: &Environment) -> Vec<&str> {
    environment.variables.keys().map(String::as_str).collect()
}

#[test]
fn environment_has_the_usual_and_the_named_variables() {
    let all = [
        ("PATH", "/bin"),
        ("LC_ALL", "C"),
        ("DATABASE_PASSWORD", "hunter2"),
        ("ADE_TOKEN", "x"),
        ("ADE_FENCE_HOST_OLD", "1"),
    ];
    assert_eq!(names(&select(&[], &all).unwrap()), ["LC_ALL", "PATH"]);
    let named = select(&["DATABASE_PASSWORD"], &all).unwrap();
    assert_eq!(names(&named), ["DATABASE_PASSWORD", "LC_ALL", "PATH"]);
    assert!(select(&["ADE_TOKEN"], &all).unwrap_err().contains("cannot get ADE_TOKEN"));
    assert!(select(&["ADE_FENCE_HOST_OLD"], &all).unwrap_err().contains("ADE_FENCE_HOST_OLD"));
    assert!(select(&["OTHER"], &all).unwrap_err().contains("OTHER is not set"));
}

#[test]
fn environment_that_loads_code_is_refused_unless_named() {
    for name in [
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "LD_AUDIT",
        "DYLD_INSERT_LIBRARIES",
        "BASH_ENV",
        "ENV",
        "BASH_FUNC_ls%%",
        "SHELLOPTS",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "NODE_OPTIONS",
        "PERL5LIB",
        "PERL5OPT",
        "RUBYOPT",
        "RUBYLIB",
        "GIT_SSH_COMMAND",
        "GIT_CONFIG_COUNT",
        "JAVA_TOOL_OPTIONS",
        "LUA_INIT",
        "GCONV_PATH",
        "IFS",
    ] {
        let all = [("PATH", "/bin"), (name, "/tmp/x")];
        let refused = select(&[], &all).unwrap_err();
        assert!(refused.contains(&format!("show them to reviewers with --env {name}")), "{name}");
        let named = select(&[name], &all).unwrap();
        let declared = json!(named.declared(|_, _| [0; 32]));
        let shown = json!({ "name": name, "value": "/tmp/x" });
        assert!(declared.as_array().unwrap().contains(&shown), "{declared}");
    }
    for name in ["PATH", "EDITOR", "ENVIRONMENT", "OLD_PATH", "MYSQL_PWD"] {
        assert!(!loads_code(name), "{name}");
    }
}

#[test]
fn environment_declares_secrets_by_length_and_hash() {
    let all = [("PATH", "/bin:/usr/bin"), ("TOKEN", "hunter2")];
    let declared = select(&["TOKEN"], &all).unwrap().declared(|name, value| {
        assert_eq!((name, value), ("TOKEN", b"hunter2".as_slice()));
        [0xab; 32]
    });
    let hash = format!("hmac-sha256:{}", "ab".repeat(32));
    assert_eq!(
        json!(declared),
        json!([
            { "name": "PATH", "value": "/bin:/usr/bin" },
            { "name": "TOKEN", "bytes": 7, "hash": hash },
        ])
    );
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
    let variables = fences(&[fenced("host:a-b", 1), fenced("host:a_b", 2), fenced("host:c", 3)]);
    assert!(!variables.contains_key("ADE_FENCE_HOST_A_B"), "{variables:?}");
    assert_eq!(variables["ADE_FENCE_HOST_C"], "3");
    assert_eq!(variables["ADE_FENCES"], r#"{"host:a-b":1,"host:a_b":2,"host:c":3}"#);
}
