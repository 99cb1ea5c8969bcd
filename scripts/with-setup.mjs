/**
 * `node scripts/with-setup.mjs TASK [ARGUMENT...]`: installs packages if needed, then runs the task on the project's
 * Node. Plain JavaScript without dependencies, because it runs on Node 20, before packages are installed.
 */
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endLike, runChild } from '../bin/run-child.mjs';
import { projectNode, ROOT, setUp } from './setup.mjs';
import { setUpConsole } from './setup-console.mjs';

/** @type {Readonly<Record<string, string>>} */
const ELSEWHERE = { models: '../models/run-models.mjs', bench: '../bench/main.ts' };

const [task = '', ...args] = process.argv.slice(2);

/**
 * npm runs this process in a shell and sends signals only to that shell. Ends this process when the shell has exited.
 * Otherwise the server would keep running and hold its port and its database.
 */
function stopWithShell() {
  const shell = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 250);
  watch.unref();
}

async function runTask() {
  const node = projectNode();
  if (node === undefined) return { code: 1, signal: null };
  // Checks and tests start `node` and `tsc` by name: these must be the project's.
  const path = [join(ROOT, 'node_modules/.bin'), dirname(node), process.env.PATH].join(delimiter);
  const script = ELSEWHERE[task] ?? `${task.replace(':', '-')}.ts`;
  const file = fileURLToPath(new URL(script, import.meta.url));
  return runChild(node, [file, ...args], { cwd: ROOT, env: { ...process.env, PATH: path } });
}

if (process.env.npm_lifecycle_event !== undefined) stopWithShell();
if (!(await setUp())) {
  process.exitCode = 1;
} else if (task === 'start') {
  await setUpConsole(projectNode());
  process.argv.splice(2, process.argv.length, 'serve', '--demo', '--demo-tls-listen=127.0.0.1:8443', ...args);
  await import('../bin/clusterpass.mjs');
} else {
  endLike(await runTask());
}
