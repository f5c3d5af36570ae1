//! Authentication: a route that is not open requires a known token.

use ade_core::access::Scope;
use ade_core::token::{KeyId, Secret, Token, TokenKind};
use ade_server::http;
use ade_server::http::routes::{RouteAuth, RouteError, Routes};
use utoipa_axum::routes;

use crate::test_server::{problem, shared};
use crate::world::World;

fn token() -> String {
    let (key_id, secret) = (KeyId::from_bytes([1; 11]), Secret::from_bytes([2; 32]));
    Token { kind: TokenKind::Agent, key_id, secret }.reveal()
}

#[tokio::test]
async fn closed_route_with_any_unknown_token_responds_alike() {
    let world = World::new().await;
    let rig = &world.rig;
    let closed = http::build(shared(&[])).unwrap().routes;
    let closed: Vec<_> = closed.iter().filter(|route| route.door != RouteAuth::Public).collect();
    assert!(!closed.is_empty());
    let known_shape = token();
    let mut wrong_sum = known_shape.clone();
    wrong_sum.replace_range(known_shape.len() - 1.., "~");
    for route in closed {
        let path = route.path.replace(['{', '}'], "");
        let anonymous = rig.request(route.method, &path).send().await.unwrap();
        let metadata = "https://ade.example.org/.well-known/oauth-protected-resource";
        let says = format!("Bearer resource_metadata=\"{metadata}\"");
        assert_eq!(anonymous.headers()["www-authenticate"], says);
        problem(anonymous, 401, "unauthenticated").await;
        let mut details = Vec::new();
        for given in [&known_shape, &wrong_sum, "x", ""] {
            let asked = rig.request(route.method, &path);
            let asked = asked.header("authorization", format!("Bearer {given}"));
            let body = problem(asked.send().await.unwrap(), 401, "unauthenticated").await;
            assert!(!body.to_string().contains(known_shape.as_str()));
            details.push(body["detail"].clone());
        }
        // That a text cannot be a token follows from its form alone.
        assert_eq!(details.remove(0), "the token is invalid");
        details.dedup();
        assert_eq!(details.len(), 1, "the responses to malformed tokens differ: {details:?}");
    }
}

#[tokio::test]
async fn credentials_in_another_form_or_twice_are_refused() {
    let world = World::new().await;
    let rig = &world.rig;
    let basic = rig.get("/v1/status").header("authorization", format!("Basic {}", token()));
    problem(basic.send().await.unwrap(), 401, "unauthenticated").await;
    let bearer = format!("Bearer {}", token());
    let twice = rig.get("/v1/status").header("authorization", &bearer);
    let twice = twice.header("authorization", &bearer);
    problem(twice.send().await.unwrap(), 401, "unauthenticated").await;
    let in_url = rig.get(&format!("/v1/status?access_token={}", token()));
    problem(in_url.send().await.unwrap(), 401, "unauthenticated").await;
}

#[utoipa::path(get, path = "/a", responses((status = 200, description = "x")))]
async fn handler() {}

#[tokio::test]
async fn route_line_that_differs_from_its_handler_is_refused() {
    for line in ["GET /b", "POST /a", "/a", "GET  /a"] {
        let table =
            Routes::new(shared(&[])).route(RouteAuth::Scope(Scope::Read), line, routes!(handler));
        let error = table.finish().err();
        assert_eq!(error, Some(RouteError::Differs { line, handler: "GET /a".to_owned() }));
    }
    assert!(
        Routes::new(shared(&[]))
            .route(RouteAuth::Public, "GET /a", routes!(handler))
            .finish()
            .is_ok()
    );
}
