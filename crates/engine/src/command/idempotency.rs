//! Idempotent requests: a key is reserved once, and a repeated request gets the stored response.

use ade_core::limits::IDEMPOTENCY_KEPT_FOR;
use ade_store::Tx;
use ade_store::idempotency::{self, IdempotencyKey, IdempotentResponse, KeyState, StoredResponse};
use serde::Serialize;

use super::{Reply, json};
use crate::caller::{Caller, IdempotentRequest};
use crate::error::Error;

/// Stores the response for a repeated request, if the request has an idempotency key.
pub async fn store_response(
    tx: &mut Tx,
    caller: &Caller,
    attempt: &IdempotentRequest,
    status: u16,
    body: &impl Serialize,
) -> Result<Reply, Error> {
    let body = json(body)?;
    if let Some(key) = key_of(caller, attempt) {
        let answer = IdempotentResponse { status, body: body.clone() };
        let expires_at = tx.now().plus(IDEMPOTENCY_KEPT_FOR);
        let kept = StoredResponse { key: &key, body: &attempt.body, answer: &answer, expires_at };
        idempotency::store_response(tx, &kept).await?;
    }
    Ok(Reply { status, body, is_repeated: false })
}

/// Reserves the idempotency key of the request, if it has one, as in [`with_new_key`].
pub async fn reserve_key(
    mut tx: Tx,
    caller: &Caller,
    attempt: &IdempotentRequest,
) -> Result<Tx, Error> {
    let Some(key) = key_of(caller, attempt) else { return Ok(tx) };
    match idempotency::reserve_key(&mut tx, &key, &attempt.body).await {
        Ok(claim) => with_new_key(tx, claim).await,
        Err(error) => {
            tx.roll_back().await;
            Err(error.into())
        }
    }
}

/// Returns the transaction if the key is new. A used key ends the request with the stored response
/// or an error; the transaction is rolled back first, so that the next request with this key does
/// not wait for it.
pub(crate) async fn with_new_key(tx: Tx, claim: KeyState) -> Result<Tx, Error> {
    let error = match claim {
        KeyState::New => return Ok(tx),
        KeyState::Answered(answer) => Error::Replayed(Reply::repeated(answer)),
        KeyState::OtherBody => Error::KeyReused,
        KeyState::InFlight => Error::KeyInFlight,
    };
    tx.roll_back().await;
    Err(error)
}

pub(crate) fn key_of(caller: &Caller, attempt: &IdempotentRequest) -> Option<IdempotencyKey> {
    let key = attempt.key.clone()?;
    Some(IdempotencyKey { principal: caller.principal(), route: attempt.route.clone(), key })
}
