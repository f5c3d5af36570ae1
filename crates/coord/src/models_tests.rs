//! Older writes, late deletes and moves between queues, on a real cluster.

use ade_testkit::Namespace;

use super::*;

struct TestModels {
    models: Models,
    tenant: TenantId,
}

impl TestModels {
    async fn new() -> Self {
        let servers = ade_testkit::Cluster::shared().await;
        let models = Models::new(Cluster::patient(&servers.urls().into()));
        Self { models, tenant: Namespace::fresh().tenant() }
    }

    async fn write(&self, task: &TaskModel) -> bool {
        self.models.write(self.tenant, task, false).await.unwrap()
    }

    /// Sets the number of the last event, as after a rebuild.
    async fn seen(&self, seq: u64) {
        assert!(self.models.begin_rebuild(self.tenant, "me", false).await.unwrap());
        assert!(self.models.end_rebuild(self.tenant, "me", seq, false).await.unwrap());
    }

    async fn version(&self, id: TaskId) -> Option<u64> {
        self.models.task(self.tenant, id).await.unwrap().map(|found| found.version)
    }

    /// Changes one field of a hash directly.
    async fn set(&self, key: &str, field: &str, value: &str) {
        let text = "#!lua\nreturn redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])";
        let script = Script::new("set", text.to_owned());
        let args = [field, value].map(|text| text.as_bytes().to_vec());
        let _: Value = self.models.cluster.run(&script, &[key.to_owned()], &args).await.unwrap();
    }

    async fn places(&self, reviewer: UserId) -> Option<Vec<QueuePosition>> {
        let found = self.models.queue(self.tenant, reviewer, 0).await.unwrap();
        found.map(|found| found.places)
    }
}

fn task(version: u64, requests: Vec<RequestModel>) -> TaskModel {
    let body = TaskBody {
        state: "REVIEWING".to_owned(),
        author: "usr_a".to_owned(),
        agent: None,
        task_type: "db.change".to_owned(),
        data: Some(format!("{{\"version\":{version}}}")),
    };
    TaskModel { id: TaskId::from_u128(1), version, body: Some(body), requests }
}

const REA: UserId = UserId::from_u128(7);

fn place(due_at: i64) -> QueuePosition {
    QueuePosition { due_at, score: 30, id: ApprovalId::from_u128(2) }
}

fn asked(due_at: i64) -> RequestModel {
    let place = place(due_at);
    RequestModel { reviewer: REA, place, data: Some("{}".to_owned()) }
}

fn over() -> RequestModel {
    RequestModel { data: None, ..asked(1) }
}

#[tokio::test]
async fn model_update_with_an_older_version_is_ignored() {
    let rig = TestModels::new().await;
    let id = TaskId::from_u128(1);
    assert_eq!(rig.version(id).await, None);
    rig.models.mark_whole(rig.tenant, REA).await.unwrap();
    rig.seen(5).await;
    assert!(rig.write(&task(3, vec![over()])).await);
    assert!(!rig.write(&task(2, vec![asked(1)])).await);
    assert_eq!(rig.version(id).await, Some(3));
    assert_eq!(rig.places(REA).await, Some(vec![]), "the request was closed before");
    assert!(rig.write(&task(3, vec![over()])).await, "writing the same version again succeeds");
    let must = rig.models.write(rig.tenant, &task(2, vec![asked(1)]), true).await.unwrap();
    assert!(must, "a rebuild may write an older version");
    assert_eq!(rig.places(REA).await, Some(vec![place(1)]));
}

#[tokio::test]
async fn model_of_a_deleted_task_stays_deleted() {
    let rig = TestModels::new().await;
    rig.write(&task(1, vec![])).await;
    let gone = TaskModel { version: 2, body: None, ..task(2, vec![]) };
    assert!(rig.write(&gone).await);
    let found = rig.models.task(rig.tenant, gone.id).await.unwrap().unwrap();
    assert_eq!((found.version, found.body), (2, None));
    assert!(!rig.write(&task(1, vec![])).await, "a late write");
    assert_eq!(rig.version(gone.id).await, Some(2));
}

#[tokio::test]
async fn model_queue_lists_an_open_request_once() {
    let rig = TestModels::new().await;
    rig.seen(5).await;
    rig.write(&task(1, vec![asked(10)])).await;
    assert_eq!(rig.places(REA).await, None, "the queue is not known to be complete");
    rig.models.mark_whole(rig.tenant, REA).await.unwrap();
    assert_eq!(rig.places(REA).await, Some(vec![place(10)]));
    rig.write(&task(2, vec![asked(20)])).await;
    assert_eq!(rig.places(REA).await, Some(vec![place(20)]));
    let data = rig.models.requests(rig.tenant, &[place(1).id]).await.unwrap();
    assert_eq!(data, [Some("{}".to_owned())]);
    rig.write(&task(3, vec![over()])).await;
    assert_eq!(rig.places(REA).await, Some(vec![]));
    assert_eq!(rig.models.requests(rig.tenant, &[place(1).id]).await.unwrap(), [None]);
    rig.models.forget_queue(rig.tenant, REA).await.unwrap();
    assert_eq!(rig.places(REA).await, None);
}

#[tokio::test]
async fn model_queue_behind_the_caller_is_not_served() {
    let rig = TestModels::new().await;
    rig.models.mark_whole(rig.tenant, REA).await.unwrap();
    assert_eq!(rig.places(REA).await, None, "no model has seen anything");
    rig.seen(5).await;
    rig.seen(4).await;
    assert_eq!(rig.models.head(rig.tenant).await.unwrap(), Some(5), "it does not go back");
    let asked = async |since| rig.models.queue(rig.tenant, REA, since).await.unwrap().is_some();
    assert!(asked(5).await);
    assert!(!asked(6).await);
}

#[tokio::test]
async fn model_of_a_task_with_many_requests_is_written_in_parts() {
    let rig = TestModels::new().await;
    rig.seen(1).await;
    rig.models.mark_whole(rig.tenant, REA).await.unwrap();
    let count = 2 * MODEL_REQUESTS_PER_CALL + 1;
    let many = (0..count as u128).map(|nth| {
        let id = ApprovalId::from_u128(nth);
        RequestModel { place: QueuePosition { id, ..place(1) }, ..asked(1) }
    });
    assert!(rig.write(&task(1, many.collect())).await);
    assert_eq!(rig.places(REA).await.unwrap().len(), count);
}

#[tokio::test]
async fn model_head_does_not_skip_lost_events() {
    let rig = TestModels::new().await;
    let head = async || rig.models.head(rig.tenant).await.unwrap();
    rig.models.move_head(rig.tenant, 3, 4).await.unwrap();
    assert_eq!(head().await, None, "it was at 3 before everything was lost");
    assert!(!rig.models.end_rebuild(rig.tenant, "me", 4, false).await.unwrap());
    assert_eq!(head().await, None, "the start of the rebuild was lost");
    rig.seen(5).await;
    rig.models.move_head(rig.tenant, 6, 7).await.unwrap();
    assert_eq!(head().await, Some(5), "a failover has lost what came after 5");
    rig.models.move_head(rig.tenant, 5, 7).await.unwrap();
    assert_eq!(head().await, Some(7));
    assert!(rig.models.begin_rebuild(rig.tenant, "me", false).await.unwrap());
    assert!(rig.models.end_rebuild(rig.tenant, "me", 2, true).await.unwrap());
    assert_eq!(head().await, Some(2), "a forced rebuild may lower it");
}

#[tokio::test]
async fn model_rebuild_has_one_builder_at_a_time() {
    let rig = TestModels::new().await;
    let (models, tenant) = (&rig.models, rig.tenant);
    let head = MODEL_HEAD.of(tenant);
    assert!(models.begin_rebuild(tenant, "me", false).await.unwrap());
    assert!(!models.begin_rebuild(tenant, "other", false).await.unwrap(), "it is running");
    assert!(!models.go_on_rebuilding(tenant, "other").await.unwrap());
    assert!(!models.end_rebuild(tenant, "other", 4, true).await.unwrap());
    rig.set(&head, "rebuild_until", "1").await;
    assert!(
        models.go_on_rebuilding(tenant, "me").await.unwrap(),
        "no other builder has taken over"
    );
    assert!(!models.begin_rebuild(tenant, "other", false).await.unwrap(), "it made progress");
    rig.set(&head, "rebuild_until", "1").await;
    assert!(models.begin_rebuild(tenant, "other", false).await.unwrap(), "it was silent");
    assert!(!models.go_on_rebuilding(tenant, "me").await.unwrap(), "its turn is over");
    assert!(!models.end_rebuild(tenant, "me", 4, false).await.unwrap());
    assert!(models.begin_rebuild(tenant, "who must", true).await.unwrap());
    assert!(!models.end_rebuild(tenant, "other", 5, false).await.unwrap());
    assert_eq!(models.head(tenant).await.unwrap(), None);
    assert!(models.end_rebuild(tenant, "who must", 6, false).await.unwrap());
    assert_eq!(models.head(tenant).await.unwrap(), Some(6));
    assert!(models.begin_rebuild(tenant, "me", false).await.unwrap(), "the last one ended");
    assert!(!models.give_up_rebuild(tenant, "other").await.unwrap(), "not its builder");
    assert!(models.give_up_rebuild(tenant, "me").await.unwrap());
    assert!(models.begin_rebuild(tenant, "other", false).await.unwrap(), "it was given up");
}

#[tokio::test]
async fn model_differences_are_counted_next_to_the_models() {
    let rig = TestModels::new().await;
    assert_eq!(rig.models.differences(rig.tenant, 0).await.unwrap(), (None, 0));
    assert_eq!(rig.models.head(rig.tenant).await.unwrap(), None, "reading stores nothing");
    rig.seen(4).await;
    assert_eq!(rig.models.differences(rig.tenant, 2).await.unwrap(), (Some(4), 2));
    assert_eq!(rig.models.differences(rig.tenant, 1).await.unwrap(), (Some(4), 3));
}

#[test]
fn model_place_round_trips_and_lifetimes_differ() {
    let place = place(-5);
    assert_eq!(QueuePosition::parse(&place.member()), Some(place));
    for wrong in ["", WHOLE, "1:2", "1:2:x", "x:2:appr_"] {
        assert_eq!(QueuePosition::parse(wrong), None, "{wrong}");
    }
    assert_ne!(life(1), life(2));
    for id in [0, 1, u128::MAX] {
        assert!(
            life(id) <= MODEL_KEPT_MAX
                && life(id) >= MODEL_KEPT_MAX.saturating_sub(MODEL_KEPT_JITTER)
        );
    }
}
