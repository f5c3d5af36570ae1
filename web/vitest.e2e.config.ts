import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['e2e/**/*.e2e.ts'],
    environment: 'node',
    testTimeout: 60_000,
    hookTimeout: 300_000,
    // One stack and one browser at a time; the machine is shared.
    fileParallelism: false,
  },
});
