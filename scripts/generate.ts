/**
 * Writes the files that are generated from tables in the code. With `--check`, writes nothing and fails if a file is
 * out of date.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderCliReference } from './cli-reference.ts';
import { renderHelmSchema, SCHEMA } from './helm-schema.ts';
import { renderOptionsReference } from './options-reference.ts';
import { textOf } from './run-command.ts';
import { ROOT } from './setup.mjs';

const FILES = {
  'docs/options.md': renderOptionsReference,
  'docs/cli.md': renderCliReference,
  [SCHEMA]: renderHelmSchema,
};

for (const [name, render] of Object.entries(FILES)) {
  const path = join(ROOT, name);
  const content = render();
  if (textOf(path) === content) continue;
  if (process.argv.includes('--check')) {
    console.error(`${name} is out of date; run: npm run generate`);
    process.exitCode = 1;
  } else {
    writeFileSync(path, content);
    console.log(`wrote ${name}`);
  }
}
