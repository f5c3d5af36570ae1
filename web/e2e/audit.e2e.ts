import { expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';
import { declared, propose } from './seed.mjs';

const on = stage();

interface Audit {
  readonly items: { readonly id: string; readonly hash: string }[];
}

it('describes audit entries as sentences and filters by object and actor', async () => {
  const bot = on.world.people.bots['infra-bot']!;
  const change = [{ action: 'change', summary: 'restart 2 processes' }];
  const task = await propose(
    bot,
    declared('Restart the worker', 'service.restart', 'service:support', change),
  );
  const seat = await on.sit('sam', '/audit');
  const { page } = seat;
  await live(page);
  // The read is recorded once the log is shown.
  await page.locator('[role="row"][data-index="0"]').waitFor();
  await page.getByLabel('Result').selectOption('disclosure');
  await page.waitForURL(/kind=disclosure/);
  await page.getByText('read the audit log').waitFor();
  await page.getByLabel('Result').selectOption('');
  await page.getByLabel('Object').fill(task.id);
  await page.waitForURL(/object=task_/);
  const { items } = await on.world.people.sam.call<Audit>('GET', `/v1/audit?object=${task.id}`);
  await page.locator(`[role="grid"][aria-rowcount="${items.length + 1}"]`).waitFor();
  await page.getByText('infra-bot proposed task').waitFor();
  await page.getByLabel('Actor').selectOption(bot.id);
  await page.waitForURL(/by=agt_/);
  await page.getByText('The server opened').waitFor({ state: 'detached' });
  await page.reload();
  expect(await page.getByLabel('Object').inputValue()).toBe(task.id);
  await page.locator('[role="row"][data-index="0"]').click();
  await page.keyboard.press('Enter');
  const leaf = page.locator('[data-leaf]');
  const shown = items.find(({ id }) => page.url().includes(id))!;
  await leaf.getByText(shown.hash).first().waitFor();
  await leaf.getByRole('link', { name: /task …/ }).click();
  await page.waitForURL(new RegExp(`/tasks/${task.id}`));
  await expectCalm(seat);
});
