import { access, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const DECISIONS = join(ROOT, 'docs/adr');

const documents = async (): Promise<string[]> => [
  'README.md',
  'CONTRIBUTING.md',
  ...(await readdir(join(ROOT, 'docs'), { recursive: true }))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** As GitHub does: lower case, without punctuation, with dashes for spaces. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number} _-]/gu, '')
    .replaceAll(' ', '-');

describe('decisions', () => {
  it('have a number each, which their heading repeats, and a status', async () => {
    const numbers: string[] = [];
    for (const name of (await readdir(DECISIONS)).filter((file) => file.endsWith('.md'))) {
      const [number = ''] = name.split('-', 1);
      const heading = new RegExp(`^# ${Number(number)}\\. .*\n\nStatus: (?:Accepted|Superseded by) ?`);
      expect(await readFile(join(DECISIONS, name), 'utf8'), name).toMatch(heading);
      numbers.push(number);
    }
    expect(numbers).toEqual([...new Set(numbers)]);
  });
});

describe('pages', () => {
  it('name their readers in the first sentence', async () => {
    const pages = (await documents()).filter((name) => !/^(?:README\.md|docs\/README\.md|docs\/adr\/.*)$/.test(name));
    const silent: string[] = [];
    for (const page of pages) {
      const text = await readFile(join(ROOT, page), 'utf8');
      if (!/^# .*\n\n(?:<!--.*-->\n\n)?For /.test(text)) silent.push(page);
    }
    expect(silent).toEqual([]);
  });

  it.each([
    ['README.md', /\n/g, 200],
    ['docs/performance.md', /\n/g, 150],
    ['docs/glossary.md', /^\| [A-Z]/gm, 30],
  ])('%s is short', async (page, counted, most) => {
    const text = await readFile(join(ROOT, page), 'utf8');
    expect([...text.matchAll(counted)].length).toBeLessThanOrEqual(most);
  });

  it('name files and folders that exist', async () => {
    const missing: string[] = [];
    for (const page of await documents()) {
      const text = await readFile(join(ROOT, page), 'utf8');
      for (const [, path = ''] of text.matchAll(/`((?:src|test|bench|scripts|deploy|plugin|bin|demo)\/[\w./-]*)`/g)) {
        await access(join(ROOT, path)).catch(() => missing.push(`${page}: ${path}`));
      }
    }
    expect(missing).toEqual([]);
  });
});

describe('links between documents', () => {
  it('lead to a file, and to a heading in it', async () => {
    const broken: string[] = [];
    for (const document of await documents()) {
      const text = await readFile(join(ROOT, document), 'utf8');
      for (const [, target = ''] of text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
        const [path = '', anchor] = target.split('#');
        const file = path === '' ? join(ROOT, document) : join(ROOT, dirname(document), path);
        const linked = await readFile(file, 'utf8').catch(() => undefined);
        const headings = [...(linked ?? '').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
        const isFolder = linked === undefined && (await readdir(file).catch(() => undefined)) !== undefined;
        if ((linked === undefined && !isFolder) || (anchor !== undefined && !headings.includes(anchor))) {
          broken.push(`${document}: ${target}`);
        }
      }
    }
    expect(broken).toEqual([]);
  });
});

describe('the tables of attacks and promises', () => {
  it('docs/promises.md names files whose tests name the row', async () => {
    const text = await readFile(join(ROOT, 'docs/promises.md'), 'utf8');
    const rows = [...text.matchAll(/^\| ([ABC][-\dA-Z]+) \|.*\| ([^|]*) \|$/gm)];
    // Every line of the tables is a row: one with another form would not be checked.
    expect(rows).toHaveLength([...text.matchAll(/^\| [ABC]-?[A-Z\d]+ \|/gm)].length);
    expect(rows.length).toBeGreaterThan(50);
    const missing: string[] = [];
    for (const [, id = '', shownBy = ''] of rows) {
      // Beside tests there are commands.
      const files = [...shownBy.matchAll(/`((?:src|test|console)\/[^` ]+)`/g)].map(([, file = '']) => file);
      if (files.length === 0) missing.push(`${id}: no test`);
      for (const file of files) {
        const tests = await readFile(join(ROOT, file), 'utf8');
        // At the start of the title of a test or of its group.
        if (!new RegExp(`['"\`](?:[A-Z]+-?\\w*(?: to [A-Z]-\\d+)?, )*${id}[:,]`).test(tests))
          missing.push(`${id}: ${file}`);
      }
    }
    expect(missing).toEqual([]);
  });
});
