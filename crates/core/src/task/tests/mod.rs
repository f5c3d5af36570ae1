//! The lifecycle of a task, rule by rule.

mod apply;
mod basis;
mod break_glass;
mod claimability;
mod content;
mod deadline;
mod explain;
mod matrix;
mod model;
mod review;
mod task_decision;
mod voting;
