// Describes pending changes, and says who may do what with them. Pure.
import { objectName } from '@/audit/leaf';
import type { Me } from '@/session/session';
import { spelled } from '@/ui/text';
import type { PendingChange } from './pending';

type NameOf = (id: string) => string;

/** Title of each kind. `{}` marks the object. */
const TITLES: Record<string, string> = {
  'agent.change': 'Change the agent {}',
  'delegation.create': 'Delegate the reviews of {}',
  'freeze.lift': 'Lift the {}',
  'group_roles.set': 'Change the roles of groups of {}',
  'policy.publish': 'Publish the policy {}',
  'resource.import': 'Import {}',
  'resource.put': 'Change the resource {}',
  'risk.settings': 'Change the risk settings',
  'settings.flag': 'Change the flag {}',
  'settings.timeouts': 'Change the timeouts',
  'user.alias': 'Link another account to {}',
  'user.change': 'Change the account of {}',
  'user.create': 'Add {}',
  'user.passkeys': 'Remove the passkeys of {}',
  'user.roles': 'Change the roles of {}',
};

/** A kind without a title is shown by its own name. */
export function titleOf({ kind, object }: PendingChange, nameOf: NameOf): string {
  const title = TITLES[kind] ?? `${kind}: {}`;
  return title.replace('{}', () => spelled(objectName(object, nameOf)));
}

/** Says how a change was closed, and by whom if a person did it. */
export function outcomeOf(
  { outcome, closed_by: by }: PendingChange,
  nameOf: NameOf,
): string | undefined {
  const who = by ? ` by ${spelled(nameOf(by))}` : '';
  switch (outcome) {
    case 'published':
      return `Published${who}`;
    case 'withdrawn':
      return `Withdrawn${who}`;
    case 'objected':
      return `Stopped by an objection${by ? ` of ${spelled(nameOf(by))}` : ''}`;
    case 'applied':
      return 'Took effect after its wait';
    case 'outdated':
      return 'Outdated: the rules had changed since';
    default:
      return undefined;
  }
}

/** Reason why the reader cannot publish the change, although they are an admin. */
export function publishBar(change: PendingChange, me: Pick<Me, 'id'>): string | undefined {
  if (change.proposed_by !== me.id) return undefined;
  return 'You proposed this change. Another admin must publish it.';
}

/** Whether the reader may be able to object while no second admin looks at the change. People who
 *  had a role when it was proposed can do so without one; the server knows who they are. */
export function mayObject(change: PendingChange, me: Pick<Me, 'id'>): boolean {
  return Boolean(change.takes_effect_at) && change.proposed_by !== me.id;
}
