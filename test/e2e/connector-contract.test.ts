import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CompactEncrypt, compactVerify, createLocalJWKSet, importJWK, type JWK } from 'jose';
import { beforeAll, expect, it } from 'vitest';
import { bootstrapTokenId } from '../../src/api/bootstrap-credential.ts';
import { CONNECTOR_CONTRACT } from '../../src/api/connector.ts';
import { bootstrap, ClusterIssuer } from './support/connector.ts';
import { asUser, bind } from './support/objects.ts';
import type { Answer } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';
import { Watch } from './support/watch.ts';

/**
 * Connectors of every contract so far, which no release of the server may leave behind: what each sends is in a file
 * that does not change, with what it reads of the answers. Nothing of the contract is taken from the code of today.
 */

type Json = Readonly<Record<string, unknown>>;

interface Step {
  /** For the message of a failure. */
  readonly does: string;
  /** The caller that sends it; the connector if absent. */
  readonly as?: string;
  readonly method?: string;
  readonly path?: string;
  readonly type?: string;
  readonly body?: unknown;
  readonly code?: number;
  readonly answer?: Json;
  /** The path of the watch that the connector keeps open. */
  readonly watch?: string;
  readonly event?: Json;
  /** A caller asks for a token there, and waits. */
  readonly ask?: string;
  /** What the caller got. */
  readonly got?: Json;
  /** A signed order, and what a connector verifies and reads of it. */
  readonly order?: string;
  readonly header?: Json;
  readonly seconds?: number;
  readonly claims?: Json;
  /** Claims of a token that the cluster signs. */
  readonly token?: Record<string, unknown>;
  /** The header of an encrypted answer. */
  readonly seal?: { readonly alg: string; readonly enc: string };
  readonly plaintext?: unknown;
}

const server = sharedServer();

beforeAll(async () => {
  await bind(server, 'creator', { kind: 'User', name: 'creator' });
  const userpass = { verbs: ['create'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters/userpass'] };
  await bind(server, 'people', { kind: 'Group', name: 'system:authenticated' }, userpass);
});

const stepsOf = (contract: number): Step[] =>
  readFileSync(join(import.meta.dirname, `../fixtures/connector-contract-${contract}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => JSON.parse(line));

/** The names in braces, and what they stand for. */
class Values {
  readonly #values = new Map<string, string>();

  set(name: string, value: string): void {
    this.#values.set(name, value);
  }

  /** The recorded value with the values of now. */
  fill<T>(recorded: T): T {
    if (typeof recorded === 'string') {
      return recorded.replaceAll(/\{(\w+)\}/g, (all, name: string) => this.#values.get(name) ?? all) as T;
    }
    if (Array.isArray(recorded)) return recorded.map((each) => this.fill(each)) as T;
    if (typeof recorded !== 'object' || recorded === null) return recorded;
    return Object.fromEntries(Object.entries(recorded).map(([name, value]) => [name, this.fill(value)])) as T;
  }

  /** Everything that was recorded is there. What is new is ignored, as by the connector. */
  expect(found: unknown, recorded: Json, does: string): void {
    this.#learn(found, recorded);
    expect(found, does).toMatchObject(this.fill(recorded));
  }

  #learn(found: unknown, recorded: unknown): void {
    const [, name] = (typeof recorded === 'string' && /^\{(\w+)\}$/.exec(recorded)) || [];
    if (name !== undefined && typeof found === 'string' && !this.#values.has(name)) this.#values.set(name, found);
    if (typeof recorded !== 'object' || recorded === null) return;
    for (const [key, value] of Object.entries(recorded)) this.#learn((found as Json | undefined)?.[key], value);
  }
}

async function replay(steps: readonly Step[]): Promise<void> {
  const issuer = new ClusterIssuer();
  const keys = JSON.stringify(issuer.keys);
  const ownToken = await issuer.projected(`${server.url}/connectors/frozen`);
  const bootstrapToken = await bootstrap(server, 'frozen');
  const values = new Values();
  values.set('base', server.url);
  values.set('bootstrapId', bootstrapTokenId(bootstrapToken) ?? '');
  values.set('keys', keys);
  values.set('claim', JSON.stringify({ token: ownToken, orders: true, keys: issuer.keys }));
  const tokens: Record<string, string> = { bootstrap: bootstrapToken, admin: server.adminToken };
  const optionsOf = (name = '') => {
    const token = name === '' ? ownToken : tokens[name];
    return token === undefined ? asUser(name) : { token };
  };
  let answerKey: JWK | undefined;
  let watch: Watch | undefined;
  let asked: Promise<Answer> | undefined;
  for (const { does, as, ...step } of steps) {
    values.set('now', new Date().toISOString());
    if (step.watch !== undefined) {
      watch = await Watch.open(server, values.fill(step.watch), ownToken);
      expect(watch.code, does).toBe(200);
    }
    if (step.event !== undefined) {
      const { event } = step;
      // It needs no event of a change.
      const seen = await watch?.until(({ type }) => type === event.type);
      values.expect(seen?.at(-1), event, does);
    }
    if (step.ask !== undefined) asked = server.call('POST', step.ask, { ...optionsOf(as), body: step.body });
    if (step.got !== undefined) {
      const { code, json } = (await asked) ?? {};
      expect(code, `${does}: ${json?.message}`).toBe(step.code);
      values.expect(json, step.got, does);
    }
    if (step.order !== undefined) {
      const set = await server.call('GET', '/orchestrator/frozen/openid/v1/jwks', { token: null });
      const { payload, protectedHeader } = await compactVerify(values.fill(step.order), createLocalJWKSet(set.json));
      const claims = JSON.parse(Buffer.from(payload).toString());
      expect(protectedHeader, does).toMatchObject(step.header ?? {});
      values.expect(claims, step.claims ?? {}, does);
      expect(claims.exp - claims.iat, does).toBe(step.seconds);
      answerKey = claims.answerKey;
    }
    if (step.token !== undefined) {
      values.set('token', await issuer.sign(values.fill(step.token), 900));
      values.set('end', new Date(Date.now() + 900_000).toISOString());
    }
    if (step.seal !== undefined) {
      const plaintext = Buffer.from(JSON.stringify(values.fill(step.plaintext)));
      const key = await importJWK(answerKey ?? {}, step.seal.alg);
      values.set('sealed', await new CompactEncrypt(plaintext).setProtectedHeader(step.seal).encrypt(key));
    }
    if (step.method === undefined || step.path === undefined) continue;
    const { code, json, text } = await server.call(step.method, values.fill(step.path), {
      ...optionsOf(as),
      ...(step.body === undefined ? {} : { body: values.fill(step.body) }),
      headers: step.type === undefined ? {} : { 'Content-Type': step.type },
    });
    expect(code, `${does}: ${text}`).toBe(step.code);
    values.expect(json, step.answer ?? {}, does);
  }
  watch?.close();
}

it.each(Array.from({ length: CONNECTOR_CONTRACT }, (_, index) => index + 1))(
  'A50: a connector of contract %i, as it was recorded, works',
  (contract) => replay(stepsOf(contract)),
);
