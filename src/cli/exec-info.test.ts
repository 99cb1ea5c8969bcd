import { describe, expect, it } from 'vitest';
import { readExecInfo } from './exec-info.ts';

const V1 = 'client.authentication.k8s.io/v1';
const info = (spec: unknown, apiVersion: unknown = V1): string =>
  JSON.stringify({ kind: 'ExecCredential', apiVersion, spec });
const cluster = (config: unknown, server: unknown = 'https://prod:6443') => info({ cluster: { server, config } });

describe('KUBERNETES_EXEC_INFO', () => {
  it('CP-30: has version v1 or v1beta1, or is not set', () => {
    expect(readExecInfo(undefined)).toEqual({ apiVersion: V1, profile: undefined });
    expect(readExecInfo('')).toEqual({ apiVersion: V1, profile: undefined });
    expect(readExecInfo(info({}, `${V1}beta1`)).apiVersion).toBe(`${V1}beta1`);
    expect(() => readExecInfo('{')).toThrow('KUBERNETES_EXEC_INFO is not JSON');
    for (const text of ['null', '[]', '"x"', info({}, 1), info({}, null)]) {
      expect(() => readExecInfo(text)).toThrow('KUBERNETES_EXEC_INFO requests no version; supported are');
    }
    expect(() => readExecInfo(info({}, `${V1}alpha1`))).toThrow(`requests "${V1}alpha1"; supported are`);
  });

  it('CP-31, CP-97: gives the name of the cluster and the address, and nothing else of a profile', () => {
    const config = { clusterName: 'prod.eu', server: 'https://attacker', as: 'kube-system/admin', args: ['--x'] };
    const profile = { cluster: 'prod.eu', server: 'https://prod:6443' };
    expect(readExecInfo(cluster(config))).toEqual({ apiVersion: V1, profile });
    for (const text of [
      info(undefined),
      info({}),
      info({ cluster: null }),
      cluster(undefined),
      cluster(null),
      cluster([]),
    ]) {
      expect(readExecInfo(text).profile).toBeUndefined();
    }
  });

  it.each(['', '../x', 'A', 'a/b', '-', 'a'.repeat(254), 1, null, ['a']])('CP-97: %j is no name', (clusterName) => {
    expect(() => readExecInfo(cluster({ clusterName }))).toThrow('clusterName is not the name of a cluster');
  });

  it.each(['', 1])('a profile without an address is refused: %j', (server) => {
    expect(() => readExecInfo(cluster({ clusterName: 'a' }, server))).toThrow('spec.cluster.server is missing');
  });
});
