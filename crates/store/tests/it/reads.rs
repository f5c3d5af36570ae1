//! Reads for display: tasks, lists, queues and the audit are returned as written, page by page
//! without gaps or repetitions, and never to another tenant.

use std::collections::BTreeSet;
use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::approval::{Answer, ApprovalStatus};
use ade_core::audit::EntryKind;
use ade_core::ids::{AgentId, ApprovalId, TaskId, UserId};
use ade_core::risk::{Level, Priority, Score, queue_score};
use ade_core::samples::{ALICE, AUTHOR, BOB, World, content, user, vote, worker};
use ade_core::task::{Command, State, Task};
use ade_core::time::Timestamp;
use ade_store::approvals::{self, QueuePlace};
use ade_store::audit::{self, FoundBy};
use ade_store::tasks::{self, TaskFilter, TaskOrder};

use crate::sample::{body, heading, insert, load, rig, step};
use crate::test_database::{TestDatabase, run};

const AUTHORS: TaskFilter = TaskFilter {
    states: Vec::new(),
    author: Some(AUTHOR),
    agent: None,
    task_type: None,
    resource: None,
    tag: None,
    level: None,
    title: None,
    created_from: None,
    created_before: None,
    order: TaskOrder::NewestFirst,
};

async fn submit(rig: &TestDatabase, world: &World, id: TaskId) -> Task {
    let task = load(rig, id).await.unwrap();
    let submit = Command::Submit { content: task.content, pins: world.pins() };
    step(rig, world, id, &user(AUTHOR), &submit).await
}

async fn review(rig: &TestDatabase, world: &World, number: u128) -> Task {
    let task = insert(rig, world, number).await;
    submit(rig, world, task.id).await;
    step(rig, world, task.id, &worker(), &Command::OpenReview).await
}

async fn listed(rig: &TestDatabase, filter: &TaskFilter, limit: u32) -> Vec<u128> {
    let mut tx = rig.begin().await;
    let (mut after, mut found) = (None, Vec::new());
    loop {
        let page = tasks::list(&mut tx, filter, after, limit).await.unwrap();
        assert!(page.tasks.len() <= usize::try_from(limit).unwrap());
        found.extend(page.tasks.iter().map(|task| task.id.uuid().as_u128()));
        match page.next {
            Some(next) => {
                let is_oldest = filter.order == TaskOrder::OldestFirst;
                let advances = after.is_none_or(|before| (next > before) == is_oldest);
                assert!(advances && after != Some(next), "every page advances");
                after = Some(next);
            }
            None => return found,
        }
    }
}

#[tokio::test]
async fn task_view_shows_its_content_and_state() {
    let (rig, world) = rig().await;
    let task = insert(&rig, &world, 1).await;
    let mut next = content("second");
    next.subject.tags = BTreeSet::from(["blue".to_owned(), "amber".to_owned()]);
    step(&rig, &world, task.id, &user(AUTHOR), &Command::Amend { content: next.clone() }).await;
    let task = submit(&rig, &world, task.id).await;
    let mut tx = rig.begin().await;
    let view = tasks::view(&mut tx, task.id).await.unwrap().unwrap();
    assert_eq!((view.id, view.number, &view.heading), (task.id, 1, &heading()));
    assert_eq!((view.state, view.since, view.version), (task.state, task.since, task.version));
    assert_eq!(view.involvement, task.involvement);
    assert_eq!((view.created_at, view.updated_at, view.closed_at), (rig.now, rig.now, None));
    let (shown, given) = (&view.revision, body());
    assert_eq!((shown.head.revision, shown.head.digest), (2, next.digest));
    assert_eq!((shown.head.editor, shown.head.created_at), (Some(AUTHOR), rig.now));
    assert_eq!(shown.tags, ["amber", "blue"]);
    let database = "database:prod-db-01".parse().unwrap();
    assert_eq!(shown.resources, [(database, Some("shared".to_owned()))]);
    assert_eq!((&shown.parameters, &shown.effect), (&given.parameters, &given.effect));
    assert_eq!(shown.versions, given.versions);
    assert_eq!(shown.author_roles, next.subject.author_roles.into_iter().collect::<Vec<_>>());

    let heads = tasks::revisions(&mut tx, task.id).await.unwrap();
    assert_eq!(heads.iter().map(|head| head.revision).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(heads[0], shown.head);
    let first = tasks::revision(&mut tx, task.id, 1).await.unwrap().unwrap();
    assert_eq!((first.head, first.tags), (heads[1].clone(), Vec::new()));
    for none in [0, 3, u32::MAX] {
        assert_eq!(tasks::revision(&mut tx, task.id, none).await.unwrap(), None);
    }
    let rated = tasks::risk(&mut tx, task.id).await.unwrap().unwrap();
    assert_eq!(rated, given.risk);
    let gone = TaskId::from_u128(9);
    assert_eq!(tasks::view(&mut tx, gone).await.unwrap(), None);
    let versions = tasks::versions(&mut tx, &[gone, task.id]).await.unwrap();
    assert_eq!(versions, [(task.id, task.version, State::Submitted)]);
}

#[tokio::test]
async fn comments_are_listed_in_creation_order() {
    let (rig, world) = rig().await;
    let task = review(&rig, &world, 1).await;
    for number in 1..=5 {
        let comment = Command::Comment { text: format!("word {number}") };
        step(&rig, &world, task.id, &user(AUTHOR), &comment).await;
    }
    let mut tx = rig.begin().await;
    let first = tasks::comments(&mut tx, task.id, None, 3).await.unwrap();
    let rest = tasks::comments(&mut tx, task.id, first.last().map(|last| last.seq), 3).await;
    let all: Vec<_> = first.into_iter().chain(rest.unwrap()).collect();
    let bodies: Vec<&str> = all.iter().map(|comment| comment.body.as_str()).collect();
    assert_eq!(bodies, ["word 1", "word 2", "word 3", "word 4", "word 5"]);
    assert!(all.iter().all(|comment| comment.actor == user(AUTHOR) && comment.at == rig.now));
}

#[tokio::test]
async fn task_list_has_each_task_once_newest_first() {
    let (rig, world) = rig().await;
    for number in 1..=7 {
        insert(&rig, &world, number).await;
    }
    for limit in [1, 2, 3, 7, 50] {
        assert_eq!(listed(&rig, &TaskFilter::default(), limit).await, [7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(listed(&rig, &AUTHORS, limit).await, [7, 6, 5, 4, 3, 2, 1], "by {limit}");
    }
    let mut tx = rig.begin().await;
    let page = tasks::list(&mut tx, &TaskFilter::default(), None, 1).await.unwrap();
    let summary = &page.tasks[0];
    assert_eq!((summary.number, summary.title.as_str()), (7, "Add an index"));
    assert_eq!((summary.state, summary.author), (State::Draft, AUTHOR));
    assert_eq!(summary.resources, ["database:prod-db-01"]);
}

/// There are twenty of one kind, and only the oldest three match the other filter: a page continues
/// beyond the ids that usually fill it.
#[tokio::test]
async fn task_list_searches_until_the_page_is_full() {
    let (rig, world) = rig().await;
    for number in 1..=20 {
        insert(&rig, &world, number).await;
    }
    for number in 1..=3 {
        submit(&rig, &world, TaskId::from_u128(number)).await;
    }
    let task_type = Some(content("any").subject.task_type);
    let filter = TaskFilter { task_type, states: vec![State::Submitted], ..TaskFilter::default() };
    for limit in [1, 2, 3, 4, 9, 10, 11, 50] {
        assert_eq!(listed(&rig, &filter, limit).await, [3, 2, 1], "by {limit}");
    }
    let mut tx = rig.begin().await;
    let page = tasks::list(&mut tx, &filter, None, 2).await.unwrap();
    assert_eq!(page.tasks.len(), 2, "found behind seventeen others, in one page");
}

#[tokio::test]
async fn task_list_filters_work_alone_and_combined() {
    let (rig, world) = rig().await;
    for number in 1..=6 {
        insert(&rig, &world, number).await;
    }
    let mut tagged = content("other");
    tagged.subject.tags = BTreeSet::from(["blue".to_owned()]);
    tagged.subject.task_type = "database.vacuum".to_owned();
    tagged.subject.resources = BTreeSet::from(["database:other".parse().unwrap()]);
    tagged.level = Level::Critical;
    for number in [2, 4, 5] {
        let amend = Command::Amend { content: tagged.clone() };
        step(&rig, &world, TaskId::from_u128(number), &user(AUTHOR), &amend).await;
    }
    // The tag is only on an old revision, which does not count.
    let back = Command::Amend { content: content("third") };
    step(&rig, &world, TaskId::from_u128(5), &user(AUTHOR), &back).await;
    submit(&rig, &world, TaskId::from_u128(4)).await;
    submit(&rig, &world, TaskId::from_u128(1)).await;
    let cancel = Command::Cancel { reason: None };
    step(&rig, &world, TaskId::from_u128(3), &user(AUTHOR), &cancel).await;
    let mut admin = rig.database.connect().await;
    let agent = AgentId::from_u128(1);
    run(
        &mut admin,
        &format!(
            "UPDATE task SET agent_id = '{}' WHERE id IN ('{}', '{}')",
            agent.uuid(),
            TaskId::from_u128(2).uuid(),
            TaskId::from_u128(6).uuid()
        ),
    )
    .await;
    let tag = TaskFilter { tag: Some("blue".to_owned()), ..TaskFilter::default() };
    let other = Some("database:other".parse().unwrap());
    let resource = TaskFilter { resource: other.clone(), ..TaskFilter::default() };
    let vacuum = Some("database.vacuum".to_owned());
    let of_type = TaskFilter { task_type: vacuum.clone(), ..TaskFilter::default() };
    let level = TaskFilter { level: Some(Level::Critical), ..TaskFilter::default() };
    let of_agent = TaskFilter { agent: Some(agent), ..TaskFilter::default() };
    let states = TaskFilter {
        states: vec![State::Submitted, State::Cancelled, State::Submitted],
        ..TaskFilter::default()
    };
    let all = TaskFilter {
        states: vec![State::Submitted],
        author: Some(AUTHOR),
        agent: None,
        task_type: vacuum,
        resource: other,
        tag: Some("blue".to_owned()),
        level: Some(Level::Critical),
        ..TaskFilter::default()
    };
    for limit in [1, 2, 10] {
        for filter in [&tag, &resource, &of_type, &level] {
            assert_eq!(listed(&rig, filter, limit).await, [4, 2], "{filter:?} by {limit}");
        }
        assert_eq!(listed(&rig, &of_agent, limit).await, [6, 2]);
        assert_eq!(listed(&rig, &states, limit).await, [4, 3, 1]);
        assert_eq!(listed(&rig, &all, limit).await, [4]);
    }
    let none = TaskFilter { agent: Some(agent), ..all };
    assert_eq!(listed(&rig, &none, 10).await, Vec::<u128>::new());
}

#[tokio::test]
async fn task_list_finds_titles_and_periods_in_both_orders() {
    let (rig, world) = rig().await;
    // Ids begin with the time of creation, in milliseconds: the days after 1 January 2026.
    let id = |number: u128| ((1_767_225_600_000 + number * 86_400_000) << 80) | (7 << 76) | number;
    for number in 1..=5 {
        insert(&rig, &world, id(number)).await;
    }
    let mut admin = rig.database.connect().await;
    run(
        &mut admin,
        "UPDATE task
            SET created_at = '2026-01-01T00:00:00Z'::timestamptz + number * interval '1 day',
                title = CASE WHEN number % 2 = 0 THEN 'Deploy 100%_ Shop' ELSE 'Restart' END",
    )
    .await;
    let day = |day: u32| Some(format!("2026-01-{day:02}T00:00:00Z").parse().unwrap());
    let numbers = async |filter: &TaskFilter| {
        let mut found = Vec::new();
        for limit in [1, 2, 10] {
            let ids = listed(&rig, filter, limit).await;
            found.push(ids.into_iter().map(|id| id & 0xff).collect::<Vec<_>>());
        }
        assert!(found.windows(2).all(|two| two[0] == two[1]), "{found:?}");
        found.remove(0)
    };
    let all = TaskFilter::default();
    assert_eq!(numbers(&all).await, [5, 4, 3, 2, 1]);
    let oldest = TaskFilter { order: TaskOrder::OldestFirst, ..all.clone() };
    assert_eq!(numbers(&oldest).await, [1, 2, 3, 4, 5]);
    let shop = TaskFilter { title: Some("100%_ sHOP".to_owned()), ..oldest.clone() };
    assert_eq!(numbers(&shop).await, [2, 4]);
    let no_pattern = TaskFilter { title: Some("1%p".to_owned()), ..all.clone() };
    assert_eq!(numbers(&no_pattern).await, Vec::<u128>::new());
    let period = TaskFilter { created_from: day(3), created_before: day(5), ..all.clone() };
    assert_eq!(numbers(&period).await, [3, 2], "the end is not part of the period");
    let states = vec![State::Draft, State::Submitted];
    let both = TaskFilter { states, order: TaskOrder::OldestFirst, ..period };
    assert_eq!(numbers(&both).await, [2, 3]);
    let by_author = TaskFilter { author: Some(AUTHOR), ..oldest };
    assert_eq!(numbers(&by_author).await, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn task_list_with_few_matches_returns_a_continuation() {
    let (rig, world) = rig().await;
    insert(&rig, &world, 1).await;
    let mut admin = rig.database.connect().await;
    run(
        &mut admin,
        "INSERT INTO task SELECT (jsonb_populate_record(t, jsonb_build_object(
             'id', lpad(to_hex(n), 32, '0')::uuid, 'number', n, 'task_type', 'bulk'))).*
           FROM task t, generate_series(2, 5000) AS n;
         INSERT INTO task_revision SELECT (jsonb_populate_record(r, jsonb_build_object(
             'task_id', lpad(to_hex(n), 32, '0')::uuid, 'task_type', 'bulk'))).*
           FROM task_revision r, generate_series(2, 5000) AS n",
    )
    .await;
    let rare = Some("database.migrate".to_owned());
    let filter = TaskFilter { task_type: rare, ..AUTHORS };
    let mut tx = rig.begin().await;
    let page = tasks::list(&mut tx, &filter, None, 10).await.unwrap();
    let next = page.next.expect("more may follow").uuid().as_u128();
    assert_eq!((page.tasks.len(), next), (0, 4001), "a thousand were examined");
    tx.roll_back().await;
    assert_eq!(listed(&rig, &filter, 10).await, [1]);
}

/// Without the ids at both ends of a period, a page would examine the tasks outside of it first.
#[tokio::test]
async fn task_list_of_a_period_examines_only_that_period() {
    let (rig, world) = rig().await;
    insert(&rig, &world, 1).await;
    let mut admin = rig.database.connect().await;
    // A task each minute, with ids as the server makes them.
    run(
        &mut admin,
        "INSERT INTO task SELECT (jsonb_populate_record(t, jsonb_build_object(
             'id', (lpad(to_hex(1767225600000 + n * 60000), 12, '0') || '7'
                    || lpad(to_hex(n), 19, '0'))::uuid,
             'number', n, 'created_at', to_timestamp(1767225600 + n * 60)))).*
           FROM task t, generate_series(2::bigint, 6000) AS n",
    )
    .await;
    let at = |minute: i64| Some(Timestamp::from_micros((1_767_225_600 + minute * 60) * 1_000_000));
    for order in [TaskOrder::NewestFirst, TaskOrder::OldestFirst] {
        let (created_from, created_before) = (at(3_000), at(3_005));
        let filter = TaskFilter { created_from, created_before, order, ..TaskFilter::default() };
        let mut tx = rig.begin().await;
        let page = tasks::list(&mut tx, &filter, None, 10).await.unwrap();
        tx.roll_back().await;
        let mut minutes: Vec<i64> = page.tasks.iter().map(|task| task.number).collect();
        minutes.sort_unstable();
        assert_eq!(minutes, [3_000, 3_001, 3_002, 3_003, 3_004], "{order:?}");
        assert_eq!(page.next, None, "{order:?}: the list ends with the period");
    }
}

#[tokio::test]
async fn queue_score_in_sql_agrees_with_the_core() {
    let rig = TestDatabase::new().await;
    let mut admin = rig.database.connect().await;
    let rows: Vec<(i32, i32, i32)> = sqlx::query_as(
        "SELECT risk, priority, queue_score(risk, priority)
           FROM generate_series(0, 100) AS risk, generate_series(0, 100) AS priority",
    )
    .fetch_all(&mut admin)
    .await
    .unwrap();
    assert_eq!(rows.len(), 101 * 101);
    for (risk, priority, score) in rows {
        let points = |number: i32| u8::try_from(number).unwrap();
        let band = Priority::new(points(priority)).unwrap().band();
        let expected = queue_score(Score::new(points(risk)), band);
        assert_eq!(u32::try_from(score).unwrap(), expected, "risk {risk}, priority {priority}");
    }
}

async fn queue(rig: &TestDatabase, reviewer: UserId, limit: u32) -> Vec<u128> {
    let mut tx = rig.begin().await;
    let (mut after, mut found) = (None, Vec::new());
    loop {
        let (page, next) = approvals::inbox(&mut tx, reviewer, after, limit).await.unwrap();
        found.extend(page.iter().map(|request| request.task.uuid().as_u128()));
        if next.is_none() {
            return found;
        }
        after = next;
    }
}

#[tokio::test]
async fn inbox_lists_overdue_first_then_by_score() {
    let (rig, world) = rig().await;
    for number in 1..=6 {
        review(&rig, &world, number).await;
    }
    let mut admin = rig.database.connect().await;
    for (number, score, due) in [
        (1, 450, "2 hours"),
        (2, 900, "1 hour"),
        (3, 100, "-1 hour"),
        (4, 900, "3 hours"),
        (5, 2000, "-1 minute"),
        (6, 450, "0 hours"),
    ] {
        let sql = "UPDATE approval SET score = $2,
                due_at = '1970-01-01Z'::timestamptz + $4 * interval '1 us' + $3::text::interval
              WHERE task_id = $1";
        sqlx::query(sql)
            .bind(TaskId::from_u128(number).uuid())
            .bind(score)
            .bind(due)
            .bind(rig.now.micros())
            .execute(&mut admin)
            .await
            .unwrap();
    }
    for limit in [1, 2, 3, 4, 6, 50] {
        assert_eq!(queue(&rig, ALICE, limit).await, [3, 5, 6, 2, 4, 1], "by {limit}");
    }
    assert_eq!(
        queue(&rig, AUTHOR, 10).await,
        Vec::<u128>::new(),
        "nothing was requested from them"
    );
    // Becoming overdue between two pages neither hides nor repeats a request.
    let mut tx = rig.begin().await;
    let (_, next) = approvals::inbox(&mut tx, ALICE, None, 3).await.unwrap();
    tx.roll_back().await;
    assert!(matches!(next.unwrap().place, QueuePlace::Overdue { .. }));
    let later = rig.now.plus(Duration::from_mins(90));
    let gate = ade_store::TenantLock::None;
    let actor = Actor::user(ALICE);
    rig.set_clock(later).await;
    let mut tx = ade_store::Tx::begin(&rig.pool, rig.tenant, actor, gate).await.unwrap();
    let (page, next) = approvals::inbox(&mut tx, ALICE, next, 9).await.unwrap();
    let tasks: Vec<u128> = page.iter().map(|request| request.task.uuid().as_u128()).collect();
    assert_eq!((tasks, next), (vec![2, 4, 1], None));
}

#[tokio::test]
async fn inbox_shows_a_scored_request_until_it_is_answered() {
    let (rig, world) = rig().await;
    let task = review(&rig, &world, 1).await;
    let mut tx = rig.begin().await;
    let asked = approvals::of_task(&mut tx, task.id).await.unwrap();
    let shown: Vec<_> = asked.iter().map(|request| request.approval.clone()).collect();
    assert_eq!(shown, task.approvals);
    // A risk of 45 and the band of 40.
    assert!(asked.iter().all(|request| request.score == 550));
    let request = asked.iter().find(|request| request.approval.reviewer == ALICE).unwrap();
    assert_eq!(approvals::get(&mut tx, request.id).await.unwrap().as_ref(), Some(request));
    assert_eq!((request.number, request.state), (1, State::Reviewing));
    let unknown = ApprovalId::from_u128(1);
    assert_eq!(approvals::get(&mut tx, unknown).await.unwrap(), None);
    tx.roll_back().await;
    let task = step(&rig, &world, task.id, &user(ALICE), &vote(&task, Answer::Approve)).await;
    assert_eq!(queue(&rig, ALICE, 10).await, Vec::<u128>::new());
    assert_eq!(queue(&rig, BOB, 10).await, [1]);
    let mut tx = rig.begin().await;
    let ended = approvals::ended(&mut tx, ALICE, ApprovalStatus::Approved, None, 10).await.unwrap();
    assert_eq!(ended.iter().map(|request| request.task).collect::<Vec<_>>(), [task.id]);
    let after = Some(ended[0].id);
    let rest = approvals::ended(&mut tx, ALICE, ApprovalStatus::Approved, after, 10).await.unwrap();
    assert_eq!(rest, []);
    let votes = approvals::votes(&mut tx, task.id).await.unwrap();
    assert_eq!(votes.into_iter().map(|(_, vote)| vote).collect::<Vec<_>>(), task.votes);
}

async fn leaves(rig: &TestDatabase, filter: &audit::AuditFilter, limit: u32) -> Vec<String> {
    let mut tx = rig.begin().await;
    let (mut after, mut found) = (None, Vec::new());
    loop {
        let page = audit::list(&mut tx, filter, after, limit).await.unwrap();
        found.extend(page.iter().map(|(_, leaf)| leaf.what.action.clone()));
        let Some((id, leaf)) = page.last() else { return found };
        after = Some((leaf.when, *id));
    }
}

#[tokio::test]
async fn audit_is_listed_by_object_actor_and_time() {
    let rig = TestDatabase::new().await;
    let at = |seconds| rig.now.plus(Duration::from_secs(seconds));
    let mut tx = rig.begin().await;
    let mut written = Vec::new();
    for (second, action, object) in
        [(1, "a", "x"), (2, "b", "y"), (2, "c", "x"), (3, "d", "x"), (4, "e", "y")]
    {
        let mut leaf = rig.leaf(action);
        leaf.when = at(second);
        leaf.what.object = object.to_owned();
        if action == "d" {
            let (agent, on_behalf_of) = (AgentId::from_u128(1), UserId::from_u128(1));
            leaf.who = ade_core::audit::Who::Agent { agent, on_behalf_of, credential: None };
        }
        if action == "c" {
            leaf.kind = EntryKind::Refusal;
        }
        written.push(leaf);
    }
    audit::append(&mut tx, &written).await.unwrap();
    tx.commit().await.unwrap();
    let all = leaves(&rig, &audit::AuditFilter::default(), 50).await;
    assert_eq!(all.len(), 5);
    assert_eq!((all[0].as_str(), all[1].as_str(), all[4].as_str()), ("e", "d", "a"));
    for limit in [1, 2, 3] {
        assert_eq!(leaves(&rig, &audit::AuditFilter::default(), limit).await, all, "by {limit}");
        let object =
            audit::AuditFilter { object: Some("x".to_owned()), ..audit::AuditFilter::default() };
        assert_eq!(leaves(&rig, &object, limit).await, ["d", "c", "a"]);
        let by = |actor| audit::AuditFilter { actor: Some(actor), ..audit::AuditFilter::default() };
        let agent = by(FoundBy::Agent(AgentId::from_u128(1)));
        assert_eq!(leaves(&rig, &agent, limit).await, ["d"], "not its owner's, of the same uuid");
        let person = by(FoundBy::User(UserId::from_u128(1)));
        assert_eq!(leaves(&rig, &person, limit).await.len(), 4);
        let of = |kind| audit::AuditFilter { kind: Some(kind), ..audit::AuditFilter::default() };
        assert_eq!(leaves(&rig, &of(EntryKind::Refusal), limit).await, ["c"]);
        assert_eq!(leaves(&rig, &of(EntryKind::Change), limit).await.len(), 4);
        assert_eq!(leaves(&rig, &of(EntryKind::Disclosure), limit).await.len(), 0);
        let window = audit::AuditFilter {
            from: Some(at(2)),
            to: Some(at(4)),
            ..audit::AuditFilter::default()
        };
        assert_eq!(leaves(&rig, &window, limit).await, all[1..4]);
    }
}

#[tokio::test]
async fn reads_return_nothing_of_another_tenant() {
    let (rig, world) = rig().await;
    let task = review(&rig, &world, 1).await;
    let comment = Command::Comment { text: "ours".to_owned() };
    step(&rig, &world, task.id, &user(AUTHOR), &comment).await;
    step(&rig, &world, task.id, &user(ALICE), &vote(&task, Answer::Approve)).await;
    let mut tx = rig.begin().await;
    let request = approvals::of_task(&mut tx, task.id).await.unwrap().remove(0).id;
    tx.roll_back().await;
    let mut foreign = rig.begin_as(rig.other).await;
    assert_eq!(tasks::view(&mut foreign, task.id).await.unwrap(), None);
    assert_eq!(tasks::revision(&mut foreign, task.id, 1).await.unwrap(), None);
    assert_eq!(tasks::revisions(&mut foreign, task.id).await.unwrap(), []);
    assert_eq!(tasks::comments(&mut foreign, task.id, None, 9).await.unwrap(), []);
    assert_eq!(tasks::risk(&mut foreign, task.id).await.unwrap(), None);
    assert_eq!(tasks::versions(&mut foreign, &[task.id]).await.unwrap(), []);
    let page = tasks::list(&mut foreign, &AUTHORS, None, 9).await.unwrap();
    assert_eq!((page.tasks, page.next), (Vec::new(), None));
    assert_eq!(approvals::get(&mut foreign, request).await.unwrap(), None);
    assert_eq!(approvals::of_task(&mut foreign, task.id).await.unwrap(), []);
    assert_eq!(approvals::votes(&mut foreign, task.id).await.unwrap(), []);
    let (waiting, _) = approvals::inbox(&mut foreign, BOB, None, 9).await.unwrap();
    assert_eq!(waiting, []);
    let ended = approvals::ended(&mut foreign, ALICE, ApprovalStatus::Approved, None, 9).await;
    assert_eq!(ended.unwrap(), []);
    let leaves = audit::list(&mut foreign, &audit::AuditFilter::default(), None, 9).await.unwrap();
    assert_eq!(leaves, []);
}
