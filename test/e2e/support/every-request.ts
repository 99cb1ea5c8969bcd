import { randomUUID } from 'node:crypto';
import { bootstrapToken, bootstrapTokenDigest } from '../../../src/api/bootstrap-credential.ts';
import { createCatalog } from '../../../src/api/catalog.ts';
import type { Verb } from '../../../src/api/request.ts';
import { findResource } from '../../../src/handlers/dispatch.ts';
import { KINDS, objectOf } from './kinds.ts';
import { create } from './objects.ts';
import { CLUSTERS } from './paths.ts';
import { type Server, tokenOf } from './server.ts';

/** One request of each verb of each kind and subresource of the catalog, and of the paths that are no resources. */
export interface EveryRequest {
  readonly label: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Instead of the token of the administrator; null for none. */
  readonly token?: string | null;
}

/** The caller of requests that are not for the administrator. */
export const PERSON = 'jane';

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
const SERVER_GROUP = '/apis/clusterpass.dev/v1alpha1';
const BOOTSTRAP_TOKEN = bootstrapToken(EXISTING, Buffer.alloc(32, 7));

/** Of kinds that tests create in another way than the others. */
const SPECIAL: Readonly<Record<string, object>> = {
  signingkeys: { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'SigningKey' },
  issuedtokens: {},
  connectors: {},
  tokenorders: {},
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
    spec: { tokenDigest: bootstrapTokenDigest(BOOTSTRAP_TOKEN), namePattern: 'new-*' },
  },
  passes: {
    apiVersion: 'clusterpass.dev/v1alpha1',
    kind: 'Pass',
    spec: { cluster: 'alpha', serviceAccount: { namespace: 'ci', name: EXISTING }, purpose: 'a test of requests' },
  },
};

/** Names that the server gives. */
export interface Existing {
  /** The handle of a pass that is ready. */
  readonly handle: string;
  readonly issuer: string;
}

/** An object of each kind that can be created. `alpha` and the namespace `ci` must exist. */
export async function createOfEveryKind(server: Server): Promise<Existing> {
  for (const of of KINDS) await create(server, of.path, objectOf(of, { name: EXISTING }));
  await create(server, `${SERVER_GROUP}/bootstraptokens`, SPECIAL.bootstraptokens ?? {});
  const asPerson = async (resource: string): Promise<string> => {
    const answer = await server.call('POST', `${SERVER_GROUP}/${resource}`, {
      body: SPECIAL[resource],
      token: tokenOf(PERSON),
    });
    if (answer.code !== 201) throw new Error(answer.text);
    return answer.json.metadata.name;
  };
  await asPerson('accessrequests');
  return { handle: await asPerson('passes'), issuer: `${server.url}/orchestrator/alpha` };
}

export function everyRequest(existing: Existing): EveryRequest[] {
  return [
    ...kindRequests(),
    ...subresourceRequests(existing),
    ...reviewRequests(),
    ...oauthRequests(existing),
    ...redirectedRequests(),
    ...pathRequests(),
  ];
}

/** By the verbs of the catalog: a new kind or verb needs no change here, or fails with its name. */
function kindRequests(): EveryRequest[] {
  return [...catalog.kinds, ...catalog.projections].flatMap((kind) => {
    const { group, version, resource, inCluster, namespaced } = kind;
    const isProjection = kind.projection !== undefined;
    const cluster = inCluster ? 'alpha' : undefined;
    const namespace = !namespaced ? '' : isProjection ? 'default' : 'ci';
    const target = { cluster, group, version, resource, namespace, subresource: '', alwaysPublic: false };
    const served = findResource(catalog, { ...target, verb: 'get', name: EXISTING });
    const known = KINDS.find((one) => one.resource === resource);
    const content = known
      ? objectOf(known, { name: EXISTING }, known.changed)
      : (SPECIAL[resource] ?? (isProjection ? {} : undefined));
    if (served === undefined || content === undefined) throw new Error(`no requests for ${resource}`);
    const root = `${inCluster ? '/orchestrator/alpha' : ''}${group === '' ? '/api' : `/apis/${group}`}/${version}`;
    const collection = `${root}${namespace === '' ? '' : `/namespaces/${namespace}`}/${resource}`;
    const name = ['issuedtokens', 'tokenorders'].includes(resource) ? randomUUID() : EXISTING;
    return [...served.verbs].map((verb): EveryRequest => {
      const label = isProjection ? `${verb} ${resource} of ${version}` : `${verb} ${resource}`;
      const request = { label, method: METHODS[verb], path: `${collection}/${name}` };
      switch (verb) {
        case 'list':
          return { ...request, path: collection };
        case 'watch':
          return { ...request, path: `${collection}?watch=true&timeoutSeconds=1` };
        case 'deletecollection':
          // Matches no object, because the other requests need them.
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

function subresourceRequests({ handle }: Existing): EveryRequest[] {
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
    path: `${SERVER_GROUP}/accessrequests/${EXISTING}/approval`,
    body: { status: { conditions: [{ type: 'Approved', status: 'True' }] } },
    headers: MERGE,
  };
  const join = {
    label: 'a registration by a bootstrap token',
    method: 'POST',
    path: `${SERVER_GROUP}/bootstraptokens/${EXISTING}/cluster`,
    body: { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata: { name: 'new-1' } },
    token: BOOTSTRAP_TOKEN,
  };
  const passes = `${SERVER_GROUP}/passes/${handle}`;
  const asPerson = { token: tokenOf(PERSON) };
  return [
    ...status,
    approval,
    join,
    { ...approval, label: 'an approval of a pass', path: `${passes}/approval` },
    { label: 'a redemption', method: 'POST', path: `${passes}/token`, body: {}, ...asPerson },
    { label: 'a revocation of a pass', method: 'DELETE', path: passes, ...asPerson },
    { label: 'a pass for a person', method: 'POST', path: `${CLUSTERS}/alpha/userpass`, body: tracked, ...asPerson },
    {
      label: 'a list of passes',
      method: 'POST',
      path: '/auth/v1/passes',
      body: { items: [{ cluster: 'alpha', namespace: 'ci', serviceAccount: EXISTING, tracked: true }] },
    },
    { label: 'a token', method: 'POST', path: `${account}/token`, body: { spec: { audiences: [] } } },
    { label: 'a tracked pass', method: 'POST', path: `${account}/token`, body: tracked },
    { label: 'a token of an absent account', method: 'POST', path: `${account}-not/token`, body: { spec: {} } },
    { label: 'the public list', method: 'GET', path: '/auth/v1/clusters' },
    { label: 'a kubeconfig', method: 'GET', path: '/auth/v1/clusters/alpha/kubeconfig' },
    { label: 'the accounts of a cluster', method: 'GET', path: '/auth/v1/clusters/alpha/accounts' },
  ];
}

const reviewRequests = (): EveryRequest[] =>
  catalog.virtualTypes.flatMap(({ group, version, resource, namespaced }) => {
    const path = `/apis/${group}/${version}${namespaced ? '/namespaces/ci' : ''}/${resource}`;
    const review = {
      method: 'POST',
      body: { spec: { token: 'x', namespace: 'ci', resourceAttributes: { verb: 'get', resource: 'pods' } } },
    };
    return [
      { ...review, label: `create ${resource}`, path: `/orchestrator/alpha${path}` },
      { ...review, label: `create ${resource} of the fleet`, path },
    ];
  });

/** The endpoints of OAuth. Their forms become requests of the API. */
function oauthRequests({ handle, issuer }: Existing): EveryRequest[] {
  const form = (label: string, path: string, parameters: Record<string, string>): EveryRequest => ({
    label,
    method: 'POST',
    path,
    body: new URLSearchParams(parameters).toString(),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  });
  const exchange = (label: string, parameters: Record<string, string>): EveryRequest => ({
    ...form(label, '/oauth/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: tokenOf(PERSON),
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      ...parameters,
    }),
    token: null,
  });
  const claims = { iss: issuer, jti: randomUUID(), exp: 4_000_000_000 };
  const segment = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return [
    exchange('an exchange', { audience: `alpha:ci:${EXISTING}`, tracked: 'true' }),
    exchange('an exchange for a person', { audience: 'alpha', tracked: 'true' }),
    exchange('an exchange of a handle', { scope: `pass:${handle}` }),
    form('an introspection', '/oauth/introspect', { token: tokenOf(PERSON) }),
    form('an OAuth revocation', '/oauth/revoke', { token: `${segment({ alg: 'RS256' })}.${segment(claims)}.c2ln` }),
  ];
}

/** Objects inside clusters, at the paths of the fleet. */
const redirectedRequests = (): EveryRequest[] => [
  {
    label: 'a redirected account',
    method: 'POST',
    path: '/api/v1/namespaces/ci/serviceaccounts',
    body: { metadata: { name: 'new', annotations: { 'clusterpass.dev/in-cluster': 'alpha' } } },
  },
];

const pathRequests = (): EveryRequest[] =>
  [
    ...['/livez', '/readyz', '/healthz', '/version', '/metrics', '/', '/api', '/apis', '/openapi/v2', '/openapi/v3'],
    ...['/metrics/overview', '/orchestrator/alpha/.well-known/openid-configuration'],
    '/orchestrator/alpha/openid/v1/jwks',
    ...['/orchestrator/alpha/people/.well-known/openid-configuration', '/console/'],
    ...['/.well-known/oauth-authorization-server', '/apis/clusterpass.dev/v1alpha1'],
    ...['/openapi/v3/apis/clusterpass.dev/v1alpha1', '/orchestrator/alpha/openapi/v3', '/orchestrator/alpha/api'],
  ].map((path) => ({ label: path, method: 'GET', path }));
