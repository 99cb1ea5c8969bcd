import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/longest-first.ts';

export default defineConfig({
  test: {
    include: [
      'src/**/*.test.ts',
      'console/src/**/*.test.ts',
      'test/**/*.test.ts',
      // Long, and only when asked for: npm run test:chaos.
      ...(process.env.CLUSTERPASS_CHAOS_SECONDS === undefined ? [] : ['test/chaos/*.chaos.ts']),
    ],
    globalSetup: [
      'test/run-folder.ts',
      'scripts/setup-console.mjs',
      'scripts/setup-program.ts',
      'test/server-starts.ts',
    ],
    // Real servers and real disks: generous limits, so that a busy machine is slow and not red.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    // Tests start about seventy servers. Half of a start was compiling, which Node keeps here for the next start.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/clusterpass/compiled', import.meta.url)) },
    pool: 'forks',
    // Starting a process and loading the modules was half of the work. No test changes what others see of a module, and
    // what starts timers or replaces a clock puts it back.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Node loads the sources itself, without their types: a quarter of the CPU time of the unit tests was Vite's
    // transformation, which only JSX needs. `vi.mock` would need `nodeLoader`; no test replaces a module.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    execArgv: ['--import', new URL('scripts/load-tsx.mjs', import.meta.url).href],
    // Much of a run is waiting: for a server to start, for a stream to end. So two more than there are processors: with
    // one more, processors were idle for 9 to 18 % of a run, and with two more for 6 %.
    maxWorkers: availableParallelism() + 2,
  },
});
