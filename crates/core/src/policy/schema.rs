//! The fields of a policy and of a file of cases. Readers accept no other names, and the reference
//! is generated from here. `{LIMIT}` in a text stands for the value of that limit.

/// One mapping: its path and the fields it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// The path, like `match.hours`; empty for the document itself.
    pub path: &'static str,
    pub says: &'static str,
    pub fields: &'static [Field],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub holds: &'static str,
    /// The value that applies if the field is left out; `required` if it cannot be left out.
    pub default: &'static str,
    pub meaning: &'static str,
}

impl Section {
    pub(super) fn knows(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.fields.iter().map(|field| field.name).collect();
        names.join(", ")
    }
}

const fn field(
    name: &'static str,
    holds: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Field {
    Field { name, holds, default, meaning }
}

const ROLES: Field =
    field("roles", "list of roles", "no one", "Anyone who has one of these roles.");
const PEOPLE: Field = field("people", "list of user ids", "no one", "Exactly these people.");

/// All sections of a policy.
pub const POLICY: &[Section] = &[DOCUMENT, MATCH, HOURS, GROUP, AUTO_APPROVE, ESCALATION, AUDIENCE];

pub(super) const DOCUMENT: Section = Section {
    path: "",
    says: "The policy. It must have `require` (who approves), `auto_approve_if` (when no approval \
           is needed), or both.",
    fields: &[
        field(
            "name",
            "a-z, 0-9, `-`, `_`, `.`; at most {NAME_MAX_BYTES}",
            "required",
            "The name that all versions of the policy share.",
        ),
        field("enabled", "`true` or `false`", "`true`", "Whether the policy applies at all."),
        field("match", "fields", "every task", "The tasks that the policy applies to."),
        field(
            "require",
            "list of groups, at most {POLICY_GROUPS_MAX}",
            "one `reviewer` or `admin`, in addition to `auto_approve_if`",
            "The groups that must approve; every group must be satisfied.",
        ),
        field(
            "reject_threshold",
            "1 to {POLICY_GROUP_MIN_MAX}",
            "1",
            "The number of rejections that end the task.",
        ),
        field("auto_approve_if", "fields", "never", "When a task is approved automatically."),
        field(
            "respond_within",
            "period",
            "the tenant's `approval.default_timeout_seconds`, initially {RESPOND_WITHIN_DEFAULT}",
            "How long reviewers have to answer; never more than `approval.max_timeout_seconds`.",
        ),
        field(
            "escalation",
            "list of steps, at most {POLICY_ESCALATION_STEPS_MAX}",
            "none",
            "What happens while reviewers do not answer; each step must be later than the \
             previous one.",
        ),
        field(
            "approval_valid_for",
            "period",
            "{APPROVAL_VALID_FOR_DEFAULT}",
            "How long an approval is valid.",
        ),
        field(
            "delegation",
            "`allowed` or `forbidden`",
            "`allowed`",
            "Whether reviewers may delegate their answer.",
        ),
        field(
            "role_age_min",
            "period",
            "none",
            "The minimum time that a role must have been held to count. People listed by id do \
             not need a role.",
        ),
        field(
            "exempt",
            "fields",
            "no one",
            "Roles and people that are never asked under this policy.",
        ),
    ],
};

pub(super) const MATCH: Section = Section {
    path: "match",
    says: "All given conditions must hold; an omitted condition always holds.",
    fields: &[
        field(
            "task_types",
            "list of globs, at most {POLICY_PATTERNS_MAX}",
            "any type",
            "At least one glob matches the task type.",
        ),
        field(
            "resource_patterns",
            "list of globs, at most {POLICY_PATTERNS_MAX}",
            "any resource",
            "At least one glob matches a resource of the task: `type:id`, or only the id if the \
             glob has no colon.",
        ),
        field(
            "tags",
            "list of words, at most {TASK_TAGS_MAX}",
            "any tags",
            "The task has at least one of these tags.",
        ),
        field("risk_at_least", "0 to 100", "any risk", "The task's risk score is at least this."),
        field("author_kind", "`user` or `agent`", "both", "Who proposed the task."),
        field("hours", "fields", "always", "The hours in which the policy applies."),
    ],
};

pub(super) const HOURS: Section = Section {
    path: "match.hours",
    says: "Local time in a time zone. A window that ends before it begins spans midnight and \
           belongs to the day on which it began.",
    fields: &[
        field("zone", "name of a time zone", "required", "The time zone."),
        field(
            "days",
            "list of `mon` to `sun`",
            "every day",
            "The days on which the window begins.",
        ),
        field("from", "`HH:MM`", "required", "The first minute of the window."),
        field(
            "to",
            "`HH:MM`",
            "required",
            "The first minute after the window; `24:00` is the end of the day.",
        ),
    ],
};

pub(super) const GROUP: Section = Section {
    path: "require[]",
    says: "The given number of different people from these roles and people must approve. A \
           person counts once per task, however many groups they belong to.",
    fields: &[
        ROLES,
        PEOPLE,
        field("min", "1 to {POLICY_GROUP_MIN_MAX}", "1", "How many of them must approve."),
    ],
};

pub(super) const AUTO_APPROVE: Section = Section {
    path: "auto_approve_if",
    says: "At least one condition is required, and all given conditions must hold, in this policy \
           and in every other policy that matches the task.",
    fields: &[
        field("risk_below", "1 to 100", "any risk", "The task's risk score is below this."),
        field("author_has_role", "list of roles", "any role", "The author has one of these roles."),
        field(
            "resources_in_scope",
            "list of globs, at most {POLICY_PATTERNS_MAX}",
            "any resource",
            "Every resource of the task matches one of these globs.",
        ),
        field(
            "accept_declared_effect",
            "`true` or `false`",
            "`false`",
            "Not a condition: whether an effect that was declared and not observed can be \
             auto-approved.",
        ),
    ],
};

pub(super) const ESCALATION: Section = Section {
    path: "escalation[]",
    says: "A step does exactly one thing. No step approves anything; after the last one, the task \
           expires.",
    fields: &[
        field("after", "period", "required", "The delay from the opening of the review."),
        field("notify", "fields", "-", "Notifies these roles and people."),
        field(
            "reassign",
            "`delegate` or `manager`",
            "-",
            "Asks each reviewer's delegate or manager instead.",
        ),
        field("widen", "fields", "-", "Allows these roles and people to answer as well."),
    ],
};

pub(super) const AUDIENCE: Section = Section {
    path: "exempt, escalation[].notify, escalation[].widen",
    says: "Roles, people, or both.",
    fields: &[ROLES, PEOPLE],
};

/// All sections of a file of cases.
pub const CASES: &[Section] = &[CASE_FILE, CASE_PERSON, CASE, CASE_TASK, CASE_EXPECT, GROUP];

pub(super) const CASE_FILE: Section = Section {
    path: "",
    says: "The test cases for a set of policies and their expected results.",
    fields: &[
        field(
            "people",
            "list of people, at most {CASES_PEOPLE_MAX}",
            "no people",
            "The people that exist. They allow a case to check whether enough reviewers exist.",
        ),
        field(
            "cases",
            "list of cases, at most {CASES_MAX}",
            "required",
            "The cases; at least one.",
        ),
    ],
};

pub(super) const CASE_PERSON: Section = Section {
    path: "people[]",
    says: "A person who could propose or approve.",
    fields: &[
        field("name", "word", "required", "The name used in the cases."),
        field("id", "user id", "a generated id", "The user id, for policies that list people."),
        field("roles", "list of roles", "none", "The person's roles, held for an unlimited time."),
    ],
};

pub(super) const CASE: Section = Section {
    path: "cases[]",
    says: "One question and its expected answer.",
    fields: &[
        field("name", "text", "required", "The name of the case; unique in the file."),
        field("task", "fields", "required", "The task to evaluate."),
        field("expect", "fields", "required", "The expected result."),
    ],
};

pub(super) const CASE_TASK: Section = Section {
    path: "cases[].task",
    says: "The task as policies see it. The server computes risk itself; a case states it.",
    fields: &[
        field("type", "text", "required", "The task type."),
        field("risk", "0 to 100", "required", "The risk score."),
        field("resources", "list of `type:id`", "none", "The resources of the task."),
        field("tags", "list of words", "none", "The tags of the task."),
        field("author_kind", "`user` or `agent`", "`user`", "Who proposed the task."),
        field(
            "author",
            "name of a person",
            "an unknown person",
            "The person who proposed the task, or for whom the agent acts; they cannot approve \
             it.",
        ),
        field(
            "author_roles",
            "list of roles",
            "those of `author`",
            "The author's roles, if no `author` is given.",
        ),
        field(
            "effect",
            "`observed` or `declared`",
            "`observed`",
            "Whether a preview observed the effect or the author declared it.",
        ),
        field(
            "at",
            "point in time",
            "none",
            "The time of evaluation; required if a policy has `hours`.",
        ),
    ],
};

pub(super) const CASE_EXPECT: Section = Section {
    path: "cases[].expect",
    says: "`outcome` is required; of the rest, give what matters for the case.",
    fields: &[
        field(
            "outcome",
            "`passes`, `review` or `denied`",
            "required",
            "Auto-approved; a review is needed; or a review would be needed and the people in the \
             file could never satisfy it.",
        ),
        field("groups", "list of groups", "any", "Exactly these groups, in any order."),
        field("policies", "list of names", "any", "Exactly these policies match."),
        field("reject_threshold", "1 to {POLICY_GROUP_MIN_MAX}", "any", "The reject threshold."),
        field("respond_within", "period", "any", "The time to answer."),
        field("approval_valid_for", "period", "any", "How long the approval is valid."),
        field("delegation", "`allowed` or `forbidden`", "any", "Whether delegation is allowed."),
        field("role_age_min", "period", "any", "The minimum time that a role must have been held."),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Document;

    const EXAMPLE: &str = include_str!("../../tests/policies/production-databases.yaml");

    #[test]
    fn policy_schema_fields_are_unique_and_in_the_example() {
        for section in POLICY.iter().chain(CASES) {
            let mut names: Vec<&str> = section.fields.iter().map(|field| field.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), section.fields.len(), "{}", section.path);
        }
        for field in POLICY.iter().flat_map(|section| section.fields) {
            assert!(EXAMPLE.contains(&format!("{}:", field.name)), "{}", field.name);
        }
    }

    #[test]
    fn policy_schema_marks_exactly_the_required_fields() {
        let whole = "name: x\nrequire: [{roles: [a]}]\n";
        assert!(Document::parse_yaml(whole).is_ok());
        let required: Vec<&str> = DOCUMENT
            .fields
            .iter()
            .filter(|field| field.default == "required")
            .map(|field| field.name)
            .collect();
        assert_eq!(required, ["name"]);
        assert!(Document::parse_yaml("require: [{roles: [a]}]\n").is_err());
    }
}
