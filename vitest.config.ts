import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      'src/**/*.test.ts',
      'console/src/**/*.test.ts',
      'test/**/*.test.ts',
      // Long, and only when asked for: npm run test:chaos.
      ...(process.env.CLUSTERPASS_CHAOS_SECONDS === undefined ? [] : ['test/chaos/*.chaos.ts']),
    ],
    globalSetup: ['scripts/setup-console.mjs'],
    // Real servers and real disks: generous limits, so that a busy machine is slow and not red.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
  },
});
