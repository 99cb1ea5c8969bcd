import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { runStore } from './support/run-command.ts';

describe('clusterpass store import, of a binding that the API refuses', () => {
  const roleRef = { kind: 'ClusterRole', name: 'x' };
  const whole = { clusters: { all: true }, roleRef };
  it.each<[field: string, key: string, object: object]>([
    ['spec.clustres: Forbidden: unknown field', 'fleetrolebindings/x', { spec: { ...whole, clustres: {} } }],
    ['spec.clusters: Required value', 'fleetrolebindings/x', { spec: { roleRef } }],
    ['spec.expiresAt: Invalid value', 'fleetrolebindings/x', { spec: { ...whole, expiresAt: 'tomorrow' } }],
    ['spec.maxPassSeconds is a string', 'fleetrolebindings/x', { spec: { ...whole, maxPassSeconds: '900' } }],
    ['its value is not JSON', 'fleetrolebindings/x', Buffer.from('{')],
    [
      'metadata.annotations[clusterpass.dev/clusters]: ',
      'clusterrolebindings/x',
      { metadata: { name: 'x', annotations: { 'clusterpass.dev/clusters': 'env=dev' } } },
    ],
  ])('refuses it before anything is written: %s', async (problem, name, object) => {
    const folder = await mkdtemp(join(tmpdir(), 'clusterpass-import-'));
    const [from, to, archive] = ['from.db', 'to.db', 'archive'].map((file) => join(folder, file)) as [
      string,
      string,
      string,
    ];
    const store = await openSqliteStore({ file: from });
    const put = (key: string, value: Uint8Array) => store.write({ key, value, expect: { absent: true } });
    await put('/registry/fleetrolebindings/fine', Buffer.from(JSON.stringify({ metadata: {}, spec: whole })));
    await put(`/registry/${name}`, Buffer.isBuffer(object) ? object : Buffer.from(JSON.stringify(object)));
    await store.close();
    expect((await runStore('export', '--store', `sqlite:${from}`, '-f', archive)).code).toBe(0);
    const { code, stderr } = await runStore('import', '--store', `sqlite:${to}`, '-f', archive);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`/registry/${name}: ${problem}`)]);
    expect(stderr).not.toContain('fine');
    await expect(access(to)).rejects.toThrow('ENOENT');
    await rm(folder, { recursive: true, force: true });
  });
});
