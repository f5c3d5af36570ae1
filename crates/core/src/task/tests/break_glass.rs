//! Override: two admins, one effect, one hour, and a review afterwards.

use crate::actor::Person;
use crate::approval::Seen;
use crate::change::Digest;
use crate::event::EventKind;
use crate::ids::UserId;
use crate::samples::*;
use crate::task::*;

fn ask(ticket: &str, reason: &str) -> Command {
    Command::Override { ticket: ticket.to_owned(), reason: reason.to_owned() }
}

fn asked(world: &World, task: &Task) -> Task {
    world.step(task, &user(ADMIN), &ask("INC-7", "the site is down"), at(0))
}

fn confirm(task: &Task) -> Command {
    Command::ConfirmOverride { seen: seen(task) }
}

const HOUR: i64 = 3600;

#[test]
fn override_by_two_admins_lasts_an_hour_and_needs_review() {
    let world = World::new([two_dbas()]);
    for task in [world.submitted(at(0)), world.reviewing(at(0))] {
        let state = task.state;
        let task = asked(&world, &task);
        assert_eq!(task.state, state, "the request changes nothing");
        let decision =
            world.decide(&task, &user(SECOND_ADMIN), &confirm(&task), at(HOUR - 1)).unwrap();
        let due_at = at(HOUR - 1).plus(hours(24));
        assert!(decision.writes.contains(&Write::OpenAfterReview { due_at }));
        assert_eq!(decision.events, [EventKind::OverrideConfirmed, EventKind::TaskApproved]);
        let task = task.after(&decision, at(HOUR - 1)).unwrap();
        assert_eq!((task.state, task.basis.clone()), (State::Approved, Some(Basis::Override)));
        let start = world.start();
        assert!(world.decide(&task, &agent(), &start, at(2 * HOUR - 2)).is_ok());
        let over = world.decide(&task, &agent(), &start, at(2 * HOUR - 1));
        let until = at(2 * HOUR - 1);
        assert_eq!(over, Err(Refusal::BasisLost(BasisLost::RunOut { until })));
        let expire = |seconds| world.decide(&task, &worker(), &Command::Expire, at(seconds));
        assert_eq!(expire(2 * HOUR - 2), Err(Refusal::NotDue { at: until }));
        assert_eq!(expire(2 * HOUR - 1).unwrap().to, To::State(State::Expired));
    }
}

#[test]
fn override_cannot_be_confirmed_by_any_account_of_its_admin() {
    let mut world = World::new([two_dbas()]);
    let task = asked(&world, &world.reviewing(at(0)));
    let same = world.decide(&task, &user(ADMIN), &confirm(&task), at(1));
    assert!(matches!(same, Err(Refusal::Denied(_))), "{same:?}");
    world.edit(SECOND_ADMIN, |person| person.aliases = [ADMIN].into());
    let alias = world.decide(&task, &user(SECOND_ADMIN), &confirm(&task), at(1));
    assert!(matches!(alias, Err(Refusal::Denied(_))), "{alias:?}");
    let second = user(SECOND_ADMIN);
    let rule = break_glass::confirm(&task, seen(&task), &world.facts(&second), at(1));
    assert_eq!(rule, Err(Refusal::SameAdmin { asked_by: ADMIN }), "the rule refuses it too");
}

#[test]
fn override_requested_by_a_former_admin_is_not_confirmed() {
    for take_away in
        [|person: &mut Person| person.active = false, |person: &mut Person| person.roles.clear()]
    {
        let mut world = World::new([two_dbas()]);
        let task = asked(&world, &world.reviewing(at(0)));
        world.edit(ADMIN, take_away);
        let refused = world.decide(&task, &user(SECOND_ADMIN), &confirm(&task), at(1));
        assert_eq!(refused, Err(Refusal::BasisLost(BasisLost::OverrideAdminGone)));
    }
}

#[test]
fn override_cannot_be_confirmed_by_involved_people() {
    let world = World::new([two_dbas()]);
    let mut task = asked(&world, &world.reviewing(at(0)));
    task.involvement.editors.insert(SECOND_ADMIN);
    let refused = world.decide(&task, &user(SECOND_ADMIN), &confirm(&task), at(1));
    assert!(matches!(refused, Err(Refusal::SelfApproval(_))), "{refused:?}");
}

#[test]
fn override_by_a_non_admin_is_refused() {
    let world = World::new([two_dbas()]);
    let task = world.reviewing(at(0));
    for actor in [user(ALICE), user(AUTHOR), agent(), worker()] {
        let refused = world.decide(&task, &actor, &ask("INC-7", "now"), at(1));
        assert!(matches!(refused, Err(Refusal::Denied(_))), "{actor:?}");
        let open = asked(&world, &task);
        let refused = world.decide(&open, &actor, &confirm(&open), at(1));
        let is_refused = matches!(refused, Err(Refusal::Denied(_) | Refusal::SelfApproval(_)));
        assert!(is_refused, "{actor:?}");
    }
}

#[test]
fn override_needs_a_ticket_and_a_reason() {
    let world = World::new([two_dbas()]);
    let task = world.reviewing(at(0));
    let refused = |ticket, reason| {
        world.decide(&task, &user(ADMIN), &ask(ticket, reason), at(1)).unwrap_err()
    };
    assert_eq!(refused(" ", "why"), Refusal::TicketRequired);
    assert_eq!(refused("INC-7", " "), Refusal::ReasonRequired);
}

#[test]
fn override_unconfirmed_lapses_after_an_hour() {
    let world = World::new([two_dbas()]);
    let task = asked(&world, &world.reviewing(at(0)));
    let late = world.decide(&task, &user(SECOND_ADMIN), &confirm(&task), at(HOUR));
    assert_eq!(late, Err(Refusal::OverrideLapsed { at: at(HOUR) }));
    let lapse = |seconds| world.decide(&task, &worker(), &Command::LapseOverride, at(seconds));
    assert_eq!(lapse(HOUR - 1), Err(Refusal::NotDue { at: at(HOUR) }));
    let lapsed = task.after(&lapse(HOUR).unwrap(), at(HOUR)).unwrap();
    assert_eq!((lapsed.state, lapsed.break_glass.clone()), (State::Reviewing, None));
    let gone = world.decide(&lapsed, &worker(), &Command::LapseOverride, at(HOUR));
    assert_eq!(gone, Err(Refusal::OverrideNotAsked));
}

/// The notices of a decision: each event with its recipients.
fn notices(task: &Task, decision: &Decision) -> Vec<(EventKind, Vec<UserId>)> {
    let notices = decision.notices(task).into_iter();
    notices
        .map(|notice| {
            assert!(notice.roles.is_empty(), "a role would reach only those on duty");
            (notice.event, notice.people.into_iter().collect())
        })
        .collect()
}

fn sorted<const N: usize>(mut people: [UserId; N]) -> Vec<UserId> {
    people.sort();
    people.to_vec()
}

#[test]
fn override_notifies_admins_and_author_but_not_the_actor() {
    let mut world = World::new([two_dbas()]);
    world.edit(CAROL, |person| person.roles = roles(&["admin"]));
    world.edit(STRANGER, |person| {
        person.roles = roles(&["admin"]);
        person.active = false;
    });
    let task = world.reviewing(at(0));
    let command = ask("INC-7", "the site is down");
    let decision = world.decide(&task, &user(ADMIN), &command, at(0)).unwrap();
    let others = sorted([SECOND_ADMIN, CAROL, AUTHOR]);
    assert_eq!(notices(&task, &decision), [(EventKind::OverrideAsked, others)]);
    let open = task.after(&decision, at(0)).unwrap();
    let confirmed = world.decide(&open, &user(SECOND_ADMIN), &confirm(&open), at(1)).unwrap();
    let others = sorted([ADMIN, CAROL, AUTHOR]);
    assert_eq!(notices(&open, &confirmed), [(EventKind::OverrideConfirmed, others)]);
    let lapsed = world.decide(&open, &worker(), &Command::LapseOverride, at(HOUR)).unwrap();
    let all = sorted([ADMIN, SECOND_ADMIN, CAROL, AUTHOR]);
    assert_eq!(notices(&open, &lapsed), [(EventKind::OverrideLapsed, all)]);
}

#[test]
fn override_notifies_aliases_of_the_actor() {
    let mut world = World::new([two_dbas()]);
    world.edit(SECOND_ADMIN, |person| person.aliases = [ADMIN].into());
    let task = world.reviewing(at(0));
    let decision = world.decide(&task, &user(ADMIN), &ask("INC-7", "down"), at(0)).unwrap();
    let sent = notices(&task, &decision);
    assert_eq!(sent, [(EventKind::OverrideAsked, sorted([SECOND_ADMIN, AUTHOR]))]);
}

#[test]
fn override_is_refused_while_another_is_open() {
    let world = World::new([two_dbas()]);
    let task = asked(&world, &world.reviewing(at(0)));
    let again = |seconds| world.decide(&task, &user(SECOND_ADMIN), &ask("B", "b"), at(seconds));
    let open = Refusal::OverrideOpen { asked_by: ADMIN, confirm_before: at(HOUR) };
    assert_eq!(again(HOUR - 1), Err(open));
    assert!(again(HOUR).is_ok(), "the first has lapsed");
}

#[test]
fn override_covers_only_its_own_effect() {
    let world = World::new([two_dbas()]);
    let task = asked(&world, &world.reviewing(at(0)));
    let other = Seen { digest: Digest::of(b"x"), ..seen(&task) };
    let command = Command::ConfirmOverride { seen: other };
    let refused = world.decide(&task, &user(SECOND_ADMIN), &command, at(1));
    assert!(matches!(refused, Err(Refusal::StaleRevision { .. })));
    let amend = Command::Amend { content: content("other") };
    let amended = world.step(&task, &user(AUTHOR), &amend, at(1));
    let refused = world.decide(&amended, &user(SECOND_ADMIN), &confirm(&amended), at(2));
    assert_eq!(refused, Err(Refusal::OverrideNotAsked));
    let lapse = world.decide(&amended, &worker(), &Command::LapseOverride, at(2));
    assert!(lapse.is_ok(), "the effect of the request no longer exists");
}

#[test]
fn override_holds_only_while_both_admins_do() {
    let base = World::new([two_dbas()]);
    let task = asked(&base, &base.reviewing(at(0)));
    let task = base.step(&task, &user(SECOND_ADMIN), &confirm(&task), at(1));
    let start =
        |world: &World, task: &Task| world.decide(task, &agent(), &world.start(), at(2)).err();
    let gone = Some(Refusal::BasisLost(BasisLost::OverrideAdminGone));
    for admin in [ADMIN, SECOND_ADMIN] {
        let mut world = base.clone();
        world.edit(admin, |person| person.active = false);
        assert_eq!(start(&world, &task), gone);
        let mut world = base.clone();
        world.edit(admin, |person| person.roles = roles(&["reviewer"]));
        assert_eq!(start(&world, &task), gone);
    }
    let mut linked = base.clone();
    linked.edit(ADMIN, |person| person.aliases = [SECOND_ADMIN].into());
    assert_eq!(start(&linked, &task), gone);
    let unconfirmed = |change: fn(&mut Task)| {
        let mut task = task.clone();
        change(&mut task);
        start(&base, &task)
    };
    let lost = Some(Refusal::BasisLost(BasisLost::NotOverridden));
    assert_eq!(unconfirmed(|task| task.break_glass = None), lost);
    assert_eq!(unconfirmed(|task| task.revision = 9), lost);
    assert_eq!(unconfirmed(|task| task.content = content("other")), lost);
    assert_eq!(unconfirmed(|task| task.break_glass.as_mut().unwrap().confirmed = None), lost);
    assert_eq!(unconfirmed(|_| {}), None);
}

#[test]
fn override_requested_by_the_author_needs_another_admin() {
    let mut world = World::new([two_dbas()]);
    world.edit(AUTHOR, |person| person.roles = roles(&["author", "admin"]));
    let task = world.reviewing(at(0));
    let open = world.step(&task, &user(AUTHOR), &ask("INC-1", "urgent"), at(0));
    let asked_by: UserId = open.break_glass.as_ref().unwrap().asked_by;
    assert_eq!(asked_by, AUTHOR);
    assert!(world.decide(&open, &user(ADMIN), &confirm(&open), at(1)).is_ok());
}
