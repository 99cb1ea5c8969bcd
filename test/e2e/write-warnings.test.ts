import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { addCluster, type ClusterParts, grantClusters, relabel, removeCluster } from './support/fleet.ts';
import { asUser, createCluster } from './support/objects.ts';
import { CLUSTERS, RBAC_GROUP } from './support/paths.ts';
import { grant, may, REGISTRY_GROUP } from './support/rbac.ts';
import { TLS } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

/**
 * What is seen at other objects only. Labels that clusters have already are not checked when a binding is written: its
 * writer is told where it holds.
 */

const server = sharedServer();

beforeAll(async () => {
  await createCluster(server, 'a1', { zone: 'a' });
  await createCluster(server, 'b1', { zone: 'b', 'protected.clusterpass.dev/zone': 'b' });
  await grant(server, {
    to: 'binder',
    rules: [
      { verbs: ['create'], apiGroups: ['clusterpass.dev'], resources: ['fleetrolebindings'] },
      { verbs: ['bind'], apiGroups: [RBAC_GROUP], resources: ['clusterroles'] },
    ],
  });
  await grant(server, { to: 'binder', rules: [may('list', 'clusters', REGISTRY_GROUP)], clusters: 'zone=b' });
});

const BINDINGS = FLEET_BINDINGS;
let counter = 0;

const bindingBody = (clusters: string | undefined) =>
  fleetBinding({ name: `w${++counter}`, to: ['mia'], role: 'clusterpass:viewer', clusters }) as {
    metadata: { name: string };
    spec: object;
  };

async function warningsOf(clusters: string | undefined, who?: string): Promise<string[]> {
  const body = bindingBody(clusters);
  const answer = await server.call('POST', BINDINGS, { body, ...(who && asUser(who)) });
  expect(answer.code, answer.text).toBe(201);
  return answer.warnings.map((text) => text.replaceAll(/FleetRoleBinding \\?"w\d+\\?"/g, 'IT'));
}

const BY_OTHERS =
  'IT selects labels that callers who may patch a cluster can set: to prevent that, select labels below ' +
  'protected.clusterpass.dev/';

describe('A30: a binding that selects clusters', () => {
  it.each([
    ['zone=b', [BY_OTHERS]],
    ['zone!=a', [BY_OTHERS]],
    ['protected.clusterpass.dev/zone=b', []],
    ['kubernetes.io/metadata.name in (a1,b1)', []],
    [undefined, []],
    ['zone=c', ['IT holds in no cluster now']],
    ['kubernetes.io/metadata.name=c', ['IT holds in no cluster now']],
    ['a2', ['IT holds in no cluster now']],
  ])('%s', async (clusters, warnings) => {
    expect(await warningsOf(clusters)).toEqual(warnings);
  });
});

describe('A17, A49: a cluster that is registered already', () => {
  const ADDRESS = 'https://shared.example with the same CA is registered as';
  const SAME_ID = ['the same cluster id is registered as first'];
  let caBundle: string;
  const at = (host: string, ca = caBundle) => ({
    orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: `https://${host}.example` }], caBundle: ca },
  });
  const withId = (id: string, spec: object = {}) => ({ annotations: { 'clusterpass.dev/cluster-id': id }, spec });
  const warningsOf = async (
    method: string,
    name: string,
    { annotations, spec }: ClusterParts,
    who = 'root',
    query = '',
  ) => {
    const isPatch = method === 'PATCH';
    const answer = await server.call(method, `${CLUSTERS}${isPatch ? `/${name}` : ''}${query}`, {
      body: { apiVersion: `${REGISTRY_GROUP}/v1alpha1`, kind: 'Cluster', metadata: { name, annotations }, spec },
      headers: { 'Content-Type': isPatch ? 'application/merge-patch+json' : 'application/json' },
      ...asUser(who),
    });
    expect(answer.code, answer.text).toBeLessThan(300);
    return answer.warnings;
  };

  beforeAll(async () => {
    caBundle = (await readFile(TLS.caFile)).toString('base64');
    await addCluster(server, 'first', { labels: { shown: 'yes' }, ...withId('one', at('shared')) });
    const rules = ['create', 'escalate'].map((verb) => may(verb, 'clusters', REGISTRY_GROUP));
    await grant(server, { to: 'registrar', rules });
    await grantClusters(server, 'registrar-sees', 'registrar', { clusters: 'shown in (yes,all)' });
    await grantClusters(server, 'registrar-updates', 'registrar', { verbs: ['update'], clusters: 'shown in (all,no)' });
  });

  it('is reported for an address with the same CA, and for the id, when they are written', async () => {
    expect(await warningsOf('POST', 'second', { spec: at('shared') }, 'root', '?dryRun=All')).toEqual([
      `${ADDRESS} first`,
    ]);
    // Without a CA, it may be the address of a proxy.
    expect(await warningsOf('POST', 'second', withId('two', at('shared', '')))).toEqual([]);
    expect(await warningsOf('PATCH', 'second', { spec: at('other') })).toEqual([]);
    expect(await warningsOf('PATCH', 'second', withId('one'))).toEqual(SAME_ID);
    expect(await warningsOf('PATCH', 'second', { annotations: { x: 'y' } })).toEqual([]);
    await removeCluster(server, 'second');
    expect(await warningsOf('POST', 'third', withId('two', at('other')))).toEqual([]);
  });

  it('is not named to a caller who may not list it, and its id counts for those who may update it', async () => {
    await addCluster(server, 'hidden', withId('one', at('shared')));
    const ask = (parts: ClusterParts) => warningsOf('POST', 'mine', parts, 'registrar', '?dryRun=All');
    expect(await ask(withId('one', at('shared')))).toEqual([`${ADDRESS} first`]);
    await relabel(server, 'first', { shown: 'no' });
    expect(await ask(withId('one', at('shared')))).toEqual([]);
    await relabel(server, 'first', { shown: 'all' });
    expect(await ask(withId('one'))).toEqual(SAME_ID);
  });
});
