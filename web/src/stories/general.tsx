import { useState } from 'react';
import {
  AgeCell,
  RiskCell,
  STATE_COLUMNS,
  STATE_TEMPLATE,
  StateCell,
  TitleCell,
} from '@/list/Cells';
import { List } from '@/list/List';
import { Skeleton } from '@/list/Skeleton';
import { Empty, FreshStrip, StaleStrip } from '@/list/Strips';
import { DeviceLook } from '@/session/DevicePage';
import { ExpiredLook } from '@/session/Expired';
import { JoinLook } from '@/session/JoinPage';
import { LoginLook } from '@/session/Login';
import { BannerLook, InstallationLook } from '@/shell/Freeze';
import { PillLook } from '@/shell/Pill';
import { Button } from '@/ui/Button';
import { Risk } from '@/ui/Risk';
import { STATES, StateChip } from '@/ui/StateChip';
import { Trouble } from '@/ui/Trouble';
import { refusal, row } from './fixtures';
import { nothing, type Story } from './common';

function ManyRows() {
  const [rows] = useState(() => Array.from({ length: 10_000 }, (_, index) => row(index)));
  const [cursor, setCursor] = useState(2);
  return (
    <div className="flex h-[420px]">
      <List
        rows={rows}
        cursor={cursor}
        onCursor={setCursor}
        onOpen={nothing}
        label="Ten thousand"
        columns={STATE_COLUMNS}
        template={STATE_TEMPLATE}
      >
        {drawn}
      </List>
    </div>
  );
}

const drawn = (one: ReturnType<typeof row>) => (
  <>
    <RiskCell row={one} />
    <TitleCell row={one} by="Ana Ruiz" />
    <StateCell row={one} />
    <AgeCell row={one} />
  </>
);

const WAYS = [
  { name: 'okta', title: 'Okta' },
  { name: 'github', title: 'GitHub' },
];
const door = { isFailed: false, returnTo: '/inbox', onRetry: nothing };

const terminal = {
  start: '',
  request: undefined,
  trouble: null,
  offered: ['read', 'propose', 'decide'] as const,
  disabledReason: undefined,
  isPending: false,
  error: null,
  onAnswer: nothing,
  onCode: nothing,
  onRetry: nothing,
};
const asking = {
  user_code: 'BCDF-GHJK',
  client_name: 'ade on laptop',
  address: '10.0.0.7',
  address_differs: false,
  user_agent: 'ade/0.9',
  status: 'pending',
  created_at: '2026-11-15T10:00:00Z',
  expires_at: '2026-11-15T10:10:00Z',
} as const;

const TERMINALS: readonly Story[] = [
  { name: 'Terminal: enter code', show: () => <DeviceLook {...terminal} stage="typing" /> },
  { name: 'Terminal: loading', show: () => <DeviceLook {...terminal} stage="loading" /> },
  {
    name: 'Terminal: request',
    show: () => <DeviceLook {...terminal} stage="asked" request={asking} />,
  },
  {
    name: 'Terminal: another address',
    show: () => (
      <DeviceLook {...terminal} stage="asked" request={{ ...asking, address_differs: true }} />
    ),
  },
  { name: 'Terminal: gone', show: () => <DeviceLook {...terminal} stage="gone" /> },
  {
    name: 'Terminal: request not loaded',
    show: () => <DeviceLook {...terminal} stage="failed" trouble={new Error('no response')} />,
  },
  { name: 'Terminal: authorized', show: () => <DeviceLook {...terminal} stage="approved" /> },
  { name: 'Terminal: denied', show: () => <DeviceLook {...terminal} stage="denied" /> },
];

const SIGN_IN: readonly Story[] = [
  { name: 'Sign in', show: () => <LoginLook {...door} ways={WAYS} /> },
  {
    name: 'Sign in: no account',
    show: () => (
      <LoginLook {...door} ways={WAYS} problem="You have no account here. Ask an admin." />
    ),
  },
  {
    name: 'Sign in: loading',
    show: () => <LoginLook {...door} ways={undefined} />,
  },
  { name: 'Sign in: join a tenant', show: () => <LoginLook {...door} ways={WAYS} tenant="Shop" /> },
  { name: 'Sign in: no provider', show: () => <LoginLook {...door} ways={[]} /> },
  {
    name: 'Sign in: no response',
    show: () => <LoginLook {...door} ways={undefined} isFailed />,
  },
  {
    name: 'Invitation',
    show: () => <JoinLook hasInvitation isPending={false} error={null} onAccept={nothing} />,
  },
  {
    name: 'Invitation: the link is incomplete',
    show: () => (
      <JoinLook hasInvitation={false} isPending={false} error={null} onAccept={nothing} />
    ),
  },
  {
    name: 'Session expired',
    show: () => (
      <div className="relative h-[260px] [&>*]:absolute">
        <ExpiredLook ways={WAYS} onCheck={nothing} />
      </div>
    ),
  },
];

export const GENERAL: readonly Story[] = [
  {
    name: 'Connection: all states',
    show: () => (
      <div className="flex flex-wrap gap-3">
        <PillLook word="live" />
        <PillLook word="reconnecting" retrySeconds={3} />
        <PillLook word="polling" />
        <PillLook word="behind" lagMs={42_000} />
        <PillLook word="offline" heardAt={Date.parse('2026-11-14T14:01:07Z')} />
        <PillLook word="paused" />
      </div>
    ),
  },
  {
    name: 'States',
    show: () => (
      <div className="flex flex-wrap gap-2">
        {STATES.map((one) => (
          <StateChip key={one} state={one} />
        ))}
        <StateChip state="DRAFT" detail="CHANGES_REQUESTED" />
        <StateChip state="COMPLETED" detail="RELEASED_TO_HOST" />
      </div>
    ),
  },
  {
    name: 'Risk',
    show: () => (
      <div className="grid gap-2">
        <Risk level="low" score={8} />
        <Risk level="medium" score={41} />
        <Risk level="high" score={78} />
        <Risk level="critical" score={92} />
      </div>
    ),
  },
  {
    name: 'Buttons, enabled and disabled',
    show: () => (
      <div className="flex flex-wrap gap-2">
        <Button tone="primary" keys="a">
          Approve rev 3
        </Button>
        <Button tone="danger" keys="r">
          Reject…
        </Button>
        <Button keys="c">Request changes</Button>
        <Button tone="quiet">Clear</Button>
        <Button tone="primary" disabledReason="You can’t approve your own task.">
          Approve rev 3
        </Button>
      </div>
    ),
  },
  {
    name: 'Frozen',
    show: () => (
      <BannerLook
        by="Lena Koch"
        onLift={nothing}
        freeze={{
          id: 'frz_1',
          in_force: true,
          reason: 'INC-441: checkout is down',
          scope: 'tenant',
          set_at: '2026-11-14T14:02:00Z',
          set_by: 'usr_lena',
        }}
      />
    ),
  },
  {
    name: 'Frozen for all tenants',
    show: () => (
      <InstallationLook
        freeze={{
          number: 1,
          reason: 'INC-9: leaked credentials',
          set_by: 'root',
          since: '2026-11-14T14:02:00Z',
        }}
      />
    ),
  },
  {
    name: 'List: loading',
    show: () => (
      <div className="flex h-[220px]">
        <Skeleton />
      </div>
    ),
  },
  {
    name: 'List: empty after a filter',
    show: () => (
      <Empty title="No matching tasks">
        <Button>Clear “risk:&gt;60”</Button>
      </Empty>
    ),
  },
  {
    name: 'List: empty',
    show: () => (
      <Empty title="No tasks yet">Tasks proposed by agents and people appear here.</Empty>
    ),
  },
  {
    name: 'List: stale data',
    show: () => <StaleStrip readAt={Date.parse('2026-11-14T14:01:07Z')} onRetry={nothing} />,
  },
  { name: 'List: new rows', show: () => <FreshStrip count={3} onShow={nothing} /> },
  { name: 'List: ten thousand rows, long names, right to left, emoji', show: () => <ManyRows /> },
  {
    name: 'Error with code',
    show: () => (
      <Trouble
        onRetry={nothing}
        error={refusal(
          503,
          'database_unavailable',
          'Database unavailable',
          'the database cannot be reached',
          'Try again in a moment.',
        )}
      />
    ),
  },
  {
    name: 'No access',
    show: () => (
      <Trouble
        error={refusal(
          403,
          'not_allowed',
          'You don’t have access',
          'only an admin may do this',
          'Ask an admin of your tenant.',
        )}
      />
    ),
  },
  { name: 'No response', show: () => <Trouble onRetry={nothing} error={new Error('cut')} /> },
  ...SIGN_IN,
  ...TERMINALS,
];
