import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeProtectedHeader } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { Person } from './support/cli.ts';
import { codeFor, createObjects, issue } from './support/objects.ts';
import { grant, may } from './support/rbac.ts';
import { inCluster, review, TOKEN } from './support/reviews.ts';
import type { Answer } from './support/server.ts';
import { sharedTlsServer } from './support/shared-server.ts';
import { keySetOf, signingKeyOf } from './support/signing-keys.ts';
import { Watch } from './support/watch.ts';

/** Signing keys: read, rotated and revoked over HTTP, with kubectl and with clusterpass. */

const KEYS = '/apis/clusterpass.dev/v1alpha1/signingkeys';
const ROTATE = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'SigningKey' };
const FORCE = { ...ROTATE, spec: { force: true } };

interface Shown {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status: { readonly state: string; readonly signsFrom?: string; readonly expires?: string };
}

const server = sharedTlsServer();
let privateScalar: string;

beforeAll(async () => {
  privateScalar = signingKeyOf(server).export({ format: 'jwk' }).d ?? '';
  await createObjects(server);
  const group = 'clusterpass.dev';
  await grant(server, { to: 'viewer', rules: ['get', 'list', 'watch'].map((verb) => may(verb, 'signingkeys', group)) });
  await grant(server, { to: 'keeper', rules: ['create', 'delete'].map((verb) => may(verb, 'signingkeys', group)) });
});

const list = async (): Promise<Shown[]> => (await server.call('GET', KEYS)).json.items;
const named = async (state: string): Promise<string> =>
  (await list()).find(({ status }) => status.state === state)?.metadata.name ?? '';
const rotate = (body: object = ROTATE, token = server.adminToken): Promise<Answer> =>
  server.call('POST', KEYS, { body, token });
const revoke = (name: string, token = server.adminToken, query = ''): Promise<Answer> =>
  server.call('DELETE', `${KEYS}/${name}${query}`, { token });
const reviewed = (token: string) => review(server, inCluster(TOKEN), { spec: { token } }, server.adminToken);
const kidOf = (token: string): string => decodeProtectedHeader(token).kid ?? '';

describe('a SigningKey', () => {
  it('has only public fields, which equal those of the key set', async () => {
    const keys = await list();
    expect(keys.map(({ status }) => status.state).sort()).toEqual(['Current', 'Next']);
    const published = await keySetOf(server);
    for (const key of keys) {
      const { publicKey, ...status } = (key as unknown as { status: Record<string, unknown> }).status;
      expect(publicKey).toEqual(published.find(({ kid }) => kid === key.metadata.name));
      expect(Object.keys(status)).toEqual(
        status.state === 'Current' ? ['algorithm', 'created', 'signsFrom', 'state'] : ['algorithm', 'created', 'state'],
      );
    }
    expect(await named('Current')).toBe(kidOf(await issue(server)));
  });

  it('A1: nothing private, in no form, and not in the database', async () => {
    const current = await named('Current');
    const forms = ['application/json', 'application/yaml', 'application/json;as=Table;g=meta.k8s.io;v=v1'];
    for (const Accept of forms) {
      for (const path of [KEYS, `${KEYS}/${current}`, `${KEYS}/${current}?includeObject=Object`]) {
        const { code, text } = await server.call('GET', path, { headers: { Accept } });
        expect(code).toBe(200);
        expect(text).not.toContain(privateScalar);
        expect(text).not.toMatch(/"d"|privateKey|PRIVATE/);
      }
    }
    for (const file of ['clusterpass.db', 'clusterpass.db-wal']) {
      const bytes = await readFile(join(server.dataDir, file));
      expect(bytes.includes(Buffer.from(privateScalar, 'base64url'))).toBe(false);
      expect(bytes.includes(privateScalar)).toBe(false);
    }
    expect(server.output.stdout + server.output.stderr).not.toContain(privateScalar);
  });
});

describe('rotation', () => {
  it('B9: is scheduled for when every verifier knows the key; a dry run changes nothing', async () => {
    const [current, next] = [await named('Current'), await named('Next')];
    const before = await list();
    const rehearsed = await server.call('POST', `${KEYS}?dryRun=All`, { body: ROTATE });
    expect(rehearsed.json).toMatchObject({ metadata: { name: next }, status: { state: 'Next' } });
    expect(await list()).toEqual(before);
    const { code, json } = await rotate();
    expect(code).toBe(201);
    expect(json).toMatchObject({ kind: 'SigningKey', metadata: { name: next }, status: { state: 'Next' } });
    const wait = Date.parse(json.status.signsFrom) - Date.parse(json.status.created);
    expect(wait).toBe(70 * 60_000);
    expect((await rotate()).json.status.signsFrom).toBe(json.status.signsFrom);
    expect(kidOf(await issue(server))).toBe(current);
  });

  it('C-D: by force happens at once, and tokens of the old key are accepted', async () => {
    const [current, next] = [await named('Current'), await named('Next')];
    const token = await issue(server);
    const { json } = await rotate(FORCE);
    expect(json).toMatchObject({ metadata: { name: next }, status: { state: 'Current' } });
    expect(kidOf(await issue(server))).toBe(next);
    expect(await codeFor(server, token)).toBe(200);
    expect(await reviewed(token)).toMatchObject({ authenticated: true });
    const old = (await list()).find(({ metadata }) => metadata.name === current);
    expect(old?.status.state).toBe('Retired');
    // The longest lifetime is a day, and a key stays for twice as long.
    const left = Date.parse(old?.status.expires ?? '') - Date.now();
    expect(left).toBeGreaterThan(48 * 3_600_000);
    expect(left).toBeLessThan(49 * 3_600_000);
    expect((await keySetOf(server)).length).toBe(3);
  });
});

it('revoking: C-D: the current key: its tokens end at once, also in open watches, and the next key signs', async () => {
  const [current, next] = [await named('Current'), await named('Next')];
  const token = await issue(server);
  expect(await codeFor(server, token)).toBe(200);
  const watch = await Watch.open(server, '/auth/v1/clusters?watch=true', token);
  expect(watch.code).toBe(200);
  const { code, json } = await revoke(current);
  expect([code, json.status, json.details.name]).toEqual([200, 'Success', current]);
  expect(await codeFor(server, token)).toBe(401);
  expect(await reviewed(token)).toEqual({ user: {}, error: expect.stringContaining('no keys found') });
  const events = await watch.until(() => false);
  expect(events.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 401 } });
  expect(kidOf(await issue(server))).toBe(next);
  expect((await keySetOf(server)).map(({ kid }) => kid)).not.toContain(current);
  expect((await server.call('GET', `${KEYS}/${current}`)).code).toBe(404);
  expect((await revoke(current)).code).toBe(404);
});

it('A43: the command line: lists, rotates and revokes', async () => {
  const person = await Person.at({
    CLUSTERPASS_SERVER: server.url,
    CLUSTERPASS_TOKEN: server.adminToken,
    NODE_EXTRA_CA_CERTS: join(import.meta.dirname, 'support/tls/ca.crt'),
  });
  const current = await named('Current');
  const [header, first, second] = (await person.ok(['keys', 'list'])).split('\n');
  expect(header).toMatch(/^NAME +STATE +ALGORITHM +SIGNS FROM +EXPIRES +AGE$/);
  expect(first).toMatch(new RegExp(`^${current} +Current +ES256 +20\\S+Z +<none> +\\d+s$`));
  expect(second).toMatch(/ Next +ES256 +<none> /);
  expect(await person.ok(['keys', 'rotate', '--dry-run', 'server'])).toMatch(
    / signs from 20\S+Z on \(server dry run\)\n$/,
  );
  expect(await person.ok(['keys', 'rotate', '--force'])).toBe(`${await named('Current')} signs from now on\n`);
  const { code, stdout, stderr } = await person.run(['keys', 'revoke', current]);
  expect([code, stdout]).toEqual([0, `${current} revoked\n`]);
  // A cluster does not notice, so the command says what to do.
  expect(stderr).toContain('Clusters do not notice');
  expect(stderr).toContain('clusterpass trust --refresh --file FILE');
  expect(await person.fails(['keys', 'revoke', current])).toContain('not found');
  expect(await person.fails(['keys', 'revoke', '../ring'])).toContain('is not the ID of a key');
});
