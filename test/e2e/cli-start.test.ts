import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/command-table/commands.ts';
import { runCommand } from './support/run-command.ts';

const PROGRAM = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const WITH_SETUP = fileURLToPath(new URL('../../scripts/with-setup.mjs', import.meta.url));

it('npm start x y: no word is taken for the value of an option', () => {
  const options = { encoding: 'utf8', timeout: 60_000 } as const;
  const { status, stderr } = spawnSync(process.execPath, [WITH_SETUP, 'start', 'x', 'y'], options);
  expect(stderr).toMatch(/too many arguments.* 2/);
  expect(stderr).not.toContain('--demo');
  expect(status).toBe(2);
});

it('serve with an unknown option ends with a hint, not with all options', async () => {
  const input = { env: {}, cwd: process.cwd(), stdin: '' };
  const { code, stdout, stderr } = await runCommand(['serve', '--nonsense'], input);
  expect(stderr).toBe("error: unknown option '--nonsense'\nSee 'clusterpass serve --help' for usage.\n");
  expect(stdout).toBe('');
  expect(code).toBe(2);
});

it('COMMAND --help prints how the command is used', async () => {
  const input = { env: {}, cwd: process.cwd(), stdin: '' };
  for (const { path } of [...COMMANDS, { path: ['get'] }, { path: [] }]) {
    const { stdout } = await runCommand([...path, '--help'], input);
    expect(stdout, path.join(' ')).toContain(`Usage: clusterpass ${path.join(' ')}`);
  }
});

it('a command that does not exist is compared with all commands', async () => {
  const { stderr } = await runCommand(['whoamy'], { env: {}, cwd: process.cwd(), stdin: '' });
  expect(stderr).toContain("unknown command 'whoamy'\n(Did you mean whoami?)");
});

/** Prints the packages whose modules are loaded. */
const PRINT_PACKAGES = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  const loaded = new Set();
  registerHooks({ load(url, context, next) {
    loaded.add(/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1]);
    return next(url, context);
  } });
  process.on('exit', () => console.log(JSON.stringify([...loaded].filter(Boolean))));
`)}`;

// kubectl starts the credential plugin for every command. The schemas of typebox took more than half of a start.
it.each([
  'credential --cluster a --namespace b --service-account c',
  'get clusters',
  'create token c -n b --cluster a',
])('clusterpass %s loads no package', (command) => {
  const args = ['--import', PRINT_PACKAGES, PROGRAM, ...command.split(' '), '--server', 'http://127.0.0.1:1'];
  const env = { ...process.env, CLUSTERPASS_TOKEN: 'of-the-test-0123456789', HOME: '/nonexistent' };
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
  expect(stderr).toContain('cannot be reached');
  expect(JSON.parse(stdout)).toEqual([]);
});
