import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** CONTRIBUTING.md lists the files to touch for a change that others will make again. */

const ROOT = join(import.meta.dirname, '../..');
const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
const ADDED = ['kind', 'field', 'option', 'command', 'condition of a cluster', 'storage engine', 'console page'];

/** The numbered steps below `**A kind**`. */
const stepsOf = (thing: string): string =>
  new RegExp(`^\\*\\*An? ${thing}\\*\\*\n\n((?:\\d\\. .*\n(?: {3}.*\n)*)+)`, 'm').exec(page)?.[1] ?? '';

it.each(ADDED)('what to touch for a %s is there, and the tables are in their files', (thing) => {
  const steps = stepsOf(thing);
  const files = [...steps.matchAll(/`((?:src|test|docs|deploy|console)\/[\w./-]+)`/g)].map(([, file = '']) => file);
  expect(files.length).toBeGreaterThan(1);
  expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  // "`NAME` in `FILE`", also "`NAME` and `NAME` in `FILE`".
  const named = [...steps.matchAll(/((?:`\w+`(?: and )?)+) in\s+`([\w./-]+\.tsx?)`/g)];
  expect(named.length).toBeGreaterThan(0);
  for (const [, names = '', file = ''] of named) {
    const code = readFileSync(join(ROOT, file), 'utf8');
    for (const [, name = ''] of names.matchAll(/`(\w+)`/g))
      expect(code, file).toMatch(
        new RegExp(`^(?:export )?(?:const|(?:async )?function|type|interface) ${name}\\b`, 'm'),
      );
  }
});

it('lists nothing else', () => {
  expect([...page.matchAll(/^\*\*An? ([^*]+)\*\*$/gm)].map(([, thing]) => thing)).toEqual(ADDED);
});
