//! Properties of every response, for every caller and path.

use ade_core::ids::RequestId;

use crate::test_server::{TestServer, problem};
use crate::world::World;

const EVERYWHERE: &[&str] =
    &["/healthz", "/metrics", "/docs", "/nowhere", "/v1/status", "/test/panic"];

#[tokio::test]
async fn response_always_has_the_security_headers() {
    let rig = TestServer::start().await;
    for path in EVERYWHERE {
        for method in ["GET", "DELETE"] {
            let response = rig.request(method, path).send().await.unwrap();
            let headers = response.headers();
            for (name, value) in [
                ("cache-control", "no-store"),
                ("x-content-type-options", "nosniff"),
                ("x-frame-options", "DENY"),
                ("referrer-policy", "no-referrer"),
                ("cross-origin-opener-policy", "same-origin"),
                ("cross-origin-resource-policy", "same-origin"),
                ("strict-transport-security", "max-age=31536000; includeSubDomains"),
            ] {
                assert_eq!(headers[name], value, "{method} {path}");
            }
            let policy = headers["content-security-policy"].to_str().unwrap();
            assert!(policy.starts_with("default-src 'none'"), "{method} {path}: {policy}");
            assert!(policy.contains("frame-ancestors 'none'"), "{method} {path}: {policy}");
            assert!(headers.contains_key("permissions-policy"), "{method} {path}");
            assert!(!headers.contains_key("server"), "{method} {path}");
            assert!(!headers.contains_key("access-control-allow-origin"), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn request_id_is_always_new_and_never_the_callers() {
    let rig = TestServer::start().await;
    let mut seen = Vec::new();
    for path in EVERYWHERE {
        let asked = rig.get(path).header("x-request-id", "req_mine");
        let response = asked.send().await.unwrap();
        let id = response.headers()["x-request-id"].to_str().unwrap().to_owned();
        assert!(id.parse::<RequestId>().is_ok(), "{path}: {id}");
        seen.push(id);
    }
    assert!(seen.is_sorted(), "ids of later calls sort later: {seen:?}");
    seen.dedup();
    assert_eq!(seen.len(), EVERYWHERE.len());
}

#[tokio::test]
async fn unknown_path_or_wrong_method_returns_a_problem() {
    let rig = TestServer::start().await;
    let body = problem(rig.get("/nowhere").send().await.unwrap(), 404, "not_found").await;
    assert_eq!(body["type"], "/docs#not_found");
    let response = rig.request("DELETE", "/healthz").send().await.unwrap();
    assert_eq!(response.headers()["allow"], "GET,HEAD");
    problem(response, 405, "method_not_allowed").await;
    // A wrong method is reported before the missing authentication.
    let response = rig.request("DELETE", "/v1/status").send().await.unwrap();
    problem(response, 405, "method_not_allowed").await;
}

#[tokio::test]
async fn panic_in_a_handler_returns_an_error_without_its_message() {
    let rig = TestServer::start().await;
    let body = problem(rig.get("/test/panic").send().await.unwrap(), 500, "internal").await;
    assert!(!body.to_string().contains("hunter2"), "{body}");
    assert!(rig.get("/healthz").send().await.unwrap().status().is_success());
}

#[tokio::test]
async fn probes_report_readiness_and_draining() {
    let world = World::new().await;
    let rig = &world.rig;
    for path in ["/healthz", "/readyz"] {
        let response = rig.get(path).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let body: serde_json::Value = response.json().await.unwrap();
        assert_eq!(body["readiness"], "ready");
    }
    rig.shared.begin_draining();
    problem(rig.get("/readyz").send().await.unwrap(), 503, "draining").await;
    assert_eq!(rig.get("/healthz").send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn server_without_its_database_is_alive_but_not_ready() {
    let rig = TestServer::start().await;
    assert_eq!(rig.get("/healthz").send().await.unwrap().status(), 200);
    problem(rig.get("/readyz").send().await.unwrap(), 503, "database_unavailable").await;
}

#[tokio::test]
async fn metrics_have_route_templates_and_no_caller_data() {
    let rig = TestServer::start().await;
    for path in ["/healthz", "/nowhere/secret-path"] {
        let _ = rig.get(path).send().await.unwrap();
    }
    let _ = rig.request("BREW", "/healthz").send().await.unwrap();
    let text = rig.get("/metrics").send().await.unwrap().text().await.unwrap();
    for line in [
        r#"_count{method="GET",route="/healthz",status="200"} 1"#,
        r#"_count{method="GET",route="none",status="404"} 1"#,
        r#"_count{method="other",route="/healthz",status="405"} 1"#,
        "_bucket{",
    ] {
        let line = format!("ade_http_request_duration_seconds{line}");
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("secret-path") && !text.contains("BREW"), "{text}");
}
