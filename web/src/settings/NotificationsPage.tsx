import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { toast } from 'sonner';
import { api, type Schemas, taken } from '@/api/client';
import { useSend } from '@/api/useSend';
import { useWriteBar } from '@/live/react';
import { useTitle } from '@/shell/useTitle';
import { CardWait } from '@/ui/Card';
import { Field } from '@/ui/Field';
import { Refusal } from '@/ui/Refusal';
import { Check, FormCard, wordsOf } from './parts';

type Preferences = Schemas['Preferences'];

const preferencesQuery = () =>
  queryOptions({
    queryKey: ['preferences'],
    queryFn: () => taken(api.GET('/v1/notifications/preferences')),
  });

const here = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

function Editor({ now }: { now: Preferences }) {
  const bar = useWriteBar();
  const [mail, setMail] = useState(now.mail.join(' '));
  const [slack, setSlack] = useState(now.slack.join(' '));
  const [member, setMember] = useState(now.slack_member ?? '');
  const [minutes, setMinutes] = useState(String(now.digest_minutes));
  const [isQuiet, setQuiet] = useState(Boolean(now.quiet_hours));
  const [quiet, setHours] = useState(
    now.quiet_hours ?? { from: '22:00', to: '07:00', zone: here() },
  );
  const save = useSend({
    send: (body: Schemas['NewPreferences'], key) =>
      taken(
        api.PUT('/v1/notifications/preferences', {
          params: { header: { 'If-Match': `"${now.version}"`, 'Idempotency-Key': key } },
          body,
        }),
      ),
    touches: 'preferences',
    onDone: () => toast.success('Saved'),
  });
  const count = Number(minutes);
  const isWrong = !Number.isInteger(count) || count < 0 || count > 1440;
  return (
    <FormCard
      title="How you are told"
      word="Save"
      busy="Saving…"
      isPending={save.isPending}
      barred={bar ?? (isWrong ? 'Minutes from 0 to 1440.' : undefined)}
      error={save.error}
      onSend={() =>
        save.go({
          mail: wordsOf(mail),
          slack: wordsOf(slack),
          slack_member: member.trim() || null,
          digest_minutes: count,
          quiet_hours: isQuiet ? quiet : null,
        })
      }
    >
      <Field
        label="By mail"
        says="Kinds of events with spaces between; * is any text. Empty: nothing."
        value={mail}
        spellCheck={false}
        onChange={setMail}
        className="font-mono"
      />
      <Field
        label="In Slack"
        value={slack}
        placeholder="approval.*"
        spellCheck={false}
        onChange={setSlack}
        className="font-mono"
      />
      <Field
        label="Who you are in Slack"
        value={member}
        maxLength={64}
        placeholder="U012AB3CD"
        onChange={setMember}
      />
      <Field
        label="Minutes between two messages"
        says="What comes in between goes together."
        value={minutes}
        inputMode="numeric"
        onChange={setMinutes}
      />
      <div className="col-span-full">
        <Check
          label="Quiet hours, except for what cannot wait"
          isOn={isQuiet}
          onChange={setQuiet}
        />
      </div>
      {isQuiet && (
        <div className="col-span-full grid grid-cols-3 gap-3 max-md:grid-cols-1">
          <Field
            label="From"
            type="time"
            value={quiet.from}
            onChange={(from) => setHours({ ...quiet, from })}
          />
          <Field
            label="Until"
            type="time"
            value={quiet.to}
            onChange={(to) => setHours({ ...quiet, to })}
          />
          <Field
            label="Zone"
            value={quiet.zone}
            maxLength={64}
            onChange={(zone) => setHours({ ...quiet, zone })}
          />
        </div>
      )}
    </FormCard>
  );
}

/** What somebody is told of outside of the inbox. */
export function NotificationsPage() {
  const { data, error } = useQuery(preferencesQuery());
  useTitle('Notifications');
  if (!data) return error ? <Refusal error={error} /> : <CardWait error={null} />;
  return <Editor key={data.version} now={data} />;
}
