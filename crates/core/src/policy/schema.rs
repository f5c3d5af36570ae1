//! The fields of a policy and of a file of cases, once: readers know no other names, and the
//! reference is generated from here. `{LIMIT}` in a text stands for the value of that limit.

/// One mapping: where it stands, and the fields it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// Like `match.hours`; empty for the document itself.
    pub path: &'static str,
    pub says: &'static str,
    pub fields: &'static [Field],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub holds: &'static str,
    /// What holds if the field is left out; `required` if it cannot be.
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

const ROLES: Field = field("roles", "list of roles", "nobody", "Whoever has one of them.");
const PEOPLE: Field = field("people", "list of user ids", "nobody", "Exactly these people.");

/// All that a policy may say.
pub const POLICY: &[Section] = &[DOCUMENT, MATCH, HOURS, GROUP, AUTO_APPROVE, ESCALATION, AUDIENCE];

pub(super) const DOCUMENT: Section = Section {
    path: "",
    says: "The policy itself. It asks somebody (`require`), says when nobody needs to be asked \
           (`auto_approve_if`), or both.",
    fields: &[
        field(
            "name",
            "a-z, 0-9, `-`, `_`, `.`; at most {NAME_MAX_BYTES}",
            "required",
            "The name by which versions of one policy belong together.",
        ),
        field("enabled", "`true` or `false`", "`true`", "Whether it speaks about any task at all."),
        field("match", "fields", "every task", "Which tasks it speaks about."),
        field(
            "require",
            "list of groups, at most {POLICY_GROUPS_MAX}",
            "one `reviewer` or `admin`, beside `auto_approve_if`",
            "Who must agree; all groups must be met.",
        ),
        field(
            "reject_threshold",
            "1 to {POLICY_GROUP_MIN_MAX}",
            "1",
            "So many rejections stop the task.",
        ),
        field("auto_approve_if", "fields", "never", "When a task passes without a person."),
        field(
            "respond_within",
            "period",
            "the tenant's `approval.default_timeout`, at first {RESPOND_WITHIN_DEFAULT}",
            "How long the reviewers have to answer; never more than `approval.max_timeout`.",
        ),
        field(
            "escalation",
            "list of steps, at most {POLICY_ESCALATION_STEPS_MAX}",
            "none",
            "What happens while nobody answers, each step later than the one before.",
        ),
        field(
            "approval_valid_for",
            "period",
            "{APPROVAL_VALID_FOR_DEFAULT}",
            "How long an approval is good for.",
        ),
        field(
            "delegation",
            "`allowed` or `forbidden`",
            "`allowed`",
            "Whether reviewers may let others answer for them.",
        ),
        field(
            "role_age_min",
            "period",
            "none",
            "A role that somebody has had for less time gives them no say. People who are named \
             need none.",
        ),
        field("exempt", "fields", "nobody", "Who is never asked under this policy."),
    ],
};

pub(super) const MATCH: Section = Section {
    path: "match",
    says: "All that is given must hold; what is left out does not matter.",
    fields: &[
        field(
            "task_types",
            "list of globs, at most {POLICY_PATTERNS_MAX}",
            "any type",
            "One of them matches the type of the task.",
        ),
        field(
            "resource_patterns",
            "list of globs, at most {POLICY_PATTERNS_MAX}",
            "any resource",
            "One of them matches one resource: `type:id`, or the id alone if it has no colon.",
        ),
        field(
            "tags",
            "list of words, at most {TASK_TAGS_MAX}",
            "any tags",
            "The task has at least one of them.",
        ),
        field("risk_at_least", "0 to 100", "any risk", "The risk of the task is this or more."),
        field("author_kind", "`user` or `agent`", "both", "Who proposed it."),
        field("hours", "fields", "always", "The hours in which the policy applies."),
    ],
};

pub(super) const HOURS: Section = Section {
    path: "match.hours",
    says: "Readings of the clock in a zone. A window that ends before it begins runs over \
           midnight and belongs to the day on which it began.",
    fields: &[
        field("zone", "name of a time zone", "required", "Whose clock is read."),
        field("days", "list of `mon` to `sun`", "every day", "The days on which it begins."),
        field("from", "`HH:MM`", "required", "The first minute inside."),
        field("to", "`HH:MM`", "required", "The first minute outside; `24:00` ends the day."),
    ],
};

pub(super) const GROUP: Section = Section {
    path: "require[]",
    says: "So many different people out of these must agree. One person counts once for a task, \
           however many groups they are in.",
    fields: &[ROLES, PEOPLE, field("min", "1 to {POLICY_GROUP_MIN_MAX}", "1", "How many of them.")],
};

pub(super) const AUTO_APPROVE: Section = Section {
    path: "auto_approve_if",
    says: "At least one condition must be given, and all that are given must hold: here and in \
           every other policy that matches the task.",
    fields: &[
        field("risk_below", "1 to 100", "any risk", "The risk of the task is less than this."),
        field("author_has_role", "list of roles", "any role", "The author has one of them."),
        field(
            "resources_in_scope",
            "list of globs, at most {POLICY_PATTERNS_MAX}",
            "any resource",
            "Every resource of the task matches one of them.",
        ),
        field(
            "accept_declared_effect",
            "`true` or `false`",
            "`false`",
            "No condition: whether an effect that nobody observed may pass, too.",
        ),
    ],
};

pub(super) const ESCALATION: Section = Section {
    path: "escalation[]",
    says: "A step does exactly one thing. None of them approves anything; past the last, the \
           task expires.",
    fields: &[
        field("after", "period", "required", "Counted from the opening of the review."),
        field("notify", "fields", "-", "Tells these roles and people."),
        field("reassign", "`delegate` or `manager`", "-", "Asks that person of each reviewer."),
        field("widen", "fields", "-", "Lets these roles and people answer as well."),
    ],
};

pub(super) const AUDIENCE: Section = Section {
    path: "exempt, escalation[].notify, escalation[].widen",
    says: "Roles, people, or both.",
    fields: &[ROLES, PEOPLE],
};

/// All that a file of cases may say.
pub const CASES: &[Section] = &[CASE_FILE, CASE_PERSON, CASE, CASE_TASK, CASE_EXPECT, GROUP];

pub(super) const CASE_FILE: Section = Section {
    path: "",
    says: "What is to be asked of a set of policies, and what the answers are to be.",
    fields: &[
        field(
            "people",
            "list of people, at most {CASES_PEOPLE_MAX}",
            "nobody is known",
            "Who there is. With them a case can tell that nobody could ever agree.",
        ),
        field("cases", "list of cases, at most {CASES_MAX}", "required", "At least one."),
    ],
};

pub(super) const CASE_PERSON: Section = Section {
    path: "people[]",
    says: "Somebody who could propose or agree.",
    fields: &[
        field("name", "word", "required", "How the cases call them."),
        field("id", "user id", "one of its own", "For policies that name people."),
        field("roles", "list of roles", "none", "The roles they have, and had all along."),
    ],
};

pub(super) const CASE: Section = Section {
    path: "cases[]",
    says: "One question and its answer.",
    fields: &[
        field("name", "text", "required", "What it shows; no two have the same."),
        field("task", "fields", "required", "The task that is asked about."),
        field("expect", "fields", "required", "What must come of it."),
    ],
};

pub(super) const CASE_TASK: Section = Section {
    path: "cases[].task",
    says: "The task as policies see it. The server rates risk itself; a case says what it was.",
    fields: &[
        field("type", "text", "required", "Its type."),
        field("risk", "0 to 100", "required", "Its risk."),
        field("resources", "list of `type:id`", "none", "What it touches."),
        field("tags", "list of words", "none", "Its tags."),
        field("author_kind", "`user` or `agent`", "`user`", "Who proposed it."),
        field(
            "author",
            "name of a person",
            "a stranger",
            "Whose proposal it is, or for whom the agent acts: they cannot agree to it.",
        ),
        field("author_roles", "list of roles", "those of `author`", "If no `author` is named."),
        field("effect", "`observed` or `declared`", "`observed`", "Whether a preview saw it."),
        field("at", "point in time", "none", "Needed as soon as a policy has `hours`."),
    ],
};

pub(super) const CASE_EXPECT: Section = Section {
    path: "cases[].expect",
    says: "`outcome` always, and of the rest what matters to the case.",
    fields: &[
        field(
            "outcome",
            "`passes`, `review` or `denied`",
            "required",
            "Passes without a person; people are asked; or people would be asked and those in \
             the file could never be enough.",
        ),
        field("groups", "list of groups", "any", "Exactly these groups, in any order."),
        field("policies", "list of names", "any", "Exactly these policies match."),
        field("reject_threshold", "1 to {POLICY_GROUP_MIN_MAX}", "any", "So many rejections."),
        field("respond_within", "period", "any", "So long to answer."),
        field("approval_valid_for", "period", "any", "So long is an approval good."),
        field("delegation", "`allowed` or `forbidden`", "any", "Whether others may answer."),
        field("role_age_min", "period", "any", "So long must a role have been had."),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Document;

    const EXAMPLE: &str = include_str!("../../tests/policies/production-databases.yaml");

    #[test]
    fn every_field_of_a_policy_is_in_the_example_and_no_name_is_given_twice() {
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
    fn a_required_field_is_missed_and_no_other() {
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
