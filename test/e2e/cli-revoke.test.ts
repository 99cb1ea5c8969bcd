import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { Person } from './support/cli.ts';
import { type Server, startServer, tokenOf } from './support/server.ts';
import { bind, codeFor, createWorld, issue } from './support/token-world.ts';

let server: Server;
let admin: Person;
let jane: Person;

beforeAll(async () => {
  server = await startServer({ users: { jane: [] } });
  await createWorld(server);
  await bind(server, 'jane-issues', { kind: 'User', name: 'jane' });
  [admin, jane] = await Promise.all([Person.as(server), Person.as(server, 'jane')]);
});
afterAll(async () => {
  await Promise.all([admin.leave(), jane.leave(), server.destroy()]);
});

const CREATE = ['create', 'token', 'builder', '-n', 'ci', '--cluster', 'alpha'];
const jtiOf = (token: string): string => decodeJwt(token).jti ?? '';

describe('clusterpass token', () => {
  it('a tracked token is listed, and taken back by its id', async () => {
    const { stdout, stderr } = await jane.run([...CREATE, '--tracked']);
    const token = stdout.trim();
    const jti = jtiOf(token);
    expect(stderr).toBe(`Tracked: clusterpass token revoke ${jti} takes it back.\n`);

    const rows = (await jane.ok(['token', 'list'])).split('\n').map((row) => row.split(/ {2,}/));
    expect(rows[0]).toEqual(['NAME', 'CLUSTER', 'ACCOUNT', 'AUDIENCE', 'CALLER', 'ISSUED', 'EXPIRES']);
    expect(rows[1]?.slice(0, 5)).toEqual([jti, 'alpha', 'ci/builder', `${server.url}/orchestrator/alpha`, 'jane']);
    expect(await admin.ok(['token', 'list', '-o', 'name', '--cluster', 'alpha'])).toBe(
      `issuedtoken.clusterpass.dev/${jti}\n`,
    );
    expect(await admin.run(['token', 'list', '--cluster', 'beta'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No resources found\n',
    });

    expect(await jane.ok(['token', 'revoke', jti.toUpperCase()])).toBe(`token ${jti} revoked\n`);
    expect(await codeFor(server, token)).toBe(401);
  });

  it('a token on stdin is taken back, and neither printed nor sent', async () => {
    const token = await issue(server);
    const result = await admin.run(['token', 'revoke', '-'], { stdin: `${token}\n` });
    expect(result).toEqual({ code: 0, stdout: `token ${jtiOf(token)} revoked\n`, stderr: '' });
    expect(await codeFor(server, token)).toBe(401);
    const id = randomUUID();
    expect(await admin.ok(['token', 'revoke', '-'], { stdin: id })).toBe(`token ${id} revoked\n`);
    expect(server.output.stderr).not.toContain('eyJ');
  });

  it('a token of somebody else is not said to be revoked: who believes it does not ask here', async () => {
    const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const jti = randomUUID();
    for (const iss of [
      'https://kubernetes.default.svc.cluster.local',
      'https://elsewhere.example/orchestrator/alpha',
      `${server.url}/orchestrator/../alpha`,
      `${server.url}/nowhere/alpha`,
      `${server.url}/orchestrator/alpha/`,
    ]) {
      const stdin = `${segment({ alg: 'ES256' })}.${segment({ jti, iss })}.c2ln`;
      const { code, stdout, stderr } = await admin.run(['token', 'revoke', '-'], { stdin });
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toBe(`error: token ${jti} was issued by ${iss}, and can be revoked only there\n`);
    }
  });

  it('one that may not be revoked does not stop the others', async () => {
    const token = (await jane.ok([...CREATE, '--tracked'])).trim();
    const unknown = randomUUID();
    const { code, stdout, stderr } = await jane.run(['token', 'revoke', unknown, jtiOf(token)]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: `token ${jtiOf(token)} revoked\n` });
    expect(stderr).toContain(`issuedtokens.clusterpass.dev "${unknown}" is forbidden`);
  });

  it('what is neither a token nor an id is not repeated', async () => {
    for (const stdin of ['', 'secret', 'a.secret.c', `eyJh.${Buffer.from('{"jti":1}').toString('base64url')}.secret`]) {
      expect(await admin.fails(['token', 'revoke', '-'], { stdin })).toBe(
        'error: what is on stdin is neither a token nor the id of one (a UUID, the claim jti)\n',
      );
    }
    expect(await admin.fails(['token', 'revoke', randomUUID(), 'secret'])).toBe(
      'error: argument 2 is neither a token nor the id of one (a UUID, the claim jti)\n',
    );
    expect(await admin.fails(['token', 'revoke', '-', '--token-file', '-'])).toContain(
      'stdin can be the token to revoke',
    );
    await writeFile(join(jane.home, 'token'), tokenOf('jane'));
    const other = await jane.fails(['token', 'revoke', '-', '--token-file', 'token'], { stdin: randomUUID() });
    expect(other).toContain('is forbidden');
  });
});

it('the typed client', async () => {
  const client = createClient({ server: server.url, token: tokenOf('jane') });
  const account = { cluster: 'alpha', namespace: 'ci', name: 'builder' };
  const { token } = await client.createToken({ ...account, tracked: true, audiences: ['vault'] });
  const [tracked, ...others] = await client.listIssuedTokens({ fieldSelector: 'spec.cluster=alpha' });
  expect(others).toEqual([]);
  expect([tracked?.metadata.name, tracked?.spec.audiences]).toEqual([jtiOf(token), ['vault']]);
  await client.revokeToken(jtiOf(token));
  expect(await client.listIssuedTokens()).toEqual([]);
  await expect(client.revokeToken(randomUUID())).rejects.toMatchObject({ code: 403 });
  await expect(client.revokeToken('../clusters/alpha')).rejects.toThrow(TypeError);
});
