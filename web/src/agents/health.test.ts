import { describe, expect, it } from 'vitest';
import { byNeed, capabilitiesOf, EMPTY, fault, loadOf, statusChip, reach } from './health';
import type { Agent } from '@/api/queries';

const agent = (name: string, status: Agent['status'], more: Partial<Agent> = {}): Agent => ({
  id: name,
  name,
  owner_id: 'usr_1',
  status,
  config_version: 0,
  capabilities: [],
  max_tasks: 4,
  registered_at: '',
  ...more,
});

describe('agents', () => {
  it('sorts agents that need attention first, revoked ones last', () => {
    const all = [
      agent('c', 'active', { revoked_at: 'x' }),
      agent('b', 'offline'),
      agent('a', 'active'),
      agent('d', 'late'),
    ];
    expect([...all].sort(byNeed).map(({ name }) => name)).toEqual(['d', 'a', 'b', 'c']);
  });

  it('names the status of an agent', () => {
    expect(statusChip(agent('a', 'late'))[1]).toBe('Late');
    expect(statusChip(agent('a', 'active', { revoked_at: 'x' }))[1]).toBe('Revoked');
  });

  it('limits the load to 100 percent', () => {
    expect(loadOf({ load: 9, max_tasks: 4 })).toBe(1);
    expect(loadOf({ load: null, max_tasks: 4 })).toBe(0);
  });
});

describe('a draft', () => {
  const good = {
    name: 'bot',
    owner: 'usr_1',
    capabilities: 'sql.*, deploy.site sql.*',
    maxTasks: '4',
  };

  it('requires a name and an owner', () => {
    expect(fault(EMPTY, 1)).toBeDefined();
    expect(fault({ ...EMPTY, name: 'bot' }, 1)).toBeDefined();
    expect(fault(good, 1)).toBeUndefined();
  });

  it('deduplicates capabilities and rejects invalid ones', () => {
    expect(capabilitiesOf(good)).toEqual(['sql.*', 'deploy.site']);
    expect(fault({ ...good, capabilities: 'SQL!' }, 2)).toBeDefined();
  });

  it.each(['0', '-1', '1.5', 'x', '10001', ''])('rejects %j as the task limit', (maxTasks) => {
    expect(fault({ ...good, maxTasks }, 3)).toBeDefined();
  });

  it('shows a step only if all earlier steps are valid', () => {
    expect(reach(EMPTY, 5)).toBe(1);
    expect(reach({ ...good, maxTasks: 'x' }, 5)).toBe(3);
    expect(reach(good, 5)).toBe(5);
  });
});
