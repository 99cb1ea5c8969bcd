import { randomUUID } from 'node:crypto';
import { createCatalog } from '../../../src/api/catalog.ts';
import type { Verb } from '../../../src/api/request.ts';
import { findResource } from '../../../src/handlers/dispatch.ts';
import { KINDS, objectOf } from './kinds.ts';
import { create } from './objects.ts';
import type { Server } from './server.ts';

/** One request of each verb of each kind and subresource of the catalog, and of the paths that are no resources. */
export interface EveryRequest {
  readonly label: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const MERGE = { 'Content-Type': 'application/merge-patch+json' };
const METHODS: Readonly<Record<Verb, string>> = {
  get: 'GET',
  list: 'GET',
  watch: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETE',
};
const catalog = createCatalog({ productName: 'orchestrator' });
const EXISTING = 'existing';

/** Of kinds that tests do not create like others. */
const SPECIAL: Readonly<Record<string, object>> = {
  signingkeys: { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'SigningKey' },
  issuedtokens: {},
  accessrequests: {
    apiVersion: 'clusterpass.dev/v1alpha1',
    kind: 'AccessRequest',
    metadata: { name: EXISTING },
    spec: { cluster: 'alpha', reason: 'a test' },
  },
  bootstraptokens: {
    apiVersion: 'clusterpass.dev/v1alpha1',
    kind: 'BootstrapToken',
    metadata: { name: EXISTING },
    spec: { tokenDigest: `sha256:${'0'.repeat(64)}`, namePattern: 'new-*' },
  },
  passes: {
    apiVersion: 'clusterpass.dev/v1alpha1',
    kind: 'Pass',
    spec: { cluster: 'alpha', serviceAccount: { namespace: 'ci', name: EXISTING }, purpose: 'a test of requests' },
  },
};

/** An object of each kind that can be created. `alpha` and the namespace `ci` must exist. */
export async function createOfEveryKind(server: Server): Promise<void> {
  for (const of of KINDS) await create(server, of.path, objectOf(of, { name: EXISTING }));
}

export function everyRequest(): EveryRequest[] {
  return [...kindRequests(), ...subresourceRequests(), ...reviewRequests(), ...pathRequests()];
}

/** By the verbs of the catalog: a new kind or verb needs no change here, or fails with its name. */
function kindRequests(): EveryRequest[] {
  return catalog.kinds.flatMap((kind) => {
    const { group, version, resource, inCluster, namespaced } = kind;
    const cluster = inCluster ? 'alpha' : undefined;
    const namespace = namespaced ? 'ci' : '';
    const target = { cluster, group, version, resource, namespace, subresource: '', alwaysPublic: false };
    const served = findResource(catalog, { ...target, verb: 'get', name: EXISTING });
    const known = KINDS.find((one) => one.resource === resource);
    const content = known ? objectOf(known, { name: EXISTING }, known.changed) : SPECIAL[resource];
    if (served === undefined || content === undefined) throw new Error(`no requests for ${resource}`);
    const root = `${inCluster ? '/orchestrator/alpha' : ''}${group === '' ? '/api' : `/apis/${group}`}/${version}`;
    const collection = `${root}${namespaced ? '/namespaces/ci' : ''}/${resource}`;
    const name = resource === 'issuedtokens' ? randomUUID() : EXISTING;
    return [...served.verbs].map((verb): EveryRequest => {
      const request = { label: `${verb} ${resource}`, method: METHODS[verb], path: `${collection}/${name}` };
      switch (verb) {
        case 'list':
          return { ...request, path: collection };
        case 'watch':
          return { ...request, path: `${collection}?watch=true&timeoutSeconds=1` };
        case 'deletecollection':
          // None matches: the objects are for the other requests.
          return { ...request, path: `${collection}?labelSelector=no-such-label` };
        case 'create':
          return { ...request, path: collection, body: known ? objectOf(known, { generateName: 'new-' }) : content };
        case 'update':
          return { ...request, body: content };
        case 'patch':
          return { ...request, body: { metadata: { annotations: { note: randomUUID() } } }, headers: MERGE };
        default:
          return request;
      }
    });
  });
}

function subresourceRequests(): EveryRequest[] {
  const account = '/orchestrator/alpha/api/v1/namespaces/ci/serviceaccounts/existing';
  const tracked = { metadata: { annotations: { 'clusterpass.dev/tracked': 'true' } }, spec: { audiences: [] } };
  const status = KINDS.filter(({ hasStatus }) => hasStatus).flatMap((of): EveryRequest[] => {
    const path = `${of.path}/${EXISTING}/status`;
    const body = { metadata: { annotations: { note: randomUUID() } } };
    return [
      { label: `get status of ${of.resource}`, method: 'GET', path },
      { label: `patch status of ${of.resource}`, method: 'PATCH', path, body, headers: MERGE },
    ];
  });
  const approval = {
    label: 'an approval',
    method: 'PATCH',
    path: `/apis/clusterpass.dev/v1alpha1/accessrequests/${EXISTING}/approval`,
    body: { status: { conditions: [{ type: 'Approved', status: 'True' }] } },
    headers: MERGE,
  };
  const join = {
    label: 'a registration by a bootstrap token',
    method: 'POST',
    path: `/apis/clusterpass.dev/v1alpha1/bootstraptokens/${EXISTING}/cluster`,
    body: { metadata: { name: 'new-1' } },
  };
  const passes = '/apis/clusterpass.dev/v1alpha1/passes';
  return [
    ...status,
    approval,
    join,
    { ...approval, label: 'an approval of a pass', path: `${passes}/${EXISTING}/approval` },
    { label: 'a redemption', method: 'POST', path: `${passes}/${EXISTING}/token`, body: {} },
    { label: 'a token', method: 'POST', path: `${account}/token`, body: { spec: { audiences: [] } } },
    { label: 'a tracked token', method: 'POST', path: `${account}/token`, body: tracked },
    { label: 'a token of an absent account', method: 'POST', path: `${account}-not/token`, body: { spec: {} } },
    { label: 'the public list', method: 'GET', path: '/auth/v1/clusters' },
    { label: 'a kubeconfig', method: 'GET', path: '/auth/v1/clusters/alpha/kubeconfig' },
    { label: 'the accounts of a cluster', method: 'GET', path: '/auth/v1/clusters/alpha/accounts' },
  ];
}

const reviewRequests = (): EveryRequest[] =>
  catalog.virtualTypes.map(({ group, version, resource }) => ({
    label: `create ${resource}`,
    method: 'POST',
    path: `/orchestrator/alpha/apis/${group}/${version}/${resource}`,
    body: { spec: { token: 'x', namespace: 'ci', resourceAttributes: { verb: 'get', resource: 'pods' } } },
  }));

const pathRequests = (): EveryRequest[] =>
  [
    ...['/livez', '/readyz', '/healthz', '/version', '/metrics', '/', '/api', '/apis', '/openapi/v2', '/openapi/v3'],
    ...['/orchestrator/alpha/.well-known/openid-configuration', '/orchestrator/alpha/openid/v1/jwks'],
  ].map((path) => ({ label: path, method: 'GET', path }));
