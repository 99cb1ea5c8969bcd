import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { fakeContext } from '../cli.fixture.ts';
import { Invocation } from '../command.ts';
import { resolveConnection, serverUrl } from './connection.ts';
import { changeLogins, type Logins } from './logins.ts';

describe('the address of a server', () => {
  it.each([
    ['pass.example.com', 'https://pass.example.com'],
    ['https://Pass.Example.com:443/', 'https://pass.example.com'],
    ['http://127.0.0.1:8080//', 'http://127.0.0.1:8080'],
    ['https://pass/base/', 'https://pass/base'],
  ])('%s is %s', (given, url) => {
    expect(serverUrl(given)).toBe(url);
  });

  it.each(['ftp://x', 'https://a:b@x', 'https://x?y', 'https://x#y', 'https://'])('%s is refused', (given) => {
    expect(() => serverUrl(given)).toThrow(/--server/);
  });
});

describe('a connection', () => {
  const A = 'https://a.example';
  let home: string;
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'clusterpass-connection-'));
  });

  const contextWith = async (env: Record<string, string> = {}, logins: Logins['logins'] = {}) => {
    const context = fakeContext({ HOME: home, ...env });
    await changeLogins(context, () => ({ logins }));
    return context;
  };
  const session = {
    ...{ id: 'one', subject: 'jane', issuerUrl: 'https://id.example', clientId: 'c' },
    ...{ refreshAt: Number.MAX_SAFE_INTEGER, expiresAt: Number.MAX_SAFE_INTEGER },
  };

  it.each([
    ['http://localhost:8080', true],
    ['http://127.0.0.2:8080', true],
    ['http://[::1]:8080', true],
    ['http://127.example.com', false],
    ['http://127.0.0.1.example.com', false],
    ['http://10.0.0.1', false],
    ['http://localhost.example.com', false],
  ])('sends a token in the clear to this machine only: %s', async (server, isAllowed) => {
    const context = await contextWith();
    const resolved = resolveConnection(context, new Invocation([], { server, token: 'x' }));
    if (isAllowed) expect((await resolved).server).toBe(server);
    else await expect(resolved).rejects.toThrow('is plain HTTP, which exposes the credential on the network');
    const insecure = new Invocation([], { server, token: 'x', insecureSkipTlsVerify: true });
    expect((await resolveConnection(context, insecure)).server).toBe(server);
  });

  it('takes a token over a file with one, flags over variables, and these over the login', async () => {
    await writeFile(join(home, 'flag'), 'of-the-file\n');
    await writeFile(join(home, 'variable'), 'of-the-file-of-the-variable\n');
    const env = { CLUSTERPASS_TOKEN: 'of-the-variable', CLUSTERPASS_TOKEN_FILE: join(home, 'variable') };
    const context = await contextWith(env, { [A]: { token: 'of-the-login', session } });
    const options: Record<string, unknown> = { server: A, token: 'of-the-flag', tokenFile: join(home, 'flag') };
    const found: unknown[] = [];
    const add = async (changes: Record<string, string> = env): Promise<void> => {
      const from = { ...context, env: { HOME: home, ...changes } };
      const { token, tokenFile, sessionId } = await resolveConnection(from, new Invocation([], options));
      found.push([await token?.(), tokenFile, sessionId]);
    };
    await add();
    delete options.token;
    await add();
    delete options.tokenFile;
    await add();
    await add({ CLUSTERPASS_TOKEN_FILE: env.CLUSTERPASS_TOKEN_FILE });
    await add({});
    expect(found).toEqual([
      ['of-the-flag', undefined, undefined],
      ['of-the-file', join(home, 'flag'), undefined],
      ['of-the-variable', undefined, undefined],
      ['of-the-file-of-the-variable', join(home, 'variable'), undefined],
      ['of-the-login', undefined, 'one'],
    ]);
  });

  it.each(['', ' ', 'two words', 'line\nbreak', 'ü'])('does not send %j as a token, nor repeat it', async (text) => {
    const { token } = await resolveConnection(await contextWith(), new Invocation([], { server: A, token: text }));
    expect(() => token?.()).toThrow('the token of --token is empty or not a bearer token');
  });
});
