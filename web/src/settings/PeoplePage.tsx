import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, type Schemas, unwrap } from '@/api/client';
import { type User, usersQuery } from '@/api/queries';
import { useSend } from '@/api/useSend';
import { Proposed } from '@/changes/Proposed';
import { useAdminBar } from '@/shell/bars';
import { useTitle } from '@/shell/useTitle';
import { Button } from '@/ui/Button';
import { Chip } from '@/ui/Chip';
import { Field, SearchField } from '@/ui/Field';
import { Named } from '@/ui/Named';
import { Refusal } from '@/ui/Refusal';
import { Secret } from '@/ui/Secret';
import { Sure } from '@/ui/Sure';
import { Due } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import { FormCard, ListCard, ROW, wordsOf } from './parts';

/** The issuer of people who do not sign in through an identity provider. */
const LOCAL = 'local';

function RolesForm({ user, onDone }: { user: User; onDone: () => void }) {
  const bar = useAdminBar();
  const [text, setText] = useState(user.roles.join(' '));
  const set = useSend({
    send: (roles: string[], key) =>
      unwrap(
        api.PUT('/v1/users/{id}/roles', {
          params: { path: { id: user.id }, header: { 'Idempotency-Key': key } },
          body: { roles },
        }),
      ),
    touches: 'users',
    onAccepted: onDone,
  });
  return (
    <form
      className="w-full space-y-2 pb-1"
      onSubmit={(event) => {
        event.preventDefault();
        if (!bar) set.go(wordsOf(text));
      }}
    >
      <Field
        label={`Roles of ${user.name}`}
        says="All roles, separated by spaces. Roles that are not listed are removed."
        value={text}
        spellCheck={false}
        onChange={setText}
      />
      <Refusal error={set.error} />
      <div className="flex gap-2">
        <Button type="submit" tone="primary" disabledReason={bar}>
          {set.isPending ? 'Saving…' : 'Save roles'}
        </Button>
        <Button onClick={onDone}>Cancel</Button>
      </div>
    </form>
  );
}

/** The link exists only in the memory of the page and is lost on reload. */
function Invite({ user }: { user: User }) {
  const bar = useAdminBar();
  const [made, setMade] = useState<Schemas['Invitation']>();
  const invite = useSend({
    send: (id: string, key) =>
      unwrap(
        api.POST('/v1/users/{id}/invitations', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
        }),
      ),
    touches: 'users',
    onDone: setMade,
  });
  return (
    <>
      <Button size="small" disabledReason={bar ?? invite.bar} onClick={() => invite.go(user.id)}>
        {invite.isPending ? 'Inviting…' : 'Invite'}
      </Button>
      <Refusal error={invite.error} />
      {made?.sent_to && (
        <p className="w-full pb-1 text-meta text-ink-2">
          Sent to <Untrusted text={made.sent_to} />. The link works once, and expires in{' '}
          <Due at={made.expires_at} />.
        </p>
      )}
      {made?.url && (
        <div className="w-full space-y-2 pb-1">
          <Secret title={`Invitation for ${user.name}, shown once`} value={made.url} />
          <p className="text-meta text-ink-2">
            Send the link only to {user.name}: it signs its holder in as them. It works once, and
            expires in <Due at={made.expires_at} />. Then another admin confirms {user.name} here.
          </p>
        </div>
      )}
    </>
  );
}

/** Until another admin confirms the person, their votes are marked. */
function NotConfirmed({ user }: { user: User }) {
  const bar = useAdminBar();
  const confirm = useSend({
    send: (id: string, key) =>
      unwrap(
        api.POST('/v1/users/{id}/confirm', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
        }),
      ),
    touches: 'users',
  });
  return (
    <>
      <Chip tone="warn" sign="!" value="unconfirmed">
        Not confirmed
      </Chip>
      <Button size="small" disabledReason={bar ?? confirm.bar} onClick={() => confirm.go(user.id)}>
        {confirm.isPending ? 'Confirming…' : 'Confirm person'}
      </Button>
      <p className="w-full text-meta text-ink-2">
        Joined with a link that an admin could read. Votes are marked until another admin confirms
        this person.
      </p>
      <Refusal error={confirm.error} />
    </>
  );
}

function One({ user }: { user: User }) {
  const bar = useAdminBar();
  const [isOpen, setOpen] = useState(false);
  const change = useSend({
    send: (active: boolean, key) =>
      unwrap(
        api.PATCH('/v1/users/{id}', {
          params: { path: { id: user.id }, header: { 'Idempotency-Key': key } },
          body: { active },
        }),
      ),
    touches: 'users',
  });
  return (
    <li className={ROW} data-user={user.name}>
      <span className="min-w-0 flex-1 wrap-anywhere">
        <strong className="font-medium">
          <Named text={user.name} />
        </strong>{' '}
        {user.email && <Untrusted text={user.email} />}
        <span className="block text-meta text-ink-2">{user.roles.join(', ') || 'no roles'}</span>
      </span>
      {!user.active && (
        <Chip tone="quiet" sign="⊘">
          Deactivated
        </Chip>
      )}
      {user.unconfirmed && <NotConfirmed user={user} />}
      <Button
        size="small"
        disabledReason={bar}
        onClick={() => setOpen(!isOpen)}
        aria-expanded={isOpen}
      >
        Roles…
      </Button>
      {user.active && user.issuer === LOCAL && <Invite user={user} />}
      {user.active ? (
        <Sure
          word="Deactivate"
          again="Confirm: deactivate"
          disabledReason={bar ?? change.bar}
          onSure={() => change.go(false)}
        />
      ) : (
        <Button
          size="small"
          tone="quiet"
          disabledReason={bar ?? change.bar}
          onClick={() => change.go(true)}
        >
          Activate
        </Button>
      )}
      {change.error && <Refusal error={change.error} />}
      <Proposed kinds={/^user\./} object={user.id} />
      {isOpen && <RolesForm user={user} onDone={() => setOpen(false)} />}
    </li>
  );
}

function NewUser() {
  const bar = useAdminBar();
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const [roles, setRoles] = useState('reviewer');
  const make = useSend({
    send: (body: Schemas['NewUser'], key) =>
      unwrap(api.POST('/v1/users', { params: { header: { 'Idempotency-Key': key } }, body })),
    touches: 'users',
    onAccepted: () => {
      setName('');
      setEmail('');
    },
  });
  return (
    <FormCard
      title="Add a person"
      word="Add person"
      busy="Adding…"
      isPending={make.isPending}
      disabledReason={bar ?? (name.trim() ? undefined : 'Enter a name.')}
      error={make.error}
      onSend={() =>
        make.go({
          name: name.trim(),
          roles: wordsOf(roles),
          ...(email.trim() ? { email: email.trim() } : {}),
        })
      }
    >
      <Field label="Name" value={name} maxLength={128} onChange={setName} />
      <Field label="Email" type="email" value={email} maxLength={254} onChange={setEmail} />
      <Field label="Roles" value={roles} spellCheck={false} onChange={setRoles} />
    </FormCard>
  );
}

/** Users of the tenant and their roles. */
export function PeoplePage() {
  const { data, error } = useQuery(usersQuery());
  const [word, setWord] = useState('');
  useTitle('People');
  const wanted = word.trim().toLowerCase();
  const items = data?.filter(({ name, email }) =>
    `${name} ${email ?? ''}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      <ListCard
        title="People"
        none="No matching people."
        items={items}
        error={error}
        aside={<SearchField label="Filter" placeholder="Name" value={word} onChange={setWord} />}
      >
        {(user) => <One key={user.id} user={user} />}
      </ListCard>
      <Proposed kinds={/^user\.create$/} />
      <NewUser />
    </>
  );
}
