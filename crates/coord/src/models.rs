//! Read models: tasks, open requests and reviewer queues at some version, for frequent readers.
//! PostgreSQL stays the source of truth. Older versions never replace newer ones, values and queues
//! change in one script, and the position of a tenant's models is stored in the same slot: a
//! failover loses them together.

use std::sync::Arc;
use std::time::Duration;

use ade_core::ids::{ApprovalId, TaskId, TenantId, UserId};
use ade_core::limits::{
    MODEL_KEPT_JITTER, MODEL_KEPT_MAX, MODEL_QUEUE_MAX, MODEL_REQUESTS_PER_CALL,
    MODEL_TOMBSTONE_KEPT,
};
use redis::Value;

use crate::cluster::Cluster;
use crate::error::CoordError;
use crate::keys::{APPROVAL_QUEUE, APPROVAL_REQUEST, MODEL_HEAD, TASK_DATA, TASK_STATE};
use crate::reply::Words;
use crate::script::Script;

/// A rebuild without progress for this long counts as dead; above the time of one page on a busy
/// machine.
const MODEL_REBUILD_SILENCE: Duration = Duration::from_secs(10);

/// The member of a queue that marks it as complete.
const WHOLE: &str = "whole";
const YES: &str = "1";
const NONE: i64 = -1;

/// A task to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskModel {
    pub id: TaskId,
    pub version: u64,
    /// The content; `None` for a deleted task.
    pub body: Option<TaskBody>,
    /// All requests of the task, open or not.
    pub requests: Vec<RequestModel>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskBody {
    pub state: String,
    pub author: String,
    pub agent: Option<String>,
    pub task_type: String,
    /// The data; `None` if it is too large to be stored.
    pub data: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestModel {
    pub reviewer: UserId,
    pub place: QueuePosition,
    /// The data; `None` once the request is closed.
    pub data: Option<String>,
}

/// The place of a request in the queue of its reviewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePosition {
    /// The due time in microseconds since 1970.
    pub due_at: i64,
    pub score: u32,
    pub id: ApprovalId,
}

impl QueuePosition {
    fn member(self) -> String {
        format!("{}:{}:{}", self.due_at, self.score, self.id)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(3, ':');
        let (due_at, score) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Self { due_at, score, id: words.next()?.parse().ok()? })
    }
}

/// A task as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTask {
    /// The position of the tenant's models; `None` if it is unknown.
    pub head: Option<u64>,
    pub version: u64,
    pub body: Option<FoundBody>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundBody {
    pub author: String,
    pub agent: Option<String>,
    pub task_type: String,
    pub data: Option<String>,
}

/// All open requests of a person, unordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundQueue {
    pub head: u64,
    pub places: Vec<QueuePosition>,
}

#[derive(Debug, Clone)]
pub struct Models {
    cluster: Cluster,
    scripts: Arc<Scripts>,
}

#[derive(Debug)]
struct Scripts {
    write: Script,
    read_task: Script,
    read_queue: Script,
    read_requests: Script,
    mark_queue: Script,
    head: Script,
    rebuild: Script,
    differences: Script,
}

impl Models {
    pub fn new(cluster: Cluster) -> Self {
        let script = |name, text: &str| Script::new(name, text.to_owned());
        let scripts = Scripts {
            write: script("model_write", include_str!("../lua/model/write.lua")),
            read_task: script("model_read_task", include_str!("../lua/model/read_task.lua")),
            read_queue: script("model_read_queue", include_str!("../lua/model/read_queue.lua")),
            read_requests: script(
                "model_read_requests",
                include_str!("../lua/model/read_requests.lua"),
            ),
            mark_queue: script("model_mark_queue", include_str!("../lua/model/mark_queue.lua")),
            head: script("model_head", include_str!("../lua/model/head.lua")),
            rebuild: script("model_rebuild", include_str!("../lua/model/rebuild.lua")),
            differences: script("model_differences", include_str!("../lua/model/differences.lua")),
        };
        Self { cluster, scripts: Arc::new(scripts) }
    }

    /// Writes a task unless the stored version is newer, or in any case with `must`. Returns
    /// whether it was written.
    pub async fn write(
        &self,
        tenant: TenantId,
        task: &TaskModel,
        must: bool,
    ) -> Result<bool, CoordError> {
        let mut parts = task.requests.chunks(MODEL_REQUESTS_PER_CALL);
        let mut is_news = self.write_part(tenant, task, parts.next().unwrap_or(&[]), must).await?;
        for part in parts {
            if !is_news {
                break;
            }
            is_news = self.write_part(tenant, task, part, must).await?;
        }
        Ok(is_news)
    }

    async fn write_part(
        &self,
        tenant: TenantId,
        task: &TaskModel,
        requests: &[RequestModel],
        must: bool,
    ) -> Result<bool, CoordError> {
        let mut keys = vec![TASK_STATE.of_one(tenant, task.id), TASK_DATA.of_one(tenant, task.id)];
        let body = task.body.as_ref();
        let word = |of: fn(&TaskBody) -> Option<&str>| {
            body.and_then(of).unwrap_or_default().to_owned().into_bytes()
        };
        let mut args = vec![
            number(task.version),
            flag(must),
            number(millis(life(task.id.uuid().as_u128()))),
            number(millis(MODEL_TOMBSTONE_KEPT)),
            flag(body.is_some()),
            word(|body| Some(&body.state)),
            word(|body| Some(&body.author)),
            word(|body| body.agent.as_deref()),
            word(|body| Some(&body.task_type)),
            word(|body| body.data.as_deref()),
        ];
        for request in requests {
            let place = request.place;
            keys.push(APPROVAL_REQUEST.of_one(tenant, place.id));
            keys.push(APPROVAL_QUEUE.of_one(tenant, request.reviewer));
            let data = request.data.clone().unwrap_or_default();
            args.extend([
                place.member().into_bytes(),
                number(place.score.into()),
                data.into_bytes(),
            ]);
        }
        Ok(self.ask(&self.scripts.write, &keys, &args).await?.integer()? == 1)
    }

    pub async fn task(
        &self,
        tenant: TenantId,
        id: TaskId,
    ) -> Result<Option<FoundTask>, CoordError> {
        let keys =
            [TASK_STATE.of_one(tenant, id), TASK_DATA.of_one(tenant, id), MODEL_HEAD.of(tenant)];
        let mut words = self.ask(&self.scripts.read_task, &keys, &[]).await?;
        if words.is_empty() {
            return Ok(None);
        }
        let (head, version, is_gone) = (words.integer()?, words.number()?, words.text()? == YES);
        let (author, agent, task_type) = (words.text()?, words.text()?, words.text()?);
        let data = words.text()?;
        words.end()?;
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        let body = FoundBody { author, agent: some(agent), task_type, data: some(data) };
        let head = u64::try_from(head).ok();
        Ok(Some(FoundTask { head, version, body: (!is_gone).then_some(body) }))
    }

    /// Returns the queue; `None` if it is incomplete or too long, or if the models have not reached
    /// `since`.
    pub async fn queue(
        &self,
        tenant: TenantId,
        reviewer: UserId,
        since: u64,
    ) -> Result<Option<FoundQueue>, CoordError> {
        let keys = [MODEL_HEAD.of(tenant), APPROVAL_QUEUE.of_one(tenant, reviewer)];
        let most = MODEL_QUEUE_MAX as u64;
        let args = [number(since), number(most), WHOLE.as_bytes().to_vec()];
        let mut words = self.ask(&self.scripts.read_queue, &keys, &args).await?;
        if words.is_empty() {
            return Ok(None);
        }
        let head = words.number()?;
        let mut places = Vec::new();
        while !words.is_empty() {
            let member = words.text()?;
            let place = QueuePosition::parse(&member);
            places.push(
                place.ok_or_else(|| words.wrong(format!("`{member}` is not a queue place")))?,
            );
        }
        Ok(Some(FoundQueue { head, places }))
    }

    /// Returns the requests in the given order; `None` for one that is not open or not known.
    pub async fn requests(
        &self,
        tenant: TenantId,
        ids: &[ApprovalId],
    ) -> Result<Vec<Option<String>>, CoordError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<String> = ids.iter().map(|id| APPROVAL_REQUEST.of_one(tenant, id)).collect();
        let mut words = self.ask(&self.scripts.read_requests, &keys, &[]).await?;
        let mut found = Vec::with_capacity(ids.len());
        for _ in ids {
            let text = words.text()?;
            found.push((!text.is_empty()).then_some(text));
        }
        words.end()?;
        Ok(found)
    }

    /// Marks the queue of this person as complete.
    pub async fn mark_whole(&self, tenant: TenantId, reviewer: UserId) -> Result<(), CoordError> {
        self.mark(tenant, reviewer, WHOLE).await
    }

    pub async fn forget_queue(&self, tenant: TenantId, reviewer: UserId) -> Result<(), CoordError> {
        self.mark(tenant, reviewer, "").await
    }

    async fn mark(&self, tenant: TenantId, reviewer: UserId, mark: &str) -> Result<(), CoordError> {
        let keys = [APPROVAL_QUEUE.of_one(tenant, reviewer)];
        let life = number(millis(life(reviewer.uuid().as_u128())));
        let args = [mark.as_bytes().to_vec(), life];
        self.ask(&self.scripts.mark_queue, &keys, &args).await.map(drop)
    }

    /// Returns the number of the last event that all models of this tenant contain.
    pub async fn head(&self, tenant: TenantId) -> Result<Option<u64>, CoordError> {
        let keys = [MODEL_HEAD.of(tenant)];
        let args = [Vec::new(), Vec::new()];
        let head = self.ask(&self.scripts.head, &keys, &args).await?.integer()?;
        Ok((head != NONE).then(|| u64::try_from(head).unwrap_or_default()))
    }

    /// Advances the number from its expected value; otherwise it is left unchanged.
    pub async fn move_head(&self, tenant: TenantId, from: u64, to: u64) -> Result<(), CoordError> {
        let keys = [MODEL_HEAD.of(tenant)];
        self.ask(&self.scripts.head, &keys, &[number(to), number(from)]).await.map(drop)
    }

    /// Starts a rebuild of this tenant's models. Returns `false` while another process rebuilds
    /// them, unless the caller `must`.
    pub async fn begin_rebuild(
        &self,
        tenant: TenantId,
        by: &str,
        must: bool,
    ) -> Result<bool, CoordError> {
        self.ask_rebuild(tenant, by, b"begin".to_vec(), must, MODEL_REBUILD_SILENCE).await
    }

    /// Reports progress of a rebuild. Returns `false` if another process has the turn, or the
    /// models were lost meanwhile.
    pub async fn go_on_rebuilding(&self, tenant: TenantId, by: &str) -> Result<bool, CoordError> {
        self.ask_rebuild(tenant, by, b"go_on".to_vec(), false, MODEL_REBUILD_SILENCE).await
    }

    /// Gives up an unfinished rebuild, so that the next one may start immediately.
    pub async fn give_up_rebuild(&self, tenant: TenantId, by: &str) -> Result<bool, CoordError> {
        self.ask_rebuild(tenant, by, b"go_on".to_vec(), false, Duration::ZERO).await
    }

    /// Ends a rebuild that contains all events up to this number. Returns `false` as
    /// [`Models::go_on_rebuilding`] does. The number is lowered only with `must`.
    pub async fn end_rebuild(
        &self,
        tenant: TenantId,
        by: &str,
        seq: u64,
        must: bool,
    ) -> Result<bool, CoordError> {
        self.ask_rebuild(tenant, by, number(seq), must, MODEL_REBUILD_SILENCE).await
    }

    async fn ask_rebuild(
        &self,
        tenant: TenantId,
        by: &str,
        what: Vec<u8>,
        must: bool,
        silence: Duration,
    ) -> Result<bool, CoordError> {
        let args = [by.as_bytes().to_vec(), what, flag(must), number(millis(silence))];
        let keys = [MODEL_HEAD.of(tenant)];
        Ok(self.ask(&self.scripts.rebuild, &keys, &args).await?.integer()? == 1)
    }

    /// Returns the number of the last event and the differences found since the models were last
    /// lost, after adding `more`.
    pub async fn differences(
        &self,
        tenant: TenantId,
        more: u64,
    ) -> Result<(Option<u64>, u64), CoordError> {
        let keys = [MODEL_HEAD.of(tenant)];
        let mut words = self.ask(&self.scripts.differences, &keys, &[number(more)]).await?;
        let head = words.integer()?;
        Ok((u64::try_from(head).ok(), words.number()?))
    }

    /// Checks that every master answers in time.
    pub async fn ping(&self) -> Result<(), CoordError> {
        self.cluster.ping().await
    }

    async fn ask(
        &self,
        script: &Script,
        keys: &[String],
        args: &[Vec<u8>],
    ) -> Result<Words, CoordError> {
        let value: Value = self.cluster.run(script, keys, args).await?;
        Words::of(script.name(), value)
    }
}

/// The lifetime of a value, with a jitter derived from its id, so that not all expire at once.
fn life(id: u128) -> Duration {
    let spread = u128::from(MODEL_KEPT_JITTER.as_secs().max(1));
    let less = u64::try_from(id % spread).unwrap_or_default();
    MODEL_KEPT_MAX.saturating_sub(Duration::from_secs(less))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn number(value: u64) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn flag(is_set: bool) -> Vec<u8> {
    if is_set { YES.as_bytes().to_vec() } else { b"0".to_vec() }
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
