import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'console/src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['scripts/setup-console.mjs'],
    // Real servers and real disks: generous limits, so that a busy machine is slow and not red.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
  },
});
