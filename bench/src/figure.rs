//! The output of a scenario: one JSON object per row, always with the spread over its rounds. Also
//! the few statistics that the rows need.

use std::time::Duration;

use serde::Serialize;

pub const SECOND_IN_MICROS: f64 = 1_000_000.0;

/// The output options of every scenario.
#[derive(Debug, clap::Args)]
pub struct Rows {
    /// Accepted for consistency with other tools; rows are always printed as JSON
    #[arg(long)]
    json: bool,
}

pub fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// The bound that a figure must keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    AtLeast(f64),
    AtMost(f64),
    /// The figure is printed for information and has no bound.
    None,
}

#[derive(Debug, Serialize)]
struct Printed<'a> {
    name: &'a str,
    ours: f64,
    bare: Option<f64>,
    unit: &'a str,
    ratio: Option<f64>,
    min: f64,
    max: f64,
    goal: Option<f64>,
    holds: Option<bool>,
}

/// Prints our figures next to the baseline, round by round. The ratio is computed per round, and
/// the median counts.
pub fn print_ratio(name: &str, unit: &str, ours: &[f64], bare: &[f64], goal: Goal) {
    let ratios: Vec<f64> = ours.iter().zip(bare).map(|(ours, bare)| ours / bare).collect();
    let ratio = median(&ratios);
    print(&Printed {
        name,
        ours: median(ours),
        bare: Some(median(bare)),
        unit,
        ratio: Some(rounded(ratio)),
        min: rounded(least(&ratios)),
        max: rounded(greatest(&ratios)),
        goal: goal.number(),
        holds: goal.is_met(ratio),
    });
}

/// Prints a single figure, round by round.
pub fn print_plain(name: &str, unit: &str, ours: &[f64], goal: Goal) {
    let middle = median(ours);
    print(&Printed {
        name,
        ours: middle,
        bare: None,
        unit,
        ratio: None,
        min: rounded(least(ours)),
        max: rounded(greatest(ours)),
        goal: goal.number(),
        holds: goal.is_met(middle),
    });
}

fn print(row: &Printed<'_>) {
    let row = Printed { ours: rounded(row.ours), bare: row.bare.map(rounded), ..*row };
    match serde_json::to_string(&row) {
        Ok(text) => println!("{text}"),
        Err(error) => eprintln!("{}: {error}", row.name),
    }
}

impl Goal {
    fn number(self) -> Option<f64> {
        match self {
            Self::AtLeast(goal) | Self::AtMost(goal) => Some(goal),
            Self::None => None,
        }
    }

    fn is_met(self, value: f64) -> Option<bool> {
        match self {
            Self::AtLeast(goal) => Some(value >= goal),
            Self::AtMost(goal) => Some(value <= goal),
            Self::None => None,
        }
    }
}

/// Rounds to three decimals, more than the precision of any of these figures.
fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// Returns the value below which this share of all values lies; NaN if nothing was measured.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place in a list of measurements, far below the limits of either type"
)]
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let place = (last as f64 * share).round() as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

fn least(values: &[f64]) -> f64 {
    quantile(values, 0.0)
}

fn greatest(values: &[f64]) -> f64 {
    quantile(values, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_is_a_measured_value() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert!((median(&values) - 3.0).abs() < f64::EPSILON);
        assert!((quantile(&values, 0.99) - 5.0).abs() < f64::EPSILON);
        assert!((least(&values) - 1.0).abs() < f64::EPSILON);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn goal_is_a_lower_or_an_upper_bound() {
        assert_eq!(Goal::AtLeast(0.6).is_met(0.59), Some(false));
        assert_eq!(Goal::AtMost(25.0).is_met(24.0), Some(true));
        assert_eq!(Goal::None.is_met(1.0), None);
    }
}
