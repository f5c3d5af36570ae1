//! How the core's own types look in the OpenAPI document. Their words come from the types
//! themselves, so that the document cannot drift from what is sent.

use ade_core::access::Class;
use ade_core::agent;
use ade_core::approval::{Answer, Status, delegation};
use ade_core::change;
use ade_core::flag;
use ade_core::policy::{self, AuthorKind};
use ade_core::risk;
use ade_core::step_up;
use ade_core::task;
use serde::Serialize;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaFormat, SchemaType, Type};
use utoipa::openapi::{KnownFormat, RefOr};
use utoipa::{PartialSchema, ToSchema};

fn of_text(build: impl FnOnce(ObjectBuilder) -> ObjectBuilder) -> RefOr<Schema> {
    build(ObjectBuilder::new().schema_type(SchemaType::Type(Type::String))).into()
}

fn one_of(words: impl IntoIterator<Item = impl Serialize>) -> RefOr<Schema> {
    let words: Vec<serde_json::Value> =
        words.into_iter().filter_map(|word| serde_json::to_value(word).ok()).collect();
    of_text(|text| text.enum_values(Some(words)))
}

macro_rules! schemas {
    ($($(#[$about:meta])* $name:ident = $schema:expr;)+) => {$(
        $(#[$about])*
        #[derive(Debug)]
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $schema
            }
        }

        impl ToSchema for $name {}
    )+};
}

macro_rules! id_schemas {
    ($($name:ident = $prefix:literal;)+) => {
        schemas! {$(
            $name = of_text(|text| {
                text.pattern(Some(concat!("^", $prefix, "_[0-7][0-9a-hjkmnp-tv-z]{25}$")))
                    .examples([concat!($prefix, "_01k9xq3vb8f2n4s6t7w8y9z0ab")])
            });
        )+}
    };
}

id_schemas! {
    TaskId = "task";
    ApprovalId = "apr";
    UserId = "usr";
    AgentId = "agt";
    AfterReviewId = "arv";
    NotificationId = "ntf";
    DelegationId = "del";
    FreezeId = "frz";
    PolicyId = "pol";
    PolicyDraftId = "pdr";
    TenantId = "ten";
    LeaseId = "lease";
    AgentSessionId = "ags";
    ExecutionId = "exec";
    WebhookId = "hook";
    DeliveryId = "dlv";
    DeadEventId = "dead";
    InboundId = "inb";
    DutyId = "duty";
    PasskeyId = "psk";
    StepUpId = "stp";
}

schemas! {
    Timestamp = of_text(|text| {
        text.format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .examples(["2026-03-18T15:30:00.000000Z"])
    });
    Digest = of_text(|text| {
        text.pattern(Some("^sha256:[0-9a-f]{64}$"))
            .description(Some("SHA-256 of the canonical content"))
    });
    ResourceName = of_text(|text| {
        text.pattern(Some("^[a-z0-9_-]{1,64}:[!-~]{1,256}$")).examples(["database:orders"])
    });
    State = one_of(task::State::ALL);
    AgentStatus = one_of(agent::Status::ALL);
    Flag = one_of(flag::Flag::ALL);
    Level = one_of([
        risk::Level::Low,
        risk::Level::Medium,
        risk::Level::High,
        risk::Level::Critical,
    ]);
    ChangeKind = one_of([
        change::ChangeKind::Add,
        change::ChangeKind::Change,
        change::ChangeKind::Remove,
    ]);
    Origin = one_of([change::Origin::Observed, change::Origin::Declared]);
    ApprovalStatus = one_of([
        Status::Pending,
        Status::Approved,
        Status::Rejected,
        Status::Delegated,
        Status::Superseded,
        Status::Expired,
    ]);
    Strictness = one_of([
        policy::Strictness::Same,
        policy::Strictness::Stricter,
        policy::Strictness::Looser,
        policy::Strictness::Mixed,
    ]);
    DelegationKind = one_of([delegation::Kind::Transfer, delegation::Kind::Follow]);
    VoteAnswer = one_of([Answer::Approve, Answer::Reject, Answer::RequestChanges]);
    Kind = one_of([AuthorKind::User, AuthorKind::Agent]);
    Scope = one_of(Class::ALL.map(Class::as_str));
    StepUpPurpose = one_of(step_up::Purpose::ALL);
}
