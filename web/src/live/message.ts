import * as z from 'zod/mini';
import type { Event, Frame } from './reducer';

const Head = z.looseObject({ seq: z.number() });
const FrameSays = z.looseObject({ frame: z.enum(['ready', 'skip', 'reset']), seq: z.number() });
const EventSays = z.looseObject({
  id: z.string(),
  seq: z.number(),
  type: z.string(),
  object: z.string(),
  at: z.string(),
});

export type Message = { kind: 'event'; event: Event } | { kind: 'frame'; frame: Frame };

/** Parses a WebSocket message. An unknown frame of a newer server still has a number and is treated
 *  as `reset`, because reloading is always correct. */
export function read(text: string): Message | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const event = z.safeParse(EventSays, value);
  if (event.success) return { kind: 'event', event: event.data as unknown as Event };
  const frame = z.safeParse(FrameSays, value);
  if (frame.success) return { kind: 'frame', frame: frame.data as unknown as Frame };
  const head = z.safeParse(Head, value);
  return head.success
    ? { kind: 'frame', frame: { frame: 'reset', seq: head.data.seq } }
    : undefined;
}
