import { describe, expect, it } from 'vitest';
import { byNeed, capabilitiesOf, EMPTY, fault, loadOf, lookOf, reach } from './health';
import type { Agent } from '@/api/queries';

const agent = (name: string, status: Agent['status'], more: Partial<Agent> = {}): Agent => ({
  id: name,
  name,
  owner: 'usr_1',
  status,
  config_version: 0,
  capabilities: [],
  max_tasks: 4,
  registered_at: '',
  ...more,
});

describe('agents', () => {
  it('that need a look come first, and revoked ones last', () => {
    const all = [
      agent('c', 'active', { revoked_at: 'x' }),
      agent('b', 'offline'),
      agent('a', 'active'),
      agent('d', 'late'),
    ];
    expect([...all].sort(byNeed).map(({ name }) => name)).toEqual(['d', 'a', 'b', 'c']);
  });

  it('say by a word how they are', () => {
    expect(lookOf(agent('a', 'late'))[1]).toBe('Late');
    expect(lookOf(agent('a', 'active', { revoked_at: 'x' }))[1]).toBe('Revoked');
  });

  it('are never fuller than full', () => {
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

  it('needs a name and somebody who answers for it', () => {
    expect(fault(EMPTY, 1)).toBeDefined();
    expect(fault({ ...EMPTY, name: 'bot' }, 1)).toBeDefined();
    expect(fault(good, 1)).toBeUndefined();
  });

  it('takes each capability once and refuses what is none', () => {
    expect(capabilitiesOf(good)).toEqual(['sql.*', 'deploy.site']);
    expect(fault({ ...good, capabilities: 'SQL!' }, 2)).toBeDefined();
  });

  it.each(['0', '-1', '1.5', 'x', '10001', ''])('refuses %j at once', (maxTasks) => {
    expect(fault({ ...good, maxTasks }, 3)).toBeDefined();
  });

  it('shows no step before those before it are in order', () => {
    expect(reach(EMPTY, 5)).toBe(1);
    expect(reach({ ...good, maxTasks: 'x' }, 5)).toBe(3);
    expect(reach(good, 5)).toBe(5);
  });
});
