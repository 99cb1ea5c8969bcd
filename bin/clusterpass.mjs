#!/usr/bin/env node
/**
 * The launcher. Plain JavaScript, because it must start on any Node from 20 on: it runs the program itself where
 * this Node is new enough, and otherwise starts itself again on the Node that is pinned for the project.
 */
import cluster from 'node:cluster';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { keepCompiledCode } from './compile-cache.mjs';
import { chooseNode, isNewEnough, noNodeMessage, pinnedNode } from './find-node.mjs';
import { boundGarbage, startFlags } from './heap-size.mjs';
import { endLike, runChild } from './run-child.mjs';

/** The sources where they are (a clone runs as it is), else what the published package was built to. */
const entry = ['../src/main.ts', '../dist/main.js']
  .map((path) => new URL(path, import.meta.url))
  .find((url) => existsSync(url));

const args = process.argv.slice(2);
const flags = startFlags(args);
const itself = [fileURLToPath(import.meta.url), ...args];

if (entry === undefined) {
  console.error('Clusterpass is incomplete here: neither src/main.ts nor dist/main.js is there. Install it anew.');
  process.exitCode = 1;
} else if (isNewEnough(process.versions.node)) {
  // Started by an older Node's launcher: stop in good order when that launcher is gone. A worker has a line too, to the
  // process it works for; while it starts, that may be all that keeps it going.
  if (process.channel && cluster.isPrimary) {
    process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
    process.channel.unref();
  }
  // The same process under the same id, for whoever watches it. Not where somebody else's program has loaded this one, or
  // holds a line to it: that would be lost.
  if (flags.length > 0 && import.meta.main && process.execve && !process.channel) {
    process.execve(process.execPath, [process.execPath, ...process.execArgv, ...flags, ...itself], process.env);
  }
  // Before anything is compiled: what is kept of that is good for these flags alone.
  boundGarbage(args);
  keepCompiledCode();
  await import(entry.href);
} else {
  const version = process.versions.node;
  const node = chooseNode({ version, execPath: process.execPath, pinned: pinnedNode() });
  if (node === undefined) {
    console.error(noNodeMessage(version));
    process.exitCode = 1;
  } else {
    endLike(await runChild(node, [...flags, ...itself], { lifeline: true }));
  }
}
