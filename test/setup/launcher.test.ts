import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';

const bin = fileURLToPath(new URL('../../bin', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'clusterpass-launcher-'));
const launcher = join(folder, 'bin/clusterpass.mjs');

/** A program that prints its arguments, and exits with the code or the signal that they name. */
const MAIN = `
const [mode, ...rest] = process.argv.slice(2);
if (rest[0] === 'flags') {
  console.log(JSON.stringify([process.ppid, ...process.execArgv, ...rest.slice(1).map(() => process.argv[1])]));
} else if (mode === 'serve') {
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.on(signal, () => { console.log('got ' + signal); process.exit(7); });
  }
  setInterval(() => {}, 1000);
  console.log('up ' + process.pid);
} else if (mode === 'die') {
  process.kill(process.pid, 'SIGKILL');
  setInterval(() => {}, 1000);
} else {
  console.log(JSON.stringify(rest));
  process.exitCode = Number(mode);
}
`;

/** Starts the launcher as an old Node would: in a child process with a lifeline. */
const OLD_NODE = `
import { endLike, runChild } from ${JSON.stringify(pathToFileURL(join(folder, 'bin/run-child.mjs')).href)};
endLike(await runChild(process.execPath, [${JSON.stringify(launcher)}, ...process.argv.slice(2)], { lifeline: true }));
`;

beforeAll(() => {
  cpSync(bin, join(folder, 'bin'), { recursive: true });
  mkdirSync(join(folder, 'src'));
  writeFileSync(join(folder, 'src/main.ts'), `const typed: number = 1;\nvoid typed;\n${MAIN}`);
  writeFileSync(join(folder, 'old-node.mjs'), OLD_NODE);
});

const run = (script: string, ...args: string[]) =>
  spawnSync(process.execPath, [script, ...args], { encoding: 'utf8', timeout: 30_000 });

/** Lines of the program as they come. */
async function* lines(child: ChildProcess): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of child.stdout ?? []) {
    const parts = (rest + String(chunk)).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
}

describe.each([
  ['on this Node', () => launcher],
  ['through an older Node', () => join(folder, 'old-node.mjs')],
])('the launcher %s', (_, script) => {
  it('forwards arguments and returns the exit code', () => {
    const { status, stdout } = run(script(), '3', '--a b', '', '*');
    expect({ status, stdout }).toEqual({ status: 3, stdout: '["--a b","","*"]\n' });
  });

  it('ends with the signal of the program', () => {
    expect(run(script(), 'die').signal).toBe('SIGKILL');
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('forwards %s, and waits for the program', async (signal) => {
    const child = spawn(process.execPath, [script(), 'serve'], { stdio: ['ignore', 'pipe', 'ignore'] });
    const exit = once(child, 'exit');
    const output = lines(child);
    expect((await output.next()).value).toMatch(/^up \d+$/);
    child.kill(signal);
    expect((await output.next()).value).toBe(`got ${signal}`);
    expect(await exit).toEqual([7, null]);
  });
});

it('a server is started with a small heap, in the same process, unless the operator sets its size', () => {
  const flags = (nodeArgs: string[], env: NodeJS.ProcessEnv, ...args: string[]): unknown =>
    JSON.parse(
      spawnSync(process.execPath, [...nodeArgs, launcher, ...args], {
        encoding: 'utf8',
        env: { ...process.env, ...env },
      }).stdout,
    );
  const small = '--max-semi-space-size=8';
  expect(flags(['--no-warnings'], {}, 'serve', 'flags')).toEqual([process.pid, '--no-warnings', small]);
  expect(flags(['--max-semi-space-size=32'], {}, 'serve', 'flags')).toEqual([process.pid, '--max-semi-space-size=32']);
  expect(flags([], { NODE_OPTIONS: '--max_semi_space_size=32' }, 'serve', 'flags')).toEqual([process.pid]);
  expect(flags([], {}, 'get', 'flags')).toEqual([process.pid]);
});

it('a program whose launcher was killed stops cleanly', async () => {
  const child = spawn(process.execPath, [join(folder, 'old-node.mjs'), 'serve'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const output = lines(child);
  expect((await output.next()).value).toMatch(/^up \d+$/);
  child.kill('SIGKILL');
  expect((await output.next()).value).toBe('got SIGTERM');
  // The pipe ends when the last process that holds it has gone.
  expect((await output.next()).done).toBe(true);
});

it('runs the built program where there are no sources, and names the error when there is neither', () => {
  const bare = join(folder, 'bare');
  cpSync(bin, join(bare, 'bin'), { recursive: true });
  const missing = run(join(bare, 'bin/clusterpass.mjs'), '0');
  expect(missing.status).toBe(1);
  expect(missing.stderr).toMatch(/neither src\/main\.ts nor dist\/main\.js/);
  mkdirSync(join(bare, 'dist'));
  writeFileSync(join(bare, 'package.json'), '{"type":"module"}');
  writeFileSync(join(bare, 'dist/main.js'), MAIN);
  expect(run(join(bare, 'bin/clusterpass.mjs'), '0', 'x').stdout).toBe('["x"]\n');
  // Without the launcher, with options and an environment that save memory.
  mkdirSync(join(bare, 'dist/plugin'));
  const alone = join(bare, 'dist/plugin/connector.cjs');
  writeFileSync(alone, 'console.log(process.execArgv[0], process.env.MALLOC_ARENA_MAX, ...process.argv.slice(1))');
  expect(run(join(bare, 'bin/clusterpass.mjs'), 'connector', 'x').stdout).toBe(`--jitless 1 ${alone} connector x\n`);
});
