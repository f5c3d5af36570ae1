import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, type Schemas, unwrap } from '@/api/client';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Chip } from '@/ui/Chip';
import { classes } from '@/ui/classes';
import { Select } from '@/ui/Field';
import { LINK } from '@/ui/look';
import { Named } from '@/ui/Named';
import { Refusal } from '@/ui/Refusal';
import type { Replayed } from './queries';
import { gist, shares, VERDICTS } from './verdict';

const SPANS = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
] as const;

const SHOWN_MAX = 50;

export function ReplayLook({ replayed }: { replayed: Replayed }) {
  const { tasks, without_a_person: alone } = replayed;
  const parts = shares(replayed);
  return (
    <div className="space-y-3" data-replay>
      <p className={classes('font-semibold', alone > 0 && 'text-high')}>
        {alone > 0 && '⚠ '}
        {gist(replayed)}
      </p>
      <div aria-hidden="true" className="flex h-2 overflow-hidden rounded-full bg-sunken">
        {parts.map(({ name, part }) => (
          <span key={name} className={VERDICTS[name].bar} style={{ width: `${part * 100}%` }} />
        ))}
      </div>
      <ul className="flex flex-wrap gap-2">
        {parts.map(({ name, word, count }) => (
          <li key={name}>
            <Chip tone={VERDICTS[name].tone} sign={VERDICTS[name].sign} value={name}>
              {count.toLocaleString('en')} {word}
            </Chip>
          </li>
        ))}
      </ul>
      <p className="text-meta text-ink-3">
        Evaluated {replayed.examined.toLocaleString('en')}{' '}
        {replayed.examined === 1 ? 'task' : 'tasks'} of the last {replayed.days} days
        {replayed.is_cut && ' (not all)'}. Nothing was changed.
      </p>
      {tasks.length > 0 && (
        <ul className="divide-y divide-line border-t border-line">
          {tasks.slice(0, SHOWN_MAX).map((task) => (
            <li key={task.task_id} className="py-2">
              <Link to="/tasks/$id" params={{ id: task.task_id }} search={{}} className={LINK}>
                T-{task.number}
              </Link>{' '}
              <Named text={task.title} />
              <p className="text-meta text-ink-2">
                <span aria-hidden="true">{VERDICTS[task.verdict].sign} </span>
                {task.without_a_person ? 'auto-approved' : task.verdict}: {task.before} →{' '}
                {task.after}
              </p>
            </li>
          ))}
        </ul>
      )}
      {tasks.length > SHOWN_MAX && (
        <p className="text-meta text-ink-3">
          {(tasks.length - SHOWN_MAX).toLocaleString('en')} more tasks differ.
        </p>
      )}
    </div>
  );
}

/** Replays recent tasks against the policy. Runs on request only, because it is expensive. */
export function WhatIf({ what }: { what: { document: string } | { draft_id: string } }) {
  const [days, setDays] = useState<(typeof SPANS)[number][0]>('30');
  const replay = useMutation({
    mutationFn: (body: Schemas['Replay']) => unwrap(api.POST('/v1/policies/replay', { body })),
  });
  const asked = { ...what, days: Number(days) };
  // The result belongs to the submitted document, not to later edits.
  const isOld = replay.data && JSON.stringify(replay.variables) !== JSON.stringify(asked);
  return (
    <Card title="Replay">
      <div className="space-y-3">
        <div className="flex flex-wrap items-center gap-2">
          <Select aria-label="Time range" value={days} choices={SPANS} onChange={setDays} />
          <Button onClick={() => !replay.isPending && replay.mutate(asked)}>
            {replay.isPending ? 'Replaying…' : 'Replay past tasks'}
          </Button>
        </div>
        <Refusal error={replay.error} />
        {isOld && (
          <p className="text-meta text-medium">The policy was edited. Run the replay again.</p>
        )}
        {replay.data && !isOld && <ReplayLook replayed={replay.data} />}
      </div>
    </Card>
  );
}
