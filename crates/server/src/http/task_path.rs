//! Tasks in paths and queries: by id, or by number within the caller's tenant. Numbers are resolved
//! here for all routes; a number that the tenant does not have gets 404.

use ade_api::code::Code;
use ade_core::ids::TaskId;
use ade_core::task_ref::TaskRef;
use ade_engine::tasks;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::Path;
use super::state::Shared;

/// The only parameter of a path that names a task.
#[derive(Debug)]
pub struct TaskPath(pub TaskId);

impl FromRequestParts<Shared> for TaskPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, ApiError> {
        let Path(task) = Path::<TaskRef>::from_request_parts(parts, shared).await?;
        let Authenticated(caller) = Authenticated::from_request_parts(parts, shared).await?;
        Ok(Self(tasks::resolve(shared.app(), &caller, task).await?))
    }
}

/// Returns the object that a filter names. The number of a task stands for its id.
pub async fn object_of(
    shared: &Shared,
    caller: &ade_engine::Caller,
    object: Option<String>,
) -> Result<Option<String>, ApiError> {
    let task = object.as_ref().and_then(|object| object.parse::<TaskRef>().ok());
    let Some(task @ TaskRef::Number(_)) = task else { return Ok(object) };
    match tasks::resolve(shared.app(), caller, task).await {
        Ok(id) => Ok(Some(id.to_string())),
        Err(ade_engine::Error::NotFound { .. }) => {
            Err(ApiError::new(Code::NotFound, format!("there is no task {task}")))
        }
        Err(error) => Err(error.into()),
    }
}
