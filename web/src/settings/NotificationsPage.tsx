import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { toast } from 'sonner';
import { api, type Schemas, unwrap } from '@/api/client';
import { useSend } from '@/api/useSend';
import { useWriteBar } from '@/live/react';
import { useTitle } from '@/shell/useTitle';
import { CardWait } from '@/ui/Card';
import { Field } from '@/ui/Field';
import { Refusal } from '@/ui/Refusal';
import { Check, FormCard, wordsOf } from './parts';
import { RecentNotifications } from './RecentNotifications';

type Preferences = Schemas['Preferences'];

const preferencesQuery = () =>
  queryOptions({
    queryKey: ['preferences'],
    queryFn: () => unwrap(api.GET('/v1/notifications/preferences')),
  });

const here = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

function Editor({ now }: { now: Preferences }) {
  const bar = useWriteBar();
  const [mail, setMail] = useState(now.mail.join(' '));
  const [slack, setSlack] = useState(now.slack.join(' '));
  const [member, setMember] = useState(now.slack_member ?? '');
  const [minutes, setMinutes] = useState(String(Math.round(now.digest_seconds / 60)));
  const [isQuiet, setQuiet] = useState(Boolean(now.quiet_hours));
  const [quiet, setHours] = useState(
    now.quiet_hours ?? { from: '22:00', to: '07:00', zone: here() },
  );
  const save = useSend({
    send: (body: Schemas['NewPreferences'], key) =>
      unwrap(
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
      title="Notification settings"
      word="Save settings"
      busy="Saving…"
      isPending={save.isPending}
      disabledReason={bar ?? (isWrong ? 'Enter 0 to 1440 minutes.' : undefined)}
      error={save.error}
      onSend={() =>
        save.go({
          mail: wordsOf(mail),
          slack: wordsOf(slack),
          slack_member: member.trim() || null,
          digest_seconds: count * 60,
          quiet_hours: isQuiet ? quiet : null,
        })
      }
    >
      <Field
        label="Email"
        says="Event types, separated by spaces; * matches any text. Leave empty for none."
        value={mail}
        spellCheck={false}
        onChange={setMail}
        className="font-mono"
      />
      <Field
        label="Slack"
        value={slack}
        placeholder="approval.*"
        spellCheck={false}
        onChange={setSlack}
        className="font-mono"
      />
      <Field
        label="Slack member ID"
        value={member}
        maxLength={64}
        placeholder="U012AB3CD"
        onChange={setMember}
      />
      <Field
        label="Minutes between messages"
        says="Events in between are sent as one message."
        value={minutes}
        inputMode="numeric"
        onChange={setMinutes}
      />
      <div className="col-span-full">
        <Check label="Quiet hours, except for urgent events" isOn={isQuiet} onChange={setQuiet} />
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
            label="Time zone"
            value={quiet.zone}
            maxLength={64}
            onChange={(zone) => setHours({ ...quiet, zone })}
          />
        </div>
      )}
    </FormCard>
  );
}

/** Settings for notifications outside the inbox. */
export function NotificationsPage() {
  const { data, error } = useQuery(preferencesQuery());
  useTitle('Notifications');
  if (!data) return error ? <Refusal error={error} /> : <CardWait error={null} />;
  return (
    <>
      <RecentNotifications />
      <Editor key={data.version} now={data} />
    </>
  );
}
