import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { createCatalog } from '../api/catalog.ts';
import { lonelyWork } from '../lib/work-queue.fixture.ts';
import { findManifestFiles, type Manifests, readManifests, splitDocuments } from './read-manifests.ts';

const catalog = createCatalog({ productName: 'kubernetes' });
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-read-'));
});

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, file)), { recursive: true });
  await writeFile(join(folder, file), text);
}

const cluster = (name: string, rest = ''): string =>
  `apiVersion: clusterregistry.k8s.io/v1alpha1\nkind: Cluster\nmetadata: { name: ${name} }\n${rest}`;
const work = lonelyWork();
const namesIn = ({ manifests }: Manifests): string[] => manifests.map(({ objectKey }) => objectKey.name);

it('finds YAML and JSON at every depth, in order, and no hidden files', async () => {
  for (const file of ['b.yaml', 'a/z.yml', 'a/b/c.json', 'x.txt', '.hidden.yaml', '..data/d.yaml', 'a/.git/e.yaml']) {
    await write(file, '');
  }
  expect(await findManifestFiles(folder)).toEqual(
    ['a/b/c.json', 'a/z.yml', 'b.yaml'].map((file) => join(folder, file)),
  );
});

it('reads a folder as a ConfigMap is mounted, once', async () => {
  await write('..2026/a.yaml', cluster('one'));
  await symlink('..2026', join(folder, '..data'));
  await symlink('..data/a.yaml', join(folder, 'a.yaml'));
  const read = await readManifests(folder, { catalog, work });
  expect(read.problems).toEqual([]);
  expect(read.manifests).toMatchObject([{ file: 'a.yaml', document: 1, objectKey: { name: 'one' } }]);
});

it('reads YAML as the API does: no aliases, no duplicate keys, no `yes` for booleans', async () => {
  await write('alias.yaml', `${cluster('a')}x: &x [1]\ny: *x\n`);
  await write('twice.yaml', `# a comment\n---\n${cluster('b')}kind: Other\n`);
  await write('word.yaml', cluster('c').replace('{ name: c }', '{ name: c, labels: { up: yes } }'));
  const { manifests, problems } = await readManifests(folder, { catalog, work });
  expect(manifests.map(({ object }) => object.metadata.labels)).toEqual([{ up: 'yes' }]);
  expect(problems.map(({ file, message }) => [file, message])).toEqual([
    ['alias.yaml', expect.stringMatching(/^yaml: line 4: /)],
    ['twice.yaml', 'line 5: key "kind" already set in map'],
  ]);
});

it('reports each bad document, and reads the others', async () => {
  const account = 'apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: homeless, namespace: ci }\n';
  const documents = [
    cluster('one'),
    cluster('odd').replace('metadata', 'colour: red\nmetadata'),
    'kind: [unclosed\n',
    '# nothing but a remark\n',
    account,
    'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: x }\n',
    cluster('two'),
  ];
  await write('mixed.yaml', documents.join('---\n'));
  const read = await readManifests(folder, { catalog, work });
  expect(namesIn(read)).toEqual(['one', 'two']);
  expect(read.problems.map(({ document, message }) => [document, message])).toEqual([
    [2, expect.stringContaining('strict decoding error: unknown field "colour"')],
    [3, expect.stringContaining('yaml: line ')],
    [4, expect.stringContaining('metadata.annotations[clusterpass.dev/in-cluster]: Required value')],
    [5, expect.stringContaining('kind: Deployment in apps/v1 is not served here')],
  ]);
});

it('S-10: reads the manifest of a whole pod, and says what was dropped', async () => {
  const pod = (spec: string) =>
    `apiVersion: v1\nkind: Pod\nmetadata: { name: p, namespace: n, annotations: { clusterpass.dev/in-cluster: a } }\nspec: ${spec}\n`;
  await write('a.yaml', pod('{ serviceAccountName: s, containers: [{ name: c }] }'));
  await write('b.yaml', pod('{ serviceAcountName: s }'));
  const { manifests, problems, warnings } = await readManifests(folder, { catalog, work });
  expect(manifests.map(({ object }) => object.spec)).toEqual([{ serviceAccountName: 's' }]);
  expect(warnings).toEqual([
    {
      file: 'a.yaml',
      document: 1,
      message: 'Clusterpass keeps only a part of a Pod; dropped: spec.containers',
    },
  ]);
  expect(problems).toMatchObject([{ file: 'b.yaml', message: expect.stringContaining('spec.serviceAcountName') }]);
});

it('reports a file that is not UTF-8, and replaces nothing in it', async () => {
  await write('good.yaml', cluster('one'));
  await writeFile(join(folder, 'bad.yaml'), Buffer.from(cluster('t\xff'), 'latin1'));
  const read = await readManifests(folder, { catalog, work });
  expect(namesIn(read)).toEqual(['one']);
  expect(read.problems).toEqual([{ file: 'bad.yaml', document: 0, message: 'the file is not UTF-8' }]);
});

it('A19: the event loop runs while many documents are read, right or wrong', async () => {
  await write('many.yaml', '---\na: "\\q"\n'.repeat(5_000));
  let ticks = 0;
  const counter = setInterval(() => ticks++, 0);
  const read = await readManifests(folder, { catalog, work }).finally(() => clearInterval(counter));
  expect(read.problems).toHaveLength(5_000);
  expect(ticks).toBeGreaterThan(5);
});

it('edits the text of files that were written for another product name', async () => {
  await write('a.yaml', cluster('a', 'spec: { orchestratorApiEndpoints: { caBundle: aGk= }, authInfo: {} }\n'));
  const refused = await readManifests(folder, { catalog, work });
  expect(refused.problems[0]?.message).toContain('unknown field "spec.orchestratorApiEndpoints"');
  const edit = (text: string): string => text.replaceAll('orchestratorApi', 'kubernetesApi');
  const { manifests, problems } = await readManifests(folder, { catalog, work, edit });
  expect(problems).toEqual([]);
  expect(manifests[0]?.object.spec).toEqual({ authInfo: {}, kubernetesApiEndpoints: { caBundle: 'aGk=' } });
});

it.each<[string, string, string[]]>([
  ['nothing', '', []],
  ['comments', '# a\n\n  # b\n---\n# c\n', []],
  ['one', 'a: 1\n', ['a: 1\n']],
  ['one after a separator', '# head\n---\na: 1', ['\na: 1']],
  ['two, with empty ones between', 'a: 1\n---\n---\n\n---\nb: 2\n', ['a: 1\n', '\nb: 2\n']],
  ['content on the line of the separator', '--- {a: 1}\n--- # comment\nb: 2', [' {a: 1}\n', ' # comment\nb: 2']],
  ['lines that only look like a separator', 'a: |\n  ---\nb: ---\n----\n', ['a: |\n  ---\nb: ---\n----\n']],
  ['line ends of Windows', 'a: 1\r\n---\r\nb: 2\r\n', ['a: 1\r\n', '\r\nb: 2\r\n']],
])('splits %s', (_, text, expected) => {
  expect(splitDocuments(text)).toEqual(expected);
});
