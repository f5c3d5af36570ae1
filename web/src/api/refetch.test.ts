import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { expect, it } from 'vitest';
import { refetch } from './refetch';

/** A list on a page, whose requests are answered one by one with what the server had when the
 *  request arrived. */
function listed() {
  const client = new QueryClient();
  const answers: (() => void)[] = [];
  const server = { items: 0 };
  const options = {
    queryKey: ['webhooks', 'all'],
    queryFn: () => {
      const seen = server.items;
      return new Promise<number>((done) => answers.push(() => done(seen)));
    },
  };
  const end = new QueryObserver(client, options).subscribe(() => undefined);
  const shown = () => client.getQueryData(options.queryKey);
  const answer = async () => {
    answers.shift()?.();
    await new Promise((done) => setTimeout(done, 0));
  };
  return { client, server, answer, answers, shown, end };
}

it('reads a list again whose first load was answered before the change', async () => {
  const { client, server, answer, answers, shown, end } = listed();
  server.items = 1;
  const done = refetch(client, { queryKey: ['webhooks'] });
  await answer();
  expect(shown()).toBe(0);
  await answer();
  await done;
  expect(shown()).toBe(1);
  expect(answers).toHaveLength(0);
  end();
});

it('reads a loaded list once', async () => {
  const { client, server, answer, answers, shown, end } = listed();
  await answer();
  server.items = 1;
  const done = refetch(client, { queryKey: ['webhooks'] });
  await answer();
  await done;
  expect(shown()).toBe(1);
  expect(answers).toHaveLength(0);
  end();
});
