import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, type Schemas, taken } from '@/api/client';
import { type User, usersQuery } from '@/api/queries';
import { useSend } from '@/api/useSend';
import { useAdminBar } from '@/shell/bars';
import { useTitle } from '@/shell/useTitle';
import { Button } from '@/ui/Button';
import { Chip } from '@/ui/Chip';
import { Field, SearchField } from '@/ui/Field';
import { Named } from '@/ui/Named';
import { Refusal } from '@/ui/Refusal';
import { Sure } from '@/ui/Sure';
import { Untrusted } from '@/ui/Untrusted';
import { FormCard, ListCard, ROW, wordsOf } from './parts';

function RolesForm({ user, onDone }: { user: User; onDone: () => void }) {
  const bar = useAdminBar();
  const [text, setText] = useState(user.roles.join(' '));
  const set = useSend({
    send: (roles: string[], key) =>
      taken(
        api.PUT('/v1/users/{id}/roles', {
          params: { path: { id: user.id }, header: { 'Idempotency-Key': key } },
          body: { roles },
        }),
      ),
    touches: 'users',
    onDone,
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
        says="The whole set, with spaces between: what is not in it is taken away."
        value={text}
        spellCheck={false}
        onChange={setText}
      />
      <Refusal error={set.error} />
      <div className="flex gap-2">
        <Button type="submit" tone="primary" barred={bar}>
          {set.isPending ? 'Saving…' : 'Save roles'}
        </Button>
        <Button onClick={onDone}>Cancel</Button>
      </div>
    </form>
  );
}

function One({ user }: { user: User }) {
  const bar = useAdminBar();
  const [isOpen, setOpen] = useState(false);
  const change = useSend({
    send: (active: boolean, key) =>
      taken(
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
          Not active
        </Chip>
      )}
      <Button size="small" barred={bar} onClick={() => setOpen(!isOpen)} aria-expanded={isOpen}>
        Roles…
      </Button>
      {user.active ? (
        <Sure
          word="Deactivate"
          again="Deactivate now?"
          barred={bar ?? change.bar}
          onSure={() => change.go(false)}
        />
      ) : (
        <Button
          size="small"
          tone="quiet"
          barred={bar ?? change.bar}
          onClick={() => change.go(true)}
        >
          Activate
        </Button>
      )}
      {change.error && <Refusal error={change.error} />}
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
      taken(api.POST('/v1/users', { params: { header: { 'Idempotency-Key': key } }, body })),
    touches: 'users',
    onDone: () => {
      setName('');
      setEmail('');
    },
  });
  return (
    <FormCard
      title="Enter a person"
      word="Enter"
      busy="Entering…"
      isPending={make.isPending}
      barred={bar ?? (name.trim() ? undefined : 'Give a name.')}
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
      <Field label="Mail" type="email" value={email} maxLength={254} onChange={setEmail} />
      <Field label="Roles" value={roles} spellCheck={false} onChange={setRoles} />
    </FormCard>
  );
}

/** Who there is, and what they are. */
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
        none="Nobody fits."
        items={items}
        error={error}
        aside={<SearchField label="Filter" placeholder="Name" value={word} onChange={setWord} />}
      >
        {(user) => <One key={user.id} user={user} />}
      </ListCard>
      <NewUser />
    </>
  );
}
