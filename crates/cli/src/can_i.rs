//! `ade can-i`: prints yes or no with the reason, and sets an exit code for scripts.

use ade_core::actor::Actor;
use serde_json::json;

use crate::args::{CanICommand, TaskArg};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::tasks;
use crate::text::visible;

pub async fn run(command: &CanICommand, cx: &Context) -> Result<Exit, Failure> {
    let client = cx.client()?;
    match command {
        CanICommand::Approve { task, user } => {
            let who = match user {
                Some(user) => *user,
                None => match serde_json::from_value::<Actor>(client.me().await?.actor) {
                    Ok(Actor::User { id, .. }) => id,
                    _ => return answer(false, &["agents cannot decide on tasks".to_owned()], cx),
                },
            };
            let explanation = client.tasks().explain(task.id).await?;
            let found = explanation.may_answer.iter().find(|one| one.user_id == who);
            let mut why: Vec<String> = match found {
                Some(one) => one.because.iter().map(|why| visible(why)).collect(),
                None => Vec::new(),
            };
            let excluded = explanation.groups.iter().flat_map(|group| &group.excluded);
            let excluded = excluded.filter(|one| one.user_id == who);
            why.extend(excluded.map(|one| visible(&one.because)));
            if why.is_empty() {
                let state = explanation.state;
                why.push(format!("the task is {state}, and {who} is not asked to decide on it"));
            }
            answer(found.is_some(), &why, cx)
        }
        CanICommand::Apply(TaskArg { id }) => {
            let explanation = client.tasks().explain(*id).await?;
            let closed: Vec<_> = explanation.gates.iter().filter(|gate| !gate.passed).collect();
            let why: Vec<String> = closed
                .iter()
                .map(|gate| tasks::gate(gate, cx.output.paint).trim().to_owned())
                .collect();
            answer(closed.is_empty(), &why, cx)
        }
    }
}

fn answer(is_so: bool, why: &[String], cx: &Context) -> Result<Exit, Failure> {
    cx.output.show(&json!({ "allowed": is_so, "because": why }), || {
        let word = if is_so { cx.output.paint.green("yes") } else { cx.output.paint.red("no") };
        let lines = why.iter().map(|why| format!("  {why}\n"));
        format!("{word}\n{}", lines.collect::<String>())
    })?;
    Ok(if is_so { Exit::Done } else { Exit::Failed })
}
