import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { run } from './support/run.ts';

const WITH_SETUP = fileURLToPath(new URL('../../scripts/with-setup.mjs', import.meta.url));

it('npm start x y: no word is taken for the value of an option', () => {
  const options = { encoding: 'utf8', timeout: 60_000 } as const;
  const { status, stderr } = spawnSync(process.execPath, [WITH_SETUP, 'start', 'x', 'y'], options);
  expect(stderr).toMatch(/too many arguments.* 2/);
  expect(stderr).not.toContain('--demo');
  expect(status).toBe(2);
});

it('serve with an unknown option ends with a hint, not with all options', async () => {
  const { code, stdout, stderr } = await run(['serve', '--nonsense']);
  expect(stderr).toBe("error: unknown option '--nonsense'\nSee 'clusterpass serve --help' for usage.\n");
  expect(stdout).toBe('');
  expect(code).toBe(2);
});
