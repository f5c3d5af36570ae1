import { defineConfig } from 'vitest/config';

/** These files measure durations, so they run last and one at a time. */
const TIMED = ['large', 'many'].map((name) => `e2e/${name}.e2e.ts`);

export default defineConfig({
  test: {
    environment: 'node',
    testTimeout: 60_000,
    hookTimeout: 300_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'pages',
          include: ['e2e/**/*.e2e.ts'],
          exclude: TIMED,
          // Each file starts its own stack and browser; more of them would slow each other down.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'timed',
          include: TIMED,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
