// Says who can publish a draft, and what happens then. Pure.
import type { Me } from '@/session/session';
import type { Draft } from './queries';

type Open = Pick<Draft, 'proposed_by' | 'is_stale' | 'publication'>;

/** Reason why the reader cannot publish the draft, although they are an admin. */
export function publishBar(draft: Open, me: Pick<Me, 'id'>): string | undefined {
  if (draft.publication === 'waiting') {
    return 'This draft waits as a pending change, which people can object to.';
  }
  if (draft.publication === 'second_admin' && draft.proposed_by === me.id) {
    return 'You proposed this draft. Another admin must publish it.';
  }
  if (draft.is_stale) {
    return 'Another version was published in the meantime. Propose the change again.';
  }
  return undefined;
}

/** Says what happens when the reader publishes the draft. */
export function outlook(draft: Open, me: Pick<Me, 'id'>): string {
  if (draft.publication === 'after_wait' && draft.proposed_by === me.id) {
    return 'It makes approvals easier: it takes effect 24 hours later unless someone objects.';
  }
  return 'It takes effect at once.';
}

/** Says after a proposal what the draft waits for. */
export function proposed({ name, publication }: Pick<Draft, 'name' | 'publication'>): string {
  const next =
    publication === 'second_admin' ? 'Another admin must publish it.' : 'You can publish it.';
  return `Proposed ${name}. ${next}`;
}
