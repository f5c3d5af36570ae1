// Status of an agent as a sign and a word, and the order of agents in lists. Pure.
import type { ChipTone } from '@/ui/Chip';
import type { Agent } from '@/api/queries';

type AgentStatus = Agent['status'];

const LOOKS: Record<AgentStatus, [sign: string, word: string, tone: ChipTone]> = {
  active: ['●', 'Active', 'good'],
  late: ['▲', 'Late', 'warn'],
  draining: ['◐', 'Draining', 'review'],
  paused: ['‖', 'Paused', 'review'],
  offline: ['■', 'Offline', 'quiet'],
};

export function statusChip(
  agent: Pick<Agent, 'status' | 'revoked_at'>,
): [string, string, ChipTone] {
  return agent.revoked_at ? ['⊘', 'Revoked', 'quiet'] : LOOKS[agent.status];
}

const ORDER: readonly AgentStatus[] = ['late', 'draining', 'paused', 'active', 'offline'];

/** Sorts unhealthy agents first and revoked ones last, then by name. */
export function byNeed(one: Agent, other: Agent): number {
  const place = (agent: Agent) => (agent.revoked_at ? ORDER.length : ORDER.indexOf(agent.status));
  return place(one) - place(other) || (one.name < other.name ? -1 : 1);
}

/** Load relative to the maximum of concurrent tasks, from 0 to 1. */
export function loadOf(agent: Pick<Agent, 'load' | 'max_tasks'>): number {
  return Math.min(1, (agent.load ?? 0) / Math.max(1, agent.max_tasks));
}

export interface Draft {
  readonly name: string;
  readonly owner: string;
  readonly capabilities: string;
  readonly maxTasks: string;
}

export const EMPTY: Draft = { name: '', owner: '', capabilities: '', maxTasks: '4' };
export const STEPS = ['Identity', 'Capabilities', 'Limits', 'Guardrails', 'Connect'] as const;

const CAPABILITY = /^[a-z0-9_*-]+(\.[a-z0-9_*-]+)*$/;

export function capabilitiesOf(draft: Draft): string[] {
  return [...new Set(draft.capabilities.split(/[\s,]+/).filter(Boolean))];
}

/** Returns the reason why a step is not complete, if any. */
export function fault(draft: Draft, step: number): string | undefined {
  if (step === 1 && !draft.name.trim()) return 'Enter a name.';
  if (step === 1 && !draft.owner) return 'Choose an owner.';
  if (step === 2) {
    const wrong = capabilitiesOf(draft).find((one) => !CAPABILITY.test(one));
    if (wrong) return `“${wrong}” is not a task type such as sql.change or deploy.*`;
    if (capabilitiesOf(draft).length > 64) return 'Enter at most 64 task types.';
  }
  const most = Number(draft.maxTasks);
  if (step === 3 && !(Number.isInteger(most) && most >= 1 && most <= 10_000))
    return 'Enter a number from 1 to 10,000.';
  return undefined;
}

/** Returns the last reachable step: all steps before it must be valid. */
export function reach(draft: Draft, step: number): number {
  for (let before = 1; before < step; before++) if (fault(draft, before)) return before;
  return step;
}
