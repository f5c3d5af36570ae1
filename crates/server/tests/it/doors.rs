//! Who is let in: nobody without a token that is known.

use ade_core::access::Class;
use ade_core::token::{KeyId, Kind, Secret, Token};
use ade_server::http;
use ade_server::http::routes::{Door, RouteError, Routes};
use utoipa_axum::routes;

use crate::rig::{problem, shared};
use crate::world::World;

fn token() -> String {
    let (key_id, secret) = (KeyId::from_bytes([1; 11]), Secret::from_bytes([2; 32]));
    Token { kind: Kind::Agent, key_id, secret }.reveal()
}

#[tokio::test]
async fn without_a_known_token_every_closed_route_says_the_same() {
    let world = World::new().await;
    let rig = &world.rig;
    let closed = http::build(shared(&[])).unwrap().routes;
    let closed: Vec<_> = closed.iter().filter(|route| route.door != Door::Open).collect();
    assert!(!closed.is_empty());
    let known_shape = token();
    let mut wrong_sum = known_shape.clone();
    wrong_sum.replace_range(known_shape.len() - 1.., "~");
    for route in closed {
        let path = route.path.replace(['{', '}'], "");
        let nobody = rig.request(route.method, &path).send().await.unwrap();
        let metadata = "https://ade.example.org/.well-known/oauth-protected-resource";
        let says = format!("Bearer resource_metadata=\"{metadata}\"");
        assert_eq!(nobody.headers()["www-authenticate"], says);
        problem(nobody, 401, "unauthenticated").await;
        let mut told = Vec::new();
        for given in [&known_shape, &wrong_sum, "x", ""] {
            let asked = rig.request(route.method, &path);
            let asked = asked.header("authorization", format!("Bearer {given}"));
            let body = problem(asked.send().await.unwrap(), 401, "unauthenticated").await;
            assert!(!body.to_string().contains(known_shape.as_str()));
            told.push(body["detail"].clone());
        }
        told.dedup();
        assert_eq!(told.len(), 1, "an unknown token is told apart from a wrong one: {told:?}");
    }
}

#[tokio::test]
async fn other_schemes_and_two_credentials_are_refused() {
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
async fn a_line_that_is_not_its_handler_builds_nothing() {
    for line in ["GET /b", "POST /a", "/a", "GET  /a"] {
        let table =
            Routes::new(shared(&[])).route(Door::Class(Class::Read), line, routes!(handler));
        let error = table.finish().err();
        assert_eq!(error, Some(RouteError::Differs { line, handler: "GET /a".to_owned() }));
    }
    assert!(
        Routes::new(shared(&[])).route(Door::Open, "GET /a", routes!(handler)).finish().is_ok()
    );
}
