//! The OpenAPI schemas of the core's types. Their values come from the types themselves, so that
//! the document cannot drift from what is sent.

use ade_core::access;
use ade_core::agent;
use ade_core::approval::{self, Answer, delegation};
use ade_core::audit;
use ade_core::change;
use ade_core::flag;
use ade_core::policy::{self, AuthorKind};
use ade_core::step_up;
use ade_core::task;
use serde::Serialize;
use utoipa::openapi::schema::{
    ObjectBuilder, OneOfBuilder, Schema, SchemaFormat, SchemaType, Type,
};
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
    PendingChangeId = "chg";
    TenantId = "ten";
    LeaseId = "lease";
    ProcessId = "ags";
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
    /// A task: its id, or its number within the tenant.
    TaskRef = of_text(|text| {
        text.pattern(Some("^(task_[0-7][0-9a-hjkmnp-tv-z]{25}|([Tt]-)?[1-9][0-9]{0,17})$"))
            .examples(["task_01k9xq3vb8f2n4s6t7w8y9z0ab", "T-8"])
    });
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
    /// A duration: a number of seconds, or text such as `30s`, `5m` or `2h`.
    Seconds = {
        let number = ObjectBuilder::new().schema_type(SchemaType::Type(Type::Number));
        let text = of_text(|text| text.pattern(Some("^[0-9]{1,5}(ms|s|m|h)?$")).examples(["5m"]));
        Schema::from(OneOfBuilder::new().item(number.minimum(Some(0))).item(text)).into()
    };
    /// How long a call may wait: at most 55 seconds, such as `55s` or `500ms`.
    Wait = of_text(|text| {
        let millis = "(0|[1-9][0-9]{0,3}|[1-4][0-9]{4}|5[0-4][0-9]{3}|55000)ms";
        text.pattern(Some(format!("^(([0-9]|[1-4][0-9]|5[0-5])s?|{millis})$"))).examples(["55s"])
    });
    State = one_of(task::State::ALL);
    SubState = one_of(task::SubState::ALL);
    DecisionOutcome = one_of(task::DecisionOutcome::ALL);
    GateCode = one_of(task::GateCode::ALL);
    AgentStatus = one_of(agent::AgentStatus::ALL);
    Flag = one_of(flag::Flag::ALL);
    Level = one_of(crate::risk_level::ALL.map(crate::risk_level::name));
    ChangeKind = one_of([
        change::ChangeKind::Add,
        change::ChangeKind::Change,
        change::ChangeKind::Remove,
    ]);
    Origin = one_of([change::Origin::Observed, change::Origin::Declared]);
    ApprovalStatus = one_of([
        approval::ApprovalStatus::Pending,
        approval::ApprovalStatus::Approved,
        approval::ApprovalStatus::Rejected,
        approval::ApprovalStatus::Delegated,
        approval::ApprovalStatus::Superseded,
        approval::ApprovalStatus::Expired,
    ]);
    Strictness = one_of([
        policy::Strictness::Same,
        policy::Strictness::Stricter,
        policy::Strictness::Looser,
        policy::Strictness::Mixed,
    ]);
    /// `change`: something was written. `refusal`: the actor was not allowed to do it, and nothing
    /// was done. `disclosure`: evidence was handed out.
    AuditKind = one_of(audit::EntryKind::ALL);
    DelegationKind = one_of([delegation::DelegationKind::Transfer,
        delegation::DelegationKind::Follow]);
    VoteAnswer = one_of([Answer::Approve, Answer::Reject, Answer::RequestChanges]);
    VoteMark = one_of(approval::VoteMark::ALL);
    Kind = one_of([AuthorKind::User, AuthorKind::Agent]);
    Scope = one_of(access::Scope::ALL.map(access::Scope::as_str));
    StepUpPurpose = one_of(step_up::Purpose::ALL);
}
