import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { CONFIRMED_ANNOTATION, endpointDigest } from '../../../src/api/clusters/confirmed-endpoint.ts';
import type { FakeAnswer, SeenRequest } from '../../../src/clusters/upstream/api-server.fixture.ts';
import { CLUSTERS } from './paths.ts';
import type { Answer, Server } from './server.ts';

/** The directory of the credentials that the server uses for clusters which issue tokens themselves. */
export const credentialsOf = ({ dataDir }: { readonly dataDir: string }): string => join(dataDir, 'credentials');

export async function writeCredential(
  server: Server,
  name: string,
  files: Readonly<Record<string, string>>,
  mode = 0o600,
): Promise<void> {
  const folder = join(credentialsOf(server), 'fleet', name);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text, { mode });
}

export interface Registered {
  readonly name: string;
  readonly port: number;
  /** PEM. */
  readonly ca: string;
  readonly host?: string;
}

export const clusterObject = ({ name, port, ca, host = '127.0.0.1' }: Registered) => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name, annotations: {} as Record<string, string> },
  spec: {
    orchestratorApiEndpoints: {
      serverEndpoints: [{ serverAddress: `https://${host}:${port}` }],
      caBundle: Buffer.from(ca).toString('base64'),
    },
    authInfo: { controller: { kind: 'Secret', namespace: 'fleet', name } },
  },
});

/** Registers a cluster with a token as its credential, confirmed by the administrator. */
export async function register(server: Server, cluster: Registered, token: string): Promise<void> {
  await writeCredential(server, cluster.name, { token: `${token}\n` });
  const body = clusterObject(cluster);
  body.metadata.annotations[CONFIRMED_ANNOTATION] = endpointDigest(body, 'orchestrator');
  const made = await server.call('POST', CLUSTERS, { body });
  expect(made.code, made.text).toBe(201);
}

export const patchSpec = (server: Server, name: string, body: object, token?: string): Promise<Answer> =>
  server.call('PATCH', `${CLUSTERS}/${name}`, {
    body,
    ...(token === undefined ? {} : { token }),
  });

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** Waits until the condition has this reason: it is written after the response. */
export async function conditionOf(server: Server, name: string, reason: string): Promise<Condition> {
  const find = async (): Promise<Condition | undefined> => {
    const { json } = await server.call('GET', `${CLUSTERS}/${name}`);
    return ((json.status?.conditions ?? []) as Condition[]).find(({ type }) => type === 'CredentialUsable');
  };
  let found: Condition | undefined;
  await expect.poll(async () => (found = await find())).toMatchObject({ reason });
  return found as Condition;
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token in the shape of kube-apiserver's. It is not signed: the server has no key to verify it with. */
export function jwt(claims: object, header: object = { alg: 'RS256', kid: 'k' }): string {
  return `${encode(header)}.${encode(claims)}.${Buffer.from('signature').toString('base64url')}`;
}

/** The claims that a token request asks for. */
export function claimsFor(seen: SeenRequest): Record<string, unknown> {
  const [, namespace = '', name = ''] = /namespaces\/([^/]+)\/serviceaccounts\/([^/]+)\/token$/.exec(seen.path) ?? [];
  const { spec } = JSON.parse(seen.body) as { spec: { audiences: string[]; expirationSeconds: number } };
  const now = Math.floor(Date.now() / 1000);
  return {
    aud: spec.audiences.length === 0 ? ['https://kubernetes.default.svc'] : spec.audiences,
    exp: now + spec.expirationSeconds,
    iat: now,
    iss: 'https://kubernetes.default.svc',
    jti: '0f3a5a3e-2d4b-4c62-9c1c-6f1f6a0f7a11',
    'kubernetes.io': { namespace, serviceaccount: { name, uid: 'uid-there' } },
    nbf: now,
    sub: `system:serviceaccount:${namespace}:${name}`,
  };
}

export const tokenAnswer = (token: unknown, headers: Record<string, string> = {}): FakeAnswer => ({
  status: 201,
  headers,
  body: JSON.stringify({ kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', status: { token } }),
});

export const goodAnswer = (seen: SeenRequest): FakeAnswer => tokenAnswer(jwt(claimsFor(seen)));

export const statusAnswer = (code: number, reason: string, message: string, details: object = {}): FakeAnswer => ({
  status: code,
  body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message, details, code }),
});
