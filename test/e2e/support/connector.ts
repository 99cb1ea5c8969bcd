import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { CompactEncrypt, compactVerify, createLocalJWKSet, importJWK, type JWK, SignJWT } from 'jose';
import { expect } from 'vitest';
import { bootstrapTokenId } from '../../../src/api/bootstrap-credential.ts';
import {
  ANSWER_ALGORITHMS,
  CONNECTOR_ANNOTATION,
  connectorAudience,
  ORDER_TYPE,
  type OrderAnswer,
  type OrderClaims,
  passSecretName,
  peopleNamespace,
  personAccountName,
} from '../../../src/api/connector.ts';
import { Person } from './cli.ts';
import type { Answer, CallOptions, Server } from './server.ts';
import { Watch } from './watch.ts';

/** A connector that speaks the contract, beside an API server whose answers are made here. */

export const CONNECTORS = '/apis/clusterpass.dev/v1alpha1/connectors';
export const BOOTSTRAP = '/apis/clusterpass.dev/v1alpha1/bootstraptokens';
export const ordersOf = (cluster: string): string =>
  `/orchestrator/${cluster}/apis/clusterpass.dev/v1alpha1/tokenorders`;

const ISSUER = 'https://kubernetes.default.svc';
const SUBJECT = 'system:serviceaccount:clusterpass:connector';

/** The issuer of a cluster: its key, and tokens of its accounts. */
export class ClusterIssuer {
  readonly #key: KeyObject;
  readonly jwk: JWK;

  constructor(kid: string = randomUUID()) {
    // A P-256 key takes milliseconds, an RSA key a second.
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#key = privateKey;
    this.jwk = { ...(publicKey.export({ format: 'jwk' }) as JWK), kid, use: 'sig' };
  }

  get keys(): { keys: JWK[] } {
    return { keys: [this.jwk] };
  }

  sign(claims: Record<string, unknown>, seconds = 3600): Promise<string> {
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: this.jwk.kid ?? '' })
      .setIssuedAt()
      .setExpirationTime(Math.floor(Date.now() / 1000) + seconds)
      .sign(this.#key);
  }

  /** As kubelet projects it. */
  projected(audience: string | string[], more: Record<string, unknown> = {}, seconds = 3600): Promise<string> {
    const kubernetes = { namespace: 'clusterpass', serviceaccount: { name: 'connector', uid: 'account-1' } };
    return this.sign({ iss: ISSUER, sub: SUBJECT, aud: audience, 'kubernetes.io': kubernetes, ...more }, seconds);
  }
}

export async function bootstrap(server: Server, name: string): Promise<string> {
  const admin = await Person.as(server);
  const token = (await admin.ok(['create', 'bootstrap-token', '--name-pattern', name])).trim();
  return token;
}

/** A registered connector, which has not reported yet. */
export async function connectorOf(server: Server, cluster: string, more: object = {}): Promise<TestConnector> {
  const connector = await new TestConnector(server, cluster).login();
  const registered = await connector.register(await bootstrap(server, cluster), more);
  expect(registered.code, registered.text).toBe(201);
  return connector;
}

export interface Order {
  readonly name: string;
  readonly claims: OrderClaims;
  readonly object: { readonly metadata: { readonly name: string; readonly resourceVersion: string } };
}

/** Answers an order; undefined for none. */
export type Act = (order: Order) => Promise<OrderAnswer | undefined> | OrderAnswer | undefined;

export class TestConnector {
  readonly cluster: string;
  readonly issuer: ClusterIssuer;
  /** The replica that it uses. */
  server: Server;
  readonly name: string;
  token = '';
  /** Names of the Secrets that exist: one for each order. */
  readonly secrets = new Set<string>();
  /** Replaced by tests. */
  act: Act = (order) => this.issue(order);
  isRevocable = false;
  /** Those that it has begun. */
  readonly orders: Order[] = [];
  #watch: Watch | undefined;
  #running: Promise<void> | undefined;

  constructor(server: Server, cluster: string, { issuer = new ClusterIssuer(), name = 'pod-1' } = {}) {
    this.server = server;
    this.cluster = cluster;
    this.issuer = issuer;
    this.name = name;
  }

  /** `baseUrl`: of the server, if it is not its address. */
  async login(baseUrl = this.server.url): Promise<this> {
    this.token = await this.issuer.projected(connectorAudience(baseUrl, this.cluster));
    return this;
  }

  call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return this.server.call(method, path, { token: this.token, ...options });
  }

  /** Registers the cluster with a bootstrap token of its name. */
  async register(bootstrapToken: string, more: object = {}): Promise<Answer> {
    const id = bootstrapTokenId(bootstrapToken) ?? '';
    const claim = JSON.stringify({ token: this.token, keys: this.issuer.keys, ...more });
    const metadata = { name: this.cluster, annotations: { [CONNECTOR_ANNOTATION]: claim } };
    const body = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata };
    return this.server.call('POST', `${BOOTSTRAP}/${id}/cluster`, { token: bootstrapToken, body });
  }

  async report(status: object = {}): Promise<Answer> {
    const renewed = { renewTime: new Date().toISOString(), contract: 1, ready: true, revocable: this.isRevocable };
    const path = `${CONNECTORS}/${this.cluster}/status`;
    return this.call('PATCH', path, { body: { status: { ...renewed, ...status } } });
  }

  /** Reports, and answers orders until `stop`. */
  async start(status: { readonly revocable?: boolean; readonly people?: string[] } = {}): Promise<this> {
    this.isRevocable = status.revocable === true;
    const reported = await this.report(status);
    expect(reported.code, reported.text).toBe(200);
    await this.watch();
    return this;
  }

  async watch(): Promise<void> {
    this.#watch = await Watch.open(this.server, `${ordersOf(this.cluster)}?watch=true`, this.token);
    expect(this.#watch.code).toBe(200);
    const watch = this.#watch;
    this.#running = (async () => {
      for (let event = await watch.next(); event !== undefined; event = await watch.next()) {
        if (event.type === 'DELETED') this.secrets.delete(event.object.metadata.name);
        if (event.type === 'ADDED' && event.object.status?.claimedBy === undefined) void this.#do(event.object);
      }
    })();
  }

  /** As a process that is killed: what it has claimed is not answered. */
  async stop(): Promise<void> {
    this.#watch?.close();
    await this.#running;
  }

  async #do(object: Order['object']): Promise<void> {
    const order = await this.read(object);
    this.orders.push(order);
    if ((await this.claim(order)).code !== 200) return;
    const answer = await this.act(order);
    if (answer !== undefined) await this.answer(order, answer);
  }

  /** Verifies an order as a connector must. */
  async read(object: Order['object'] & { spec?: { order?: string } }): Promise<Order> {
    const { name } = object.metadata;
    const set = await this.server.call('GET', `/orchestrator/${this.cluster}/openid/v1/jwks`, { token: null });
    const { payload, protectedHeader } = await compactVerify(object.spec?.order ?? '', createLocalJWKSet(set.json));
    expect(protectedHeader.typ).toBe(ORDER_TYPE);
    return { name, object, claims: JSON.parse(Buffer.from(payload).toString()) };
  }

  patch(name: string, status: object, metadata: object = {}): Promise<Answer> {
    const path = `${ordersOf(this.cluster)}/${name}/status`;
    return this.call('PATCH', path, { body: { metadata, status } });
  }

  claim({ name, object: { metadata } }: Order): Promise<Answer> {
    const status = { claimedBy: this.name, claimTime: new Date().toISOString() };
    return this.patch(name, status, { resourceVersion: metadata.resourceVersion });
  }

  async answer(order: Order, answer: OrderAnswer): Promise<Answer> {
    return this.patch(order.name, { answer: await this.seal(order, answer) });
  }

  /** Only the process that waits can read it. */
  async seal({ claims }: Order, answer: OrderAnswer): Promise<string> {
    return new CompactEncrypt(Buffer.from(JSON.stringify(answer)))
      .setProtectedHeader(ANSWER_ALGORITHMS)
      .encrypt(await importJWK(claims.answerKey as JWK, 'ECDH-ES'));
  }

  /** What the API server of the cluster answers. */
  async issue({ name, claims }: Order): Promise<OrderAnswer> {
    const { request, person } = claims;
    const account = person === undefined ? request : undefined;
    const namespace = account?.namespace ?? peopleNamespace(person?.group ?? '');
    const serviceAccount = account?.serviceAccount ?? personAccountName(person?.name ?? '');
    return { order: name, status: 201, body: await this.tokenRequest(name, claims, namespace, serviceAccount) };
  }

  async tokenRequest(order: string, claims: OrderClaims, namespace: string, account: string): Promise<object> {
    const { expirationSeconds = 600, audiences = [] } = claims.request ?? claims.person ?? {};
    const secret = { secret: { name: passSecretName(order), uid: randomUUID() } };
    const isBound = claims.revocable && this.isRevocable && claims.request?.boundObjectRef === undefined;
    if (isBound) this.secrets.add(order);
    const token = await this.issuer.sign(
      {
        iss: ISSUER,
        sub: `system:serviceaccount:${namespace}:${account}`,
        aud: audiences.length === 0 ? [ISSUER] : audiences,
        jti: randomUUID(),
        'kubernetes.io': { namespace, serviceaccount: { name: account, uid: 'uid-there' }, ...(isBound ? secret : {}) },
      },
      expirationSeconds,
    );
    const expirationTimestamp = new Date(Date.now() + expirationSeconds * 1000).toISOString();
    return { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', status: { token, expirationTimestamp } };
  }
}
