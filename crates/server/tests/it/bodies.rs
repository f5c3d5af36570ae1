//! Validation of bodies, paths, queries, and the `If-Match` and `Idempotency-Key` headers.

use std::fmt::Write as _;

use ade_core::ids::TaskId;
use ade_core::limits::BODY_MAX_BYTES;
use serde_json::json;

use crate::test_server::{TestServer, problem, rest_of, send};
use crate::world::World;

const LETTER: &str = r#"{"title":"x","items":[{"count":1}]}"#;

#[tokio::test]
async fn json_body_with_a_json_media_type_is_accepted() {
    let rig = TestServer::start().await;
    for media in ["application/json", "application/json; charset=utf-8", "Application/JSON"] {
        let asked = rig.post("/test/echo").header("content-type", media).body(LETTER);
        let response = asked.send().await.unwrap();
        assert_eq!(response.status(), 200, "{media}");
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(response.text().await.unwrap(), LETTER);
    }
}

#[tokio::test]
async fn json_body_with_another_media_type_is_refused() {
    let rig = TestServer::start().await;
    for media in ["text/plain", "application/x-www-form-urlencoded", "application/json5", ""] {
        let asked = rig.post("/test/echo").header("content-type", media).body(LETTER);
        problem(asked.send().await.unwrap(), 415, "unsupported_media_type").await;
    }
    let asked = rig.post("/test/echo").body(LETTER);
    problem(asked.send().await.unwrap(), 415, "unsupported_media_type").await;
}

#[tokio::test]
async fn ambiguous_or_malformed_json_body_is_refused() {
    let rig = TestServer::start().await;
    let deep = format!("{}{}", "[".repeat(33), "]".repeat(33));
    let far = "[".repeat(100_000);
    for bad in
        [r#"{"title":"x","title":"y","items":[]}"#, "{", "", "{} {}", "\u{feff}{}", &deep, &far]
    {
        let response = rig.json("/test/echo", bad.to_owned()).send().await.unwrap();
        problem(response, 400, "malformed_body").await;
    }
    let response = rig.json("/test/echo", vec![b'"', 0xff, b'"']).send().await.unwrap();
    problem(response, 400, "malformed_body").await;
}

#[tokio::test]
async fn invalid_field_is_reported_with_its_path() {
    let rig = TestServer::start().await;
    for (bad, path) in [
        (r#"{"title":"x","items":[{"count":1},{"count":-1}]}"#, "items[1].count"),
        (r#"{"title":"x","items":[],"state":"APPROVED"}"#, "state"),
        (r#"{"title":7,"items":[]}"#, "title"),
    ] {
        let response = rig.json("/test/echo", bad).send().await.unwrap();
        let body = problem(response, 422, "invalid_body").await;
        assert_eq!(body["path"], path, "{body}");
    }
}

#[tokio::test]
async fn body_over_the_limit_is_refused_with_or_without_a_length() {
    let rig = TestServer::start().await;
    let fits = format!("{{\"title\":\"{}\",\"items\":[]}}", "x".repeat(BODY_MAX_BYTES - 23));
    assert_eq!(fits.len(), BODY_MAX_BYTES);
    assert_eq!(rig.json("/test/echo", fits.clone()).send().await.unwrap().status(), 200);
    // A body with a length is refused before it is sent.
    let mut stream = rig.connect().await;
    let mut head = String::from("POST /test/echo HTTP/1.1\r\nhost: x\r\n");
    let _ =
        write!(head, "content-type: application/json\r\ncontent-length: {}\r\n\r\n", 1_u64 << 40);
    send(&mut stream, &head).await;
    let answer = rest_of(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.contains("\"body_too_large\"") && answer.contains("1048576"), "{answer}");
    // A body without a length is read up to the limit.
    let mut stream = rig.connect().await;
    let head = "POST /test/echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    let head = format!("{head}connection: close\r\ntransfer-encoding: chunked\r\n\r\n");
    send(&mut stream, &head).await;
    send(&mut stream, &format!("{:x}\r\n{fits} \r\n0\r\n\r\n", fits.len() + 1)).await;
    let answer = rest_of(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{}", &answer[..200.min(answer.len())]);
}

#[tokio::test]
async fn body_that_does_not_arrive_times_out() {
    let rig = TestServer::with(&[("body_timeout_s", "1")]).await;
    let mut stream = rig.connect().await;
    let head = "POST /test/echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    send(&mut stream, &format!("{head}content-length: 35\r\n\r\n{{\"title\"")).await;
    let answer = rest_of(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("\"request_timeout\""), "{answer}");
}

#[tokio::test]
async fn malformed_id_in_a_path_is_not_found() {
    let rig = TestServer::start().await;
    let id = TaskId::from_u128(7);
    let good = rig.get(&format!("/test/tasks/{id}?size=3")).send().await.unwrap();
    assert_eq!(good.text().await.unwrap(), format!("\"{id} 3\""));
    for bad in ["x", "usr_00000000000000000000000007", "%ff", "task_%00"] {
        let response = rig.get(&format!("/test/tasks/{bad}")).send().await.unwrap();
        problem(response, 404, "not_found").await;
    }
}

#[tokio::test]
async fn invalid_query_is_reported_with_its_parameter() {
    let rig = TestServer::start().await;
    let id = TaskId::from_u128(7);
    for (query, says) in [
        ("size=x", "size"),
        ("colour=red", "colour"),
        ("size=1&size=2", "size"),
        ("size=", "`size` is empty"),
        ("size", "`size` is empty"),
        ("size=1&size=", "`size` is empty"),
    ] {
        let response = rig.get(&format!("/test/tasks/{id}?{query}")).send().await.unwrap();
        let body = problem(response, 400, "invalid_query").await;
        assert!(body["detail"].as_str().unwrap().contains(says), "{body}");
    }
}

#[tokio::test]
async fn if_match_header_is_required_and_has_one_spelling() {
    let rig = TestServer::start().await;
    let patch = || rig.request("PATCH", "/test/versions");
    problem(patch().send().await.unwrap(), 428, "precondition_required").await;
    for bad in ["7", "\"x\"", "W/\"7\"", "*", "\"7\", \"8\"", "\"007\"", "\"+7\"", "\"-1\"", ""] {
        let response = patch().header("if-match", bad).send().await.unwrap();
        problem(response, 400, "malformed_request").await;
    }
    let twice = patch().header("if-match", "\"7\"").header("if-match", "\"7\"");
    problem(twice.send().await.unwrap(), 400, "malformed_request").await;
    let good = patch().header("if-match", "\"7\"").send().await.unwrap();
    assert_eq!(good.text().await.unwrap(), "\"7 \"");
}

#[tokio::test]
async fn idempotency_key_must_be_short_visible_ascii() {
    let rig = TestServer::start().await;
    let patch = || rig.request("PATCH", "/test/versions").header("if-match", "\"1\"");
    let longest = "k".repeat(256);
    for good in ["a", "2f1c-77", longest.as_str()] {
        let response = patch().header("idempotency-key", good).send().await.unwrap();
        assert_eq!(response.text().await.unwrap(), format!("\"1 {good}\""));
    }
    let too_long = "k".repeat(257);
    for bad in ["", "a b", "ä", too_long.as_str()] {
        let response = patch().header("idempotency-key", bad).send().await.unwrap();
        problem(response, 400, "malformed_request").await;
    }
}

#[tokio::test]
async fn text_with_a_null_character_is_refused() {
    let rig = TestServer::start().await;
    let letter = |title: &str| format!(r#"{{"title":"{title}","items":[]}}"#);
    for bad in [r"a\u0000b", r"\\\u0000", r"\u0000"] {
        let response = rig.json("/test/echo", letter(bad)).send().await.unwrap();
        problem(response, 422, "invalid_body").await;
    }
    for good in [r"\\u0000", r"\u0001", r"u0000", r"\\\\u0000"] {
        let response = rig.json("/test/echo", letter(good)).send().await.unwrap();
        assert_eq!(response.status(), 200, "{good}");
    }
    let id = TaskId::from_u128(7);
    let response = rig.get(&format!("/test/tasks/{id}?size=%00")).send().await.unwrap();
    problem(response, 400, "invalid_query").await;
    problem(rig.get("/test/tasks/a%00").send().await.unwrap(), 404, "not_found").await;
}

/// Covers U+0000, which PostgreSQL cannot store in a text, lists in place of objects, and texts
/// that are too long.
#[tokio::test]
async fn value_the_database_cannot_store_is_refused_before_writing() {
    let world = World::new().await;
    let token = &world.admin.token;
    for (path, body) in [
        ("/v1/users", json!({ "name": "a\0b" })),
        ("/v1/users", json!({ "name": "a", "roles": ["\0"] })),
        ("/v1/tokens", json!({ "scopes": ["read"], "label": "\0" })),
        ("/v1/tasks", json!({ "title": "x", "parameters": { "a": ["\\", "\0"] } })),
    ] {
        world.post(token, path, body).await.refused(422, "invalid_body");
    }
    for path in ["/v1/audit?object=%00", "/v1/tasks?tag=a%00", "/v1/tasks?type=%00x"] {
        world.get(token, path).await.refused(400, "invalid_query");
    }
    let gone = world.send("DELETE", token, "/v1/tokens/%00", None, &[]).await;
    gone.refused(404, "not_found");
    // After an escaped backslash, the same letters are ordinary characters.
    world.post(token, "/v1/users", json!({ "name": "a\\u0000" })).await.expect(201);
    for body in [json!([null, null]), json!("x"), json!(null)] {
        let path = "/v1/resources/database/orders";
        world.send("PUT", token, path, Some(body), &[]).await.refused(422, "invalid_body");
    }
    for field in ["email", "issuer", "subject"] {
        for bad in [String::new(), "x".repeat(257)] {
            let body = json!({ "name": "a", field: bad });
            world.post(token, "/v1/users", body).await.refused(422, "invalid_body");
        }
    }
    let long = format!("/v1/audit?object={}", "x".repeat(513));
    world.get(token, &long).await.refused(400, "invalid_query");
}
