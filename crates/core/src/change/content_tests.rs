//! The digest of a sample is pinned; every part of the content changes it, and nothing else does.

use super::super::{Change, ChangeKind, Report};
use super::*;

fn value(text: &str) -> StrictValue {
    StrictValue::parse(text.as_bytes()).unwrap()
}

fn resource(text: &str) -> ResourceRef {
    text.parse().unwrap()
}

fn report() -> Report {
    Report {
        changes: vec![Change {
            resource: resource("database:prod-db-01"),
            action: ChangeKind::Change,
            irreversible: false,
            summary: "max_connections 100 → 200".to_owned(),
            rows: None,
            before: Some(value("100")),
            after: Some(value("200")),
        }],
        warnings: vec!["needs a restart".to_owned()],
        errors: vec![],
    }
}

type Listed = Vec<(ResourceRef, Option<&'static str>)>;

fn listed() -> Listed {
    vec![(resource("database:prod-db-01"), Some("exclusive")), (resource("service:api"), None)]
}

fn digest_of(
    task_type: &str,
    parameters: &str,
    resources: &Listed,
    effect: &Effect,
) -> Result<Digest, ContentError> {
    let resources = resources.iter().map(|(resource, mode)| (resource, *mode));
    content_digest(task_type, &value(parameters), resources, effect)
}

const PARAMETERS: &str = r#"{"setting":"max_connections","to":200}"#;

fn golden() -> Digest {
    let effect = Effect::observed(report()).unwrap();
    digest_of("db.configure", PARAMETERS, &listed(), &effect).unwrap()
}

/// If this fails, every stored vote is on another digest: raise the format number instead.
#[test]
fn content_digest_of_a_sample_is_pinned() {
    let document = concat!(
        r#"{"effect":{"changes":[{"action":"change","after":200,"before":100,"#,
        r#""irreversible":false,"resource":"database:prod-db-01","#,
        r#""summary":"max_connections 100 → 200"}],"errors":[],"origin":"observed","#,
        r#""warnings":["needs a restart"]},"format":"ade.content/1","#,
        r#""parameters":{"setting":"max_connections","to":200},"#,
        r#""resources":[{"mode":"exclusive","resource":"database:prod-db-01"},"#,
        r#"{"resource":"service:api"}],"type":"db.configure"}"#
    );
    assert_eq!(golden(), Digest::of(document.as_bytes()));
    let pinned = "sha256:e27bb1ccc6702ce284a94b17013de80399c7c66fba0785fbc1294553689a52c5";
    assert_eq!(golden().to_string(), pinned);
}

#[test]
fn content_digest_ignores_spelling_and_listing_order() {
    let effect = Effect::observed(report()).unwrap();
    let mut backwards = listed();
    backwards.reverse();
    let spelled = r#" {"to": 2.0e2, "setting": "max_\u0063onnections"} "#;
    let digest = digest_of("db.configure", spelled, &backwards, &effect).unwrap();
    assert_eq!(digest, golden());
}

#[test]
fn content_digest_covers_every_part() {
    let effect = Effect::observed(report()).unwrap();
    let mut seen = vec![golden()];
    let mut check = |digest: Result<Digest, ContentError>| {
        let digest = digest.unwrap();
        assert!(!seen.contains(&digest));
        seen.push(digest);
    };
    check(digest_of("db.configurE", PARAMETERS, &listed(), &effect));
    check(digest_of("db.configure", "{}", &listed(), &effect));
    check(digest_of("db.configure", PARAMETERS, &listed()[..1].to_vec(), &effect));
    let mut shared = listed();
    shared[0].1 = Some("shared");
    check(digest_of("db.configure", PARAMETERS, &shared, &effect));
    shared[0].1 = None;
    check(digest_of("db.configure", PARAMETERS, &shared, &effect));

    let declared = Effect::declared(report()).unwrap();
    check(digest_of("db.configure", PARAMETERS, &listed(), &declared));
    let edits: [fn(&mut Report); 9] = [
        |report| report.changes[0].resource = resource("service:api"),
        |report| report.changes[0].action = ChangeKind::Add,
        |report| report.changes[0].irreversible = true,
        |report| report.changes[0].summary.push('0'),
        |report| report.changes[0].before = Some(value("null")),
        |report| report.changes[0].before = None,
        |report| report.changes[0].after = Some(value("201")),
        |report| report.warnings.clear(),
        |report| report.errors.push("timeout".to_owned()),
    ];
    for edit in edits {
        let mut edited = report();
        edit(&mut edited);
        if edited.changes[0].action == ChangeKind::Add {
            edited.changes[0].before = None;
        }
        let effect = Effect::observed(edited).unwrap();
        check(digest_of("db.configure", PARAMETERS, &listed(), &effect));
    }
    let mut twice = report();
    twice.changes.push(twice.changes[0].clone());
    let effect = Effect::observed(twice).unwrap();
    check(digest_of("db.configure", PARAMETERS, &listed(), &effect));
}

#[test]
fn content_with_an_effect_on_an_unnamed_resource_is_refused() {
    let mut report = report();
    report.changes[0].resource = resource("database:prod-db-02");
    for effect in [Effect::observed(report.clone()).unwrap(), Effect::declared(report).unwrap()] {
        let refused = digest_of("db.configure", PARAMETERS, &listed(), &effect).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the effect touches database:prod-db-02, which the task does not list: add it to the \
             task"
        );
    }
}

#[test]
fn content_with_a_duplicate_resource_is_refused() {
    let effect = Effect::observed(report()).unwrap();
    let mut twice = listed();
    twice.push((resource("service:api"), Some("shared")));
    assert_eq!(
        digest_of("db.configure", PARAMETERS, &twice, &effect),
        Err(ContentError::RepeatedResource { resource: resource("service:api") })
    );
}

#[test]
fn content_resource_count_is_bounded_inclusively() {
    let effect = Effect::observed(Report::default()).unwrap();
    let many = |count: usize| -> Listed {
        (0..count).map(|number| (resource(&format!("db:{number}")), None)).collect()
    };
    assert!(digest_of("t", "{}", &many(TASK_RESOURCES_MAX), &effect).is_ok());
    let count = TASK_RESOURCES_MAX + 1;
    assert_eq!(
        digest_of("t", "{}", &many(count), &effect),
        Err(ContentError::TooManyResources { count })
    );
}

fn shape_of(resources: &Listed, touched: &str, summary: &str) -> Digest {
    let mut report = report();
    report.changes[0].resource = resource(touched);
    report.changes[0].summary = summary.to_owned();
    let effect = Effect::observed(report).unwrap();
    let resources = resources.iter().map(|(resource, mode)| (resource, *mode));
    content_shape("db.configure", &value(PARAMETERS), resources, &effect).unwrap()
}

#[test]
fn content_shape_leaves_out_resource_names() {
    let one = |name: &str| vec![(resource(name), Some("exclusive"))];
    let first = shape_of(&one("database:a"), "database:a", "more");
    assert_eq!(first, shape_of(&one("database:b"), "database:b", "more"), "another resource");
    assert_ne!(first, shape_of(&one("service:a"), "service:a", "more"), "another type");
    assert_ne!(first, shape_of(&one("database:a"), "database:a", "less"), "another change");
    let shared = vec![(resource("database:a"), Some("shared"))];
    assert_ne!(first, shape_of(&shared, "database:a", "more"), "another mode");
    let both = vec![(resource("database:a"), None), (resource("database:b"), None)];
    assert_ne!(
        shape_of(&both, "database:a", "more"),
        shape_of(&both, "database:b", "more"),
        "another of several",
    );
}
