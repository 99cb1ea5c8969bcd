/**
 * Writes the files that are generated from tables in the code. With `--check`, writes nothing and fails if a file is
 * out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { renderCliReference } from './cli-reference.ts';
import { renderHelmSchema, SCHEMA } from './helm-schema.mjs';
import { renderOptionsReference } from './options-reference.ts';

/** @type {Record<string, () => string>} */
const FILES = {
  'docs/options.md': renderOptionsReference,
  'docs/cli.md': renderCliReference,
  [SCHEMA]: renderHelmSchema,
};

/** @param {string} path */
function current(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

const check = process.argv.includes('--check');
for (const [name, render] of Object.entries(FILES)) {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url));
  const content = render();
  if (current(path) === content) continue;
  if (check) {
    console.error(`${name} is out of date; run: npm run generate`);
    process.exitCode = 1;
  } else {
    writeFileSync(path, content);
    console.log(`wrote ${name}`);
  }
}
