//! `ade api`: sends one API request by method and path, with the same authentication, idempotency
//! keys and retries as every other command.

use ade_client::RawCall;
use serde_json::Value;

use crate::args::{ApiArgs, file_of};
use crate::context::{Context, text_of};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::{quiet_json, visible_lines};

pub async fn api(args: ApiArgs, cx: &Context) -> Result<Exit, Failure> {
    let client = cx.client()?;
    let body = match args.data.as_deref().map(|data| (data, file_of(data))) {
        None => None,
        Some((_, Some(file))) => Some(text_of(&file)?.into_bytes()),
        Some((data, None)) => Some(data.as_bytes().to_vec()),
    };
    let call = RawCall { method: args.method, path: args.path, body, version: args.if_match };
    let answer = client.raw(call).await?;
    cx.output.show(&answer, || match &answer {
        Value::String(text) => visible_lines(text),
        json => {
            let text = serde_json::to_string_pretty(json).unwrap_or_default();
            format!("{}\n", quiet_json(&text))
        }
    })?;
    Ok(Exit::Done)
}
