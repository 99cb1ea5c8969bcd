import cluster from 'node:cluster';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { enableCompileCache } from './compile-cache.mjs';
import { isNewEnough, NO_NODE, pinnedNode } from './find-node.mjs';
import { startOptions } from './heap-size.mjs';
import { endLike, runChild } from './run-child.mjs';

/** The sources in a clone, else the build of the published package, in which the connector is a file of its own. */
const alone = process.argv[2] === 'connector' ? ['../dist/plugin/connector.cjs'] : [];
const entry = ['../src/main.ts', ...alone, '../dist/main.js']
  .map((path) => new URL(path, import.meta.url))
  .find((url) => existsSync(url));

/**
 * Runs the program where this Node is new enough, and otherwise starts it again on the Node that is pinned.
 * @param {{ isMain: boolean }} launcher whether it is the main module, not imported by another program
 */
export async function launch({ isMain }) {
  const args = process.argv.slice(2);
  const isConnector = entry?.pathname.endsWith('.cjs') === true;
  const { flags, env } = startOptions(args, isConnector);
  const itself = [fileURLToPath(new URL('clusterpass.mjs', import.meta.url)), ...args];

  if (entry === undefined) {
    console.error('Clusterpass is incomplete here: neither src/main.ts nor dist/main.js is there. Install it again.');
    process.exitCode = 1;
  } else if (isNewEnough) {
    // Started by the launcher on an older Node: stop gracefully when that launcher is gone. A worker has a channel to its
    // primary process, too; while the worker starts, that may be all that keeps its event loop alive.
    if (process.channel && cluster.isPrimary) {
      process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
      process.channel.unref();
    }
    // Replaces this process under the same id, for process managers. Not where another program has imported this one, or
    // has a channel to it, which would be lost. A connector is not started often: the compile cache takes 2 MB.
    if (flags.length > 0 && isMain && process.execve && !process.channel) {
      const next = isConnector ? [fileURLToPath(entry), ...args] : itself;
      process.execve(process.execPath, [process.execPath, ...process.execArgv, ...flags, ...next], env);
    }
    enableCompileCache();
    await import(entry.href);
  } else {
    const node = pinnedNode();
    if (node === undefined) {
      console.error(NO_NODE);
      process.exitCode = 1;
    } else {
      endLike(await runChild(node, [...flags, ...itself], { lifeline: true }));
    }
  }
}
