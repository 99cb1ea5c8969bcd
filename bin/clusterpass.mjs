#!/usr/bin/env node
/**
 * The launcher. Plain JavaScript, because it must start on any Node from 20 on. The credential plugin starts with every
 * kubectl and for every client of a controller: it is run at once, without the modules that the other commands need.
 */
import { enableCompileCache } from './compile-cache.mjs';

/** OLDEST_MAJOR of find-node.mjs. That file, and an import of `node:fs`, would make the plugin start a tenth later. */
const isNewEnough = Number.parseInt(process.versions.node, 10) >= 24;

/** The sources in a clone, else the bundle of the published package. */
const plugin = () =>
  ['../src/cli/credential-main.ts', '../dist/plugin/credential.cjs']
    .map((path) => new URL(path, import.meta.url))
    .find((url) => process.getBuiltinModule('node:fs').existsSync(url));

const entry = process.argv[2] === 'credential' && isNewEnough ? plugin() : undefined;
if (entry === undefined) {
  const { launch } = await import('./launch.mjs');
  await launch({ isMain: import.meta.main });
} else {
  enableCompileCache();
  // The bundle is CommonJS, see scripts/artifacts/plugin.ts. `import` of it would search it for its exports.
  if (entry.pathname.endsWith('.ts')) await import(entry.href);
  else process.getBuiltinModule('node:module').createRequire(entry)('./credential.cjs');
}
