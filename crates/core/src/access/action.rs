//! Lists every action once, with its name in Cedar, in the audit and on the wire, and its class.
//! Routes are guarded by class, and a class as a whole can be closed to agents. Who may perform an
//! action within a class is defined in `cedar/base.cedar`.

use std::fmt;

/// The kind of an action. Token scopes and routes refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    Read,
    Propose,
    Execute,
    Decide,
    Operate,
    Administer,
}

impl Scope {
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Propose, Self::Execute, Self::Decide, Self::Operate, Self::Administer];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Propose => "propose",
            Self::Execute => "execute",
            Self::Decide => "decide",
            Self::Operate => "operate",
            Self::Administer => "administer",
        }
    }

    /// Returns whether the token of an agent may carry this class at all.
    pub const fn is_open_to_agents(self) -> bool {
        match self {
            Self::Read | Self::Propose | Self::Execute => true,
            Self::Decide | Self::Operate | Self::Administer => false,
        }
    }

    /// Returns whether a token for another person may carry this class. With a token that decides,
    /// operates or administers in the name of others, one admin could act as several people; so
    /// only the person themself can create such a token.
    pub const fn is_open_to_tokens_for_others(self) -> bool {
        match self {
            Self::Read | Self::Propose | Self::Execute => true,
            Self::Decide | Self::Operate | Self::Administer => false,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! actions {
    ($($variant:ident = $name:literal, $class:ident;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Action {
            $($variant,)+
        }

        impl Action {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            pub const fn class(self) -> Scope {
                match self {
                    $(Self::$variant => Scope::$class,)+
                }
            }
        }
    };
}

actions! {
    // One action for each command of a task.
    Create = "task.create", Propose;
    Delete = "task.delete", Propose;
    Comment = "task.comment", Propose;
    Amend = "task.amend", Propose;
    Submit = "task.submit", Propose;
    OpenReview = "task.open_review", Operate;
    AutoApprove = "task.auto_approve", Operate;
    Approve = "task.approve", Decide;
    Reject = "task.reject", Decide;
    RequestChanges = "task.request_changes", Decide;
    WithdrawVote = "task.withdraw_vote", Decide;
    Extend = "task.extend", Decide;
    Delegate = "task.delegate", Decide;
    Escalate = "task.escalate", Operate;
    Cancel = "task.cancel", Propose;
    WarnExpiry = "task.warn_expiry", Operate;
    Expire = "task.expire", Operate;
    ReopenReview = "task.reopen_review", Operate;
    StartApply = "task.start_apply", Execute;
    BeginApply = "task.begin_apply", Execute;
    DriftApply = "task.drift_apply", Execute;
    WithdrawPermit = "task.withdraw_permit", Execute;
    RequeueApply = "task.requeue_apply", Operate;
    FinishApply = "task.finish_apply", Execute;
    FailApply = "task.fail_apply", Execute;
    LoseApply = "task.lose_apply", Operate;
    Reconcile = "task.reconcile", Operate;
    Retry = "task.retry", Propose;
    Resubmit = "task.resubmit", Propose;
    Override = "task.override", Decide;
    ConfirmOverride = "task.confirm_override", Decide;
    LapseOverride = "task.lapse_override", Operate;
    ReadTask = "task.read", Read;

    Claim = "execution.claim", Execute;
    Heartbeat = "execution.heartbeat", Execute;
    AcquireLock = "lock.acquire", Execute;
    BreakLock = "lock.break", Operate;
    SetFreeze = "freeze.set", Operate;
    LiftFreeze = "freeze.lift", Operate;
    EditDelegation = "delegation.edit", Decide;
    CloseAfterReview = "after_review.close", Decide;
    DraftPolicy = "policy.draft", Administer;
    PublishPolicy = "policy.publish", Administer;
    PublishChange = "change.publish", Administer;
    CloseChange = "change.close", Decide;
    AdministerUser = "user.administer", Administer;
    AdministerAgent = "agent.administer", Administer;
    OrderAgent = "agent.order", Operate;
    ConfigureAgent = "agent.configure", Administer;
    ReadAgentConfig = "agent.read_config", Read;
    EditResource = "resource.edit", Administer;
    EditSettings = "settings.edit", Administer;
    AdministerWebhook = "webhook.administer", Administer;
    ReadWebhook = "webhook.read", Read;
    ReadAudit = "audit.read", Read;
    ReadEventConsumers = "event_consumer.read", Read;
    EditOnCall = "on_call.edit", Operate;
    RedriveEvents = "event_consumer.redrive", Operate;
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
