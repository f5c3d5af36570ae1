import { expect, it } from 'vitest';
import { read } from './message';

it('distinguishes events from frames', () => {
  const event = {
    id: 'evt_1',
    seq: 3,
    type: 'task.created',
    object: 'task_1',
    at: 'now',
    data: {},
  };
  expect(read(JSON.stringify(event))).toMatchObject({ kind: 'event', event: { seq: 3 } });
  expect(read('{"frame":"skip","seq":4}')).toMatchObject({
    kind: 'frame',
    frame: { frame: 'skip' },
  });
});

it('treats unknown frames as reset and ignores noise', () => {
  expect(read('{"frame":"hush","seq":4}')).toMatchObject({ frame: { frame: 'reset', seq: 4 } });
  expect(read('nonsense')).toBeUndefined();
  expect(read('{"seq":"4"}')).toBeUndefined();
});
