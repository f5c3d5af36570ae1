import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['e2e/**/*.e2e.ts'],
    environment: 'node',
    testTimeout: 60_000,
    hookTimeout: 300_000,
    // Each file has a stack and a browser of its own; more at once would be in each other's way.
    maxWorkers: 2,
  },
});
