//! Risk settings, timeouts and flags: rules of the tenant, set by admins under the exclusive tenant
//! lock. After a change, approved tasks are checked again.

use std::collections::BTreeMap;

use ade_api::settings::{
    FlagShown, Flags, NewRiskSettings, NewTimeouts, RiskSettings, RiskThresholds, RiskWeights,
    SetFlag, Timeouts,
};
use ade_core::flag::{Flag, Switches};
use ade_core::ids::UserId;
use ade_core::limits::RISK_PATTERN_DEFAULTS_MAX;
use ade_core::risk::{RiskConfig, RiskRules, Score, Thresholds, Weights};
use ade_core::timeouts::{self, Overrides};
use ade_store::Tx;
use ade_store::settings::{self, RiskVersion, Touched};

use crate::app::App;
use crate::caller::Caller;
use crate::command::admin_command::{AdminCommand, Applied, AuditAction};
use crate::command::check_reason;
use crate::command::permission::look;
use crate::error::Error;

pub async fn risk(app: &App, caller: &Caller) -> Result<RiskSettings, Error> {
    let mut tx = look(app, caller).await?;
    Ok(shown_risk(app, settings::risk(&mut tx).await?.as_ref()))
}

/// Sets the risk settings; it is a conflict if the current version is not the one that was read.
pub async fn set_risk(
    act: &mut AdminCommand<'_>,
    by: UserId,
    expected: u64,
    new: NewRiskSettings,
) -> Result<Applied, Error> {
    check_reason("reason", new.reason.as_deref())?;
    let wanted = settings_of(&new)?;
    let found = settings::risk(&mut act.tx).await?.map_or(0, |kept| kept.version);
    let version = next_version(found, expected)?;
    settings::set_risk(&mut act.tx, version, &wanted, by).await?;
    act.doubt_approved().await?;
    let shown = shown_risk(act.app(), settings::risk(&mut act.tx).await?.as_ref());
    let object = format!("risk settings version {version}");
    let action = AuditAction { object, action: "risk.set" };
    Ok(Applied::new(action, 200, &shown)?.because(new.reason))
}

pub async fn timeouts(app: &App, caller: &Caller) -> Result<Timeouts, Error> {
    let mut tx = look(app, caller).await?;
    shown_timeouts(app, &mut tx).await
}

/// Sets the timeouts; it is a conflict if the current version is not the one that was read.
pub async fn set_timeouts(
    act: &mut AdminCommand<'_>,
    by: UserId,
    expected: u64,
    new: NewTimeouts,
) -> Result<Applied, Error> {
    check_reason("reason", new.reason.as_deref())?;
    let wanted = Overrides {
        lock: new.lock.map(Into::into),
        approval: new.approval.map(Into::into),
        task: new.task.map(Into::into),
    };
    let fits = wanted.over(timeouts::Timeouts::default()).checked();
    fits.map_err(|error| Error::invalid(error.name, &error))?;
    let found = settings::timeouts(&mut act.tx).await?.map_or(0, |kept| kept.version);
    let version = next_version(found, expected)?;
    settings::set_timeouts(&mut act.tx, version, &wanted, by).await?;
    let shown = shown_timeouts(act.app(), &mut act.tx).await?;
    let object = format!("timeouts version {version}");
    let action = AuditAction { object, action: "timeouts.set" };
    Ok(Applied::new(action, 200, &shown)?.because(new.reason))
}

pub async fn flags(app: &App, caller: &Caller) -> Result<Flags, Error> {
    let mut tx = look(app, caller).await?;
    let touched = settings::flags(&mut tx).await?;
    let base = app.books.base().flags;
    let shown = |flag: Flag| shown_flag(flag, base, &touched);
    Ok(Flags { items: Flag::ALL.into_iter().map(shown).collect() })
}

pub async fn set_flag(
    act: &mut AdminCommand<'_>,
    by: UserId,
    flag: Flag,
    set: SetFlag,
) -> Result<Applied, Error> {
    check_reason("reason", set.reason.as_deref())?;
    settings::set_flag(&mut act.tx, flag, set.enabled, by).await?;
    act.doubt_approved().await?;
    let touched = settings::flags(&mut act.tx).await?;
    let shown = shown_flag(flag, act.app().books.base().flags, &touched);
    let action = if set.enabled { "flag.enable" } else { "flag.disable" };
    let action = AuditAction { object: flag.to_string(), action };
    Ok(Applied::new(action, 200, &shown)?.because(set.reason))
}

/// Returns the next version. A caller who read another version is refused, because they do not know
/// what they would replace.
fn next_version(found: u32, expected: u64) -> Result<u32, Error> {
    if u64::from(found) != expected {
        return Err(Error::VersionMoved { expected, found: u64::from(found) });
    }
    Ok(found.saturating_add(1))
}

fn settings_of(new: &NewRiskSettings) -> Result<RiskConfig, Error> {
    let RiskWeights {
        resource_criticality_bp,
        change_magnitude_bp,
        blast_radius_bp,
        historical_failure_rate_bp,
    } = new.weights;
    let weights = Weights::new(
        resource_criticality_bp,
        change_magnitude_bp,
        blast_radius_bp,
        historical_failure_rate_bp,
    );
    let RiskThresholds { medium, high, critical } = new.thresholds;
    let thresholds = Thresholds::new(medium, high, critical);
    if new.pattern_defaults.len() > RISK_PATTERN_DEFAULTS_MAX {
        let problem = format!("must be at most {RISK_PATTERN_DEFAULTS_MAX} patterns");
        return Err(Error::invalid("pattern_defaults", problem));
    }
    if new.pattern_defaults.values().any(|points| *points > Score::MAX.points()) {
        return Err(Error::invalid("pattern_defaults", "each pattern has 0 to 100 points"));
    }
    let patterns = new.pattern_defaults.iter();
    let settings = RiskConfig {
        weights: weights.map_err(|error| Error::invalid("weights", error))?,
        thresholds: thresholds.map_err(|error| Error::invalid("thresholds", error))?,
        pattern_defaults: patterns
            .map(|(text, points)| (text.clone(), Score::new(*points)))
            .collect(),
    };
    let rules =
        RiskRules::of(settings).map_err(|error| Error::invalid("pattern_defaults", error))?;
    Ok(rules.settings().clone())
}

/// Returns the risk settings of the tenant, or those of the installation while the tenant has none.
fn shown_risk(app: &App, kept: Option<&RiskVersion>) -> RiskSettings {
    let settings = kept.map_or(&app.risk, |kept| &kept.settings);
    let [criticality, magnitude, radius, failures] = settings.weights.in_order();
    let [medium, high, critical] = settings.thresholds.in_order();
    let patterns = settings.pattern_defaults.iter();
    let pattern_defaults: BTreeMap<String, u8> =
        patterns.map(|(text, score)| (text.clone(), score.points())).collect();
    RiskSettings {
        version: kept.map_or(0, |kept| u64::from(kept.version)),
        weights: RiskWeights {
            resource_criticality_bp: criticality,
            change_magnitude_bp: magnitude,
            blast_radius_bp: radius,
            historical_failure_rate_bp: failures,
        },
        thresholds: RiskThresholds { medium, high, critical },
        pattern_defaults,
        set_by: kept.map(|kept| kept.set_by),
        set_at: kept.map(|kept| kept.set_at),
    }
}

async fn shown_timeouts(app: &App, tx: &mut Tx) -> Result<Timeouts, Error> {
    let kept = settings::timeouts(tx).await?;
    let own = kept.as_ref().map(|kept| kept.overrides).unwrap_or_default();
    let timeouts::Timeouts { lock, approval, task } = own.over(app.books.base().timeouts);
    let groups = [
        ("lock", own.lock.is_some()),
        ("approval", own.approval.is_some()),
        ("task", own.task.is_some()),
    ];
    let own = groups.into_iter().filter(|(_, is_own)| *is_own);
    Ok(Timeouts {
        version: kept.as_ref().map_or(0, |kept| u64::from(kept.version)),
        lock: lock.into(),
        approval: approval.into(),
        task: task.into(),
        overridden: own.map(|(name, _)| name.to_owned()).collect(),
        set_by: kept.as_ref().map(|kept| kept.set_by),
        set_at: kept.as_ref().map(|kept| kept.set_at),
    })
}

fn shown_flag(flag: Flag, base: Switches, touched: &[Touched]) -> FlagShown {
    let touched = touched.iter().find(|touched| touched.flag == flag);
    FlagShown {
        name: flag,
        enabled: touched.map_or(base.is_on(flag), |touched| touched.enabled),
        meaning: flag.meaning().to_owned(),
        set_by: touched.map(|touched| touched.set_by),
        set_at: touched.map(|touched| touched.set_at),
    }
}
