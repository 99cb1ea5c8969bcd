import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

/**
 * docs/kubernetes-contract.md defines the facts of kube-apiserver (`T-14`) and the decisions ("decision 8") that code,
 * tests and documents refer to.
 */

const ROOT = join(import.meta.dirname, '../..');
const PAGE = 'docs/kubernetes-contract.md';
const SELF = 'test/setup/kubernetes-contract.test.ts';
const FOLDERS = ['src', 'test', 'bench', 'console/src', 'docs'];

/** Letters for the family, two digits, a letter for the steps of T-12. P-256, SHA-256, RFC-7517, A9, C-B are none. */
const FACT = '(?<![\\w-])(?:[ABCDEFKLMNOPQRSTVWXZ]|AP|SAR|LSAR|IMP|TX|CP|MC)-\\d\\d[a-n]?(?![\\w-])';
const FACTS = new RegExp(FACT, 'g');
/** `P-10..P-19` and `K-11 to K-20` stand for all ids in the range. */
const RANGES = new RegExp(`(${FACT})(?:\\.\\.| to )(${FACT})`, 'g');
const DECISIONS = /\bdecision (\d+)\b/gi;
/** A decision is a row of a table, a fact an item of a list. */
const ROW = /^(?:\| (?=\d+ \|)|- )([\w-]+)/gm;

const idsIn = (text: string): Set<string> => {
  const ids = new Set(text.match(FACTS));
  for (const [, first = '', last = ''] of text.matchAll(RANGES)) {
    const family = first.slice(0, first.indexOf('-') + 1);
    if (/\d$/.test(first) && last.startsWith(family)) {
      for (
        let number = Number(first.slice(family.length));
        number < Number.parseInt(last.slice(family.length), 10);
        number++
      ) {
        ids.add(`${family}${String(number).padStart(2, '0')}`);
      }
    }
  }
  for (const [, number = ''] of text.matchAll(DECISIONS)) ids.add(number);
  return ids;
};

const withoutComments = (code: string): string => code.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '');
const isTest = (file: string): boolean => file.endsWith('.test.ts') || file.endsWith('.jsonl');
const labelOf = (id: string): string => (/^\d+$/.test(id) ? `decision ${id}` : id);

/** The references of every file. */
const used = new Map<string, Set<string>>();
/** The references in the code of every test, mostly in titles. */
const named = new Map<string, Set<string>>();
let page: string;
/** The ids that have a row. */
const rows = new Set<string>();

beforeAll(async () => {
  for (const folder of FOLDERS) {
    for (const name of await readdir(join(ROOT, folder), { recursive: true })) {
      const file = `${folder}/${name}`;
      if (!/\.(tsx?|mjs|jsonl|md)$/.test(file) || file === PAGE || file === SELF) continue;
      const text = await readFile(join(ROOT, file), 'utf8');
      used.set(file, idsIn(text));
      if (isTest(file)) named.set(file, idsIn(withoutComments(text)));
    }
  }
  page = await readFile(join(ROOT, PAGE), 'utf8');
  for (const [, id = ''] of page.matchAll(ROW)) {
    if (!idsIn(labelOf(id)).has(id)) continue;
    expect(rows.has(id), `${PAGE} has two rows for ${labelOf(id)}`).toBe(false);
    rows.add(id);
  }
});

describe(PAGE, () => {
  it('defines every fact and decision that code, tests or documents refer to', () => {
    const undefinedIds = [...used].flatMap(([file, ids]) =>
      [...ids].filter((id) => !rows.has(id)).map((id) => `${labelOf(id)}: used in ${file}`),
    );
    expect(undefinedIds.sort()).toEqual([]);
  });

  it('refers to no fact and no decision that it does not define', () => {
    expect([...idsIn(page)].filter((id) => !rows.has(id)).map(labelOf)).toEqual([]);
  });

  it('has a test for each row', () => {
    const ids = [...named.values()].reduce((all, some) => all.union(some), new Set<string>());
    expect([...rows].filter((id) => !ids.has(id)).map(labelOf)).toEqual([]);
  });
});
