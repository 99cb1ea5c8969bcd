import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { kubectlRuns } from './kubectl.ts';

const cwd = mkdtempSync(join(tmpdir(), 'clusterpass-runs-'));

const account = (name: string, cluster: string) =>
  `{kind: ServiceAccount, metadata: {name: ${name}, annotations: {clusterpass.dev/in-cluster: ${cluster}}}}\n`;
const CLUSTER = '{kind: Cluster, metadata: {name: alpha}}\n';
writeFileSync(join(cwd, 'fleet.yaml'), CLUSTER);
writeFileSync(join(cwd, 'mixed.yaml'), `${CLUSTER}---\n${account('a', 'alpha')}---\n${account('b', 'beta')}`);
writeFileSync(join(cwd, 'broken.yaml'), `${account('a', 'alpha')}---\n[`);
mkdirSync(join(cwd, 'folder/below'), { recursive: true });
writeFileSync(join(cwd, 'folder/a.yml'), account('a', 'alpha'));
writeFileSync(join(cwd, 'folder/notes.txt'), account('never', 'alpha'));
writeFileSync(join(cwd, 'folder/below/b.json'), `{"kind": "List", "items": [${JSON.stringify({ kind: 'Pod' })}]}`);

interface Item {
  readonly kind: string;
  readonly metadata?: { readonly name: string };
}

const nameOf = ({ kind, metadata }: Item): string => metadata?.name ?? kind;

/** The cluster, arguments and names of objects of each run. */
async function runs(command: string, stdin = ''): Promise<unknown[]> {
  const found = await kubectlRuns(command.split(' '), cwd, () => Promise.resolve(stdin));
  return found.map(({ cluster, args, input }) => {
    const items = input?.startsWith('{"apiVersion":"v1","kind":"List"')
      ? (JSON.parse(input).items as Item[])
      : undefined;
    return [cluster, args.join(' '), items?.map(nameOf) ?? input];
  });
}

describe('kubectlRuns', () => {
  it('runs kubectl once for each cluster whose objects the files have, and once for the fleet', async () => {
    expect(await runs('diff --server-side -f mixed.yaml -n ci')).toEqual([
      [undefined, 'diff --server-side -n ci -f -', ['alpha']],
      ['alpha', 'diff --server-side -n ci -f -', ['a']],
      ['beta', 'diff --server-side -n ci -f -', ['b']],
    ]);
    expect(await runs('get --filename=folder,mixed.yaml -f fleet.yaml')).toEqual([
      [undefined, 'get -f -', ['alpha', 'alpha']],
      ['alpha', 'get -f -', ['a', 'a']],
      ['beta', 'get -f -', ['b']],
    ]);
    expect(await runs('-n ci get -R -f folder')).toEqual([
      [undefined, '-n ci get -R -f -', ['Pod']],
      ['alpha', '-n ci get -R -f -', ['a']],
    ]);
    expect(await runs('apply -f -', account('a', 'alpha'))).toEqual([['alpha', 'apply -f -', ['a']]]);
  });

  it('deletes what is inside a cluster before the cluster', async () => {
    expect((await runs('delete -f mixed.yaml')).map((run) => (run as unknown[])[0])).toEqual([
      'beta',
      'alpha',
      undefined,
    ]);
  });

  it.each([
    'get clusters',
    'apply -f fleet.yaml',
    'apply -f missing.yaml',
    'apply -f broken.yaml',
    'apply -f https://example.com/a.yaml',
    'logs -f mixed.yaml',
    'exec pod -- apply -f mixed.yaml',
  ])('leaves %s to kubectl', async (command) => {
    expect(await runs(command)).toEqual([[undefined, command, undefined]]);
  });
});
