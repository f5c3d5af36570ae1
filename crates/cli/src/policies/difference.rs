//! `ade policies diff`: compares a file with the policy in force of the same name.

use std::path::Path;

use ade_api::policies::{FieldChange, PolicyVersionShown};
use ade_client::{Client, gather};
use ade_core::policy::{self, Document};
use serde::Serialize;

use crate::agents::field_changes;
use crate::context::{Context, text_of};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::visible;

/// The maximum number of policies to search by name; a tenant has far fewer.
const POLICIES: usize = 10_000;

#[derive(Debug, Serialize)]
struct Difference {
    name: String,
    /// The version in force, if a policy of this name exists.
    version: Option<u32>,
    changes: Vec<FieldChange>,
}

pub async fn difference(
    client: &Client,
    file: &Path,
    exit_code: bool,
    cx: &Context,
) -> Result<Exit, Failure> {
    let new = parsed(&text_of(file)?, &file.display().to_string())?;
    let found = find(client, &new.name).await?;
    let old =
        found.as_ref().map(|found| parsed(&found.yaml, "the version in force")).transpose()?;
    let field_change = |change: ade_core::change::FieldChange| FieldChange {
        path: change.path,
        before: change.before,
        after: change.after,
    };
    let changes = policy::difference(old.as_ref(), &new).into_iter().map(field_change).collect();
    let version = found.map(|found| found.version);
    let difference = Difference { name: new.name, version, changes };
    cx.output.show(&difference, || {
        let name = visible(&difference.name);
        let head = match (difference.version, difference.changes.is_empty()) {
            (Some(version), true) => format!("{name} is identical to version {version}"),
            (Some(version), false) => format!("{name} compared with version {version}"),
            (None, _) => format!("{name} is a new policy"),
        };
        format!(
            "{}\n{}",
            cx.output.paint.bold(&head),
            field_changes(&difference.changes, &cx.output)
        )
    })?;
    let is_other = exit_code && !difference.changes.is_empty();
    Ok(if is_other { Exit::Failed } else { Exit::Done })
}

fn parsed(text: &str, whose: &str) -> Result<Document, Failure> {
    Document::parse_yaml(text).map_err(|errors| {
        Failure::new(Exit::Usage, format!("{whose} is not a valid policy"))
            .detail(errors.to_string())
            .or_next("ade policies test -f CASES --policies FILE")
    })
}

async fn find(client: &Client, name: &str) -> Result<Option<PolicyVersionShown>, Failure> {
    let policies = client.policies();
    let found = gather(POLICIES, async |page| policies.list(&page).await).await?;
    Ok(found.items.into_iter().find(|policy| policy.name == name))
}
