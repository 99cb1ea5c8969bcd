import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { SOURCES } from '../../scripts/setup-console.mjs';

/** The relative imports of a module, as paths from the root of the project. */
const importsOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, path = '']) =>
    join(dirname(file), path),
  );

it('a change of any module of the console builds it again', () => {
  const modules = new Set(['console/src/main.tsx']);
  // Modules that are added meanwhile are visited, too.
  for (const file of modules) for (const imported of importsOf(file)) modules.add(imported);
  expect(modules.size).toBeGreaterThan(100);
  const unwatched = [...modules].filter((file) => !SOURCES.some((source) => file.startsWith(`${source}/`)));
  expect(unwatched).toEqual([]);
});
