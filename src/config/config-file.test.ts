import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseConfig, readConfigFile } from './config-file.ts';

const parse = (text: string) => {
  const { values, problems } = parseConfig(text, 'c.yaml');
  return { values: Object.fromEntries([...values].map(([name, { text: value }]) => [name, value])), problems };
};

describe('parseConfig', () => {
  it('keeps each value as it was written', () => {
    const text =
      'listen: 127.0.0.1:9000\nworkers: 1\ndemo: true\nhistory-revisions: 010\nbase-url: "https://a.example"\n';
    expect(parse(text)).toEqual({
      values: {
        listen: '127.0.0.1:9000',
        workers: '1',
        demo: 'true',
        historyRevisions: '010',
        baseUrl: 'https://a.example',
      },
      problems: [],
    });
  });

  it('joins a list as its option separates values', () => {
    const text = 'cluster-networks: [10.0.0.0/8, 127.0.0.0/8]\ninventory-namespace: ["a=env in (x,y)", b]\n';
    expect(parse(text)).toEqual({
      values: { clusterNetworks: '10.0.0.0/8,127.0.0.0/8', inventoryNamespace: 'a=env in (x,y);b' },
      problems: [],
    });
  });

  it.each(['', '# nothing\n', '---\n', 'null\n'])('takes an empty file %j', (text) => {
    expect(parse(text)).toEqual({ values: {}, problems: [] });
  });

  it.each([
    ['lisen: x', 'c.yaml:1:1: unknown option "lisen"; did you mean listen?'],
    ['demo: true\n__proto__: x', 'c.yaml:2:1: unknown option "__proto__"'],
    ['constructor: x', 'c.yaml:1:1: unknown option "constructor"'],
    ['config: other.yaml', 'c.yaml:1:1: unknown option "config"'],
    ['listen:', 'c.yaml:1:1: listen needs a plain value, not nothing'],
    ['listen: [a]', 'c.yaml:1:1: listen needs a plain value, not a structure'],
    ['cluster-networks: [[a]]', 'c.yaml:1:1: cluster-networks needs a plain value, not a structure'],
    ['listen: {a: b}', 'c.yaml:1:1: listen needs a plain value, not a structure'],
    ['data-dir: &a x\nmanifests: *a', 'c.yaml:2:1: manifests needs a plain value, not a structure'],
    ['[a, b]: c', 'c.yaml: unknown option ""'],
    ['- a', 'c.yaml: expected options as "name: value" lines'],
    ['hello', 'c.yaml: expected options as "name: value" lines'],
    ['demo: true\n---\ndemo: true', 'c.yaml: expected one YAML document'],
  ])('reports %j', (text, problem) => {
    expect(parse(text).problems).toEqual([problem]);
  });

  it('reports a key given twice, and broken YAML, with the line', () => {
    expect(parse('demo: true\ndemo: false').problems[0]).toMatch(/^c\.yaml:2:1: .*unique/);
    expect(parse('listen: "a').problems[0]).toMatch(/^c\.yaml:1:\d+: /);
  });

  it('reports everything at once', () => {
    expect(parse('a: 1\nb: 2').problems).toHaveLength(2);
  });
});

it('readConfigFile names a file that cannot be read', () => {
  expect(readConfigFile('/nonexistent/c.yaml').problems).toEqual([
    '/nonexistent/c.yaml: cannot be read: no such file or directory',
  ]);
});

it('readConfigFile refuses a file that is not UTF-8: nothing in it is replaced', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clusterpass-config-'));
  const file = join(folder, 'c.yaml');
  await writeFile(file, Buffer.from('base-url: https://a\xff\n', 'latin1'));
  expect(readConfigFile(file).problems[0]).toMatch(/c\.yaml: cannot be read: .*utf-8/);
});

it('readConfigFile refuses a file of more than a megabyte', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clusterpass-config-'));
  const file = join(folder, 'c.yaml');
  await writeFile(file, `demo: true\n${'#'.repeat(1024 * 1024)}`);
  expect(readConfigFile(file)).toEqual({ values: new Map(), problems: [expect.stringMatching(/too large/)] });
});

it('parseConfig reports the first syntax errors, not half a million', () => {
  expect(parse(`base-url: "${'\\q'.repeat(1_000)}"`).problems).toHaveLength(20);
});
