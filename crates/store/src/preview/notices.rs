//! Notices of the server. The driver only passes notices to `tracing`, so a subscriber for the time
//! of one call collects them.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ade_core::limits::{EFFECT_NOTE_MAX_BYTES, EFFECT_NOTES_MAX};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::cut;

const TARGET: &str = "sqlx::postgres::notice";

#[derive(Debug, Clone, Default)]
pub(super) struct Notices(Arc<Mutex<Vec<String>>>);

impl Notices {
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Subscriber for Notices {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == TARGET
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }

    fn event(&self, event: &Event<'_>) {
        if event.metadata().target() != TARGET {
            return;
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        let mut notices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A loop may repeat a notice a million times; the first ones are enough.
        if notices.len() < EFFECT_NOTES_MAX {
            notices.push(cut(&message.0, EFFECT_NOTE_MAX_BYTES));
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Message(String);

impl Visit for Message {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.0);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}
