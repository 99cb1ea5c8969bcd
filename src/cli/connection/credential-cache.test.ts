import { mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { ConnectionError, StatusError, statusFrom } from '../../client/errors.ts';
import type { IssuedToken } from '../../client/types.ts';
import { fakeContext } from '../cli.fixture.ts';
import type { Context } from '../command.ts';
import {
  type CredentialSource,
  cachedCredential,
  credentialFile,
  deleteCredential,
  deleteCredentials,
  type Verdict,
} from './credential-cache.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'clusterpass-cache-'));
});

const MINUTE = 60_000;

const fileOf = (context: Context, server = 'https://pass') => credentialFile(context, server, ['jane']);

/** Issues tokens for an hour, as a server whose clock is a day ahead. */
function issuer(context: { time: number }) {
  let count = 0;
  return {
    count: () => count,
    check: async (): Promise<Verdict> => 'accepted',
    issue: async (): Promise<IssuedToken> => {
      const issuedAt = context.time + 24 * 60 * MINUTE;
      return {
        token: `token-${++count}`,
        expirationTimestamp: new Date(issuedAt + 60 * MINUTE).toISOString(),
        issuedAt,
        warnings: [],
        tokenRequest: { apiVersion: '', kind: 'TokenRequest' },
      };
    },
  };
}

describe('cached credentials', () => {
  it('are used for 80 % of their lifetime, even if the clocks differ', async () => {
    const context = fakeContext({ XDG_CACHE_HOME: home });
    const source = issuer(context);
    const get = () => cachedCredential(context, fileOf(context), source);
    expect(await get()).toMatchObject({ token: 'token-1', refreshAt: context.time + 48 * MINUTE });
    context.time += 48 * MINUTE - 1;
    expect((await get()).token).toBe('token-1');
    context.time += 1;
    expect((await get()).token).toBe('token-2');
    expect(source.count()).toBe(2);
  });

  it('are requested once for concurrent callers', async () => {
    const context = fakeContext({ XDG_CACHE_HOME: home });
    const source = issuer(context);
    await Promise.all(Array.from({ length: 8 }, () => cachedCredential(context, fileOf(context), source)));
    expect(source.count()).toBe(1);
  });

  it('are replaced if the file is malformed', async () => {
    const context = fakeContext({ XDG_CACHE_HOME: home });
    const source = issuer(context);
    await cachedCredential(context, fileOf(context), source);
    const folder = join(home, 'clusterpass/credentials');
    const [server = ''] = await readdir(folder);
    const [file = ''] = await readdir(join(folder, server));
    await writeFile(join(folder, server, file), '{"token":1}');
    expect((await cachedCredential(context, fileOf(context), source)).token).toBe('token-2');
  });

  it('are deleted per server', async () => {
    const context = fakeContext({ XDG_CACHE_HOME: home });
    const source = issuer(context);
    await cachedCredential(context, fileOf(context, 'https://a'), source);
    await cachedCredential(context, fileOf(context, 'https://b'), source);
    await deleteCredentials(context, 'https://a');
    expect((await cachedCredential(context, fileOf(context, 'https://b'), source)).token).toBe('token-2');
    expect((await cachedCredential(context, fileOf(context, 'https://a'), source)).token).toBe('token-3');
  });

  it('are requested again after an error', async () => {
    const context = fakeContext({ XDG_CACHE_HOME: home });
    const issue = async () => {
      throw new Error('refused');
    };
    const failing = cachedCredential(context, fileOf(context, 'https://a'), {
      ...issuer(context),
      issue,
    });
    await expect(failing).rejects.toThrow('refused');
    expect((await cachedCredential(context, fileOf(context, 'https://a'), issuer(context))).token).toBe('token-1');
  });
});

describe('A42: a cached credential that may be revoked', () => {
  /** Answers checks as `verdictOf` says, and notes them. */
  function setUp(verdictOf: (token: string) => Verdict = () => 'accepted') {
    const context = fakeContext({ XDG_CACHE_HOME: home });
    const checks: string[] = [];
    const source: CredentialSource & { count(): number } = {
      ...issuer(context),
      check: async (token) => {
        checks.push(token);
        return verdictOf(token);
      },
    };
    const get = async () => (await cachedCredential(context, fileOf(context), source)).token;
    return { context, checks, source, get };
  }

  it('is checked once a minute', async () => {
    const { context, checks, get } = setUp();
    await get();
    context.time += MINUTE - 1;
    await get();
    expect(checks).toEqual([]);
    context.time += 1;
    await get();
    await get();
    expect(checks).toEqual(['token-1']);
    context.time += MINUTE;
    expect(await get()).toBe('token-1');
    expect(checks).toHaveLength(2);
  });

  it('is checked when the clock was set back, and if its file does not say when it was checked', async () => {
    const { context, checks, get } = setUp();
    await get();
    context.time -= 10 * MINUTE;
    await get();
    expect(checks).toEqual(['token-1']);
    const folder = join(home, 'clusterpass/credentials');
    const [server = ''] = await readdir(folder);
    const [file = ''] = await readdir(join(folder, server));
    const refreshAt = context.time + 10 * MINUTE;
    await writeFile(join(folder, server, file), JSON.stringify({ token: 'token-0', refreshAt }));
    expect(await get()).toBe('token-0');
    expect(checks).toEqual(['token-1', 'token-0']);
  });

  it('is not used once it is refused, though no other can be had', async () => {
    const { context, source, get } = setUp(() => 'refused');
    await get();
    context.time += MINUTE;
    const issue = async () => {
      throw new ConnectionError('away');
    };
    const failing = cachedCredential(context, fileOf(context), { ...source, issue });
    await expect(failing).rejects.toThrow('away');
  });

  it('is replaced when it is refused', async () => {
    const { context, get } = setUp((token) => (token === 'token-1' ? 'refused' : 'accepted'));
    await get();
    context.time += MINUTE;
    expect(await get()).toBe('token-2');
    context.time += MINUTE;
    expect(await get()).toBe('token-2');
  });

  it('is used without an answer, and not checked again for a minute', async () => {
    const { context, checks, get } = setUp(() => 'unknown');
    await get();
    context.time += MINUTE;
    expect([await get(), await get(), await get()]).toEqual(['token-1', 'token-1', 'token-1']);
    expect(checks).toHaveLength(1);
  });

  it('is removed by a 401', async () => {
    const { context, source, get } = setUp();
    await get();
    context.time += MINUTE;
    const issue = async () => {
      throw new StatusError(statusFrom(401, ''));
    };
    const refused = { ...source, issue, check: async () => 'refused' as const };
    await expect(cachedCredential(context, fileOf(context), refused)).rejects.toThrow('401');
    expect(await get()).toBe('token-2');
  });

  it('is removed by --no-cache', async () => {
    const { context, get } = setUp();
    await get();
    await deleteCredential(fileOf(context));
    expect(await get()).toBe('token-2');
  });
});
