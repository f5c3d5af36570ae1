import type { Schemas } from '@/api/client';
import { Untrusted } from './Untrusted';

const written = (value: unknown) => (value === undefined ? '–' : JSON.stringify(value));

/** List of changed fields with their old and new values. */
export function Changes({ changes }: { changes: readonly Schemas['FieldChange'][] }) {
  return (
    <ul className="space-y-1 font-mono text-meta">
      {changes.map(({ path, before, after }) => (
        <li key={path} className="wrap-anywhere">
          <Untrusted text={path || '(document)'} />: <Untrusted text={written(before)} /> →{' '}
          <Untrusted text={written(after)} />
        </li>
      ))}
      {changes.length === 0 && <li className="font-sans text-ink-2">No differences.</li>}
    </ul>
  );
}
