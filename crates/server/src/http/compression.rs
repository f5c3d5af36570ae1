//! Compresses large JSON responses for clients that accept it. Responses that contain a secret,
//! such as a new token, are far below the limit: their compressed length could reveal a part of it.
//! Event streams are not compressed, because the compressor would delay events.

use axum::http::header::CONTENT_TYPE;
use axum::http::{Extensions, HeaderMap, StatusCode, Version};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{And, Predicate as _, SizeAbove};

/// The size from which a response is compressed.
const LARGE_BYTES: u16 = 8 * 1024;

type IsJson = fn(StatusCode, Version, &HeaderMap, &Extensions) -> bool;

pub fn layer() -> CompressionLayer<And<SizeAbove, IsJson>> {
    let is_json: IsJson =
        |_, _, headers, _| headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(SizeAbove::new(LARGE_BYTES).and(is_json))
}
