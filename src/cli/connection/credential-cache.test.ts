import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { IssuedToken } from '../../client/types.ts';
import { fakeContext } from '../cli.fixture.ts';
import { cachedCredential, deleteCredentials } from './credential-cache.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'clusterpass-cache-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const MINUTE = 60_000;

/** Issues tokens for an hour, as a server whose clock is a day ahead. */
function issuer(context: { time: number }) {
  let count = 0;
  return {
    count: () => count,
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
  it('are used until a minute before they expire, even if the clocks differ', async () => {
    const context = fakeContext({ XDG_CACHE_HOME: home });
    const { issue, count } = issuer(context);
    const get = () => cachedCredential(context, 'https://pass', ['jane'], issue);
    expect(await get()).toEqual({ token: 'token-1', refreshAt: context.time + 59 * MINUTE });
    context.time += 59 * MINUTE - 1;
    expect((await get()).token).toBe('token-1');
    context.time += 1;
    expect((await get()).token).toBe('token-2');
    expect(count()).toBe(2);
  });

  it('are requested once for concurrent callers', async () => {
    const context = fakeContext({ XDG_CACHE_HOME: home });
    const { issue, count } = issuer(context);
    await Promise.all(Array.from({ length: 8 }, () => cachedCredential(context, 'https://pass', ['jane'], issue)));
    expect(count()).toBe(1);
  });

  it('are replaced if the file is malformed', async () => {
    const context = fakeContext({ XDG_CACHE_HOME: home });
    const { issue } = issuer(context);
    await cachedCredential(context, 'https://pass', ['jane'], issue);
    const folder = join(home, 'clusterpass/credentials');
    const [server = ''] = await readdir(folder);
    const [file = ''] = await readdir(join(folder, server));
    await writeFile(join(folder, server, file), '{"token":1}');
    expect((await cachedCredential(context, 'https://pass', ['jane'], issue)).token).toBe('token-2');
  });

  it('are deleted per server', async () => {
    const context = fakeContext({ XDG_CACHE_HOME: home });
    const { issue } = issuer(context);
    await cachedCredential(context, 'https://a', ['jane'], issue);
    await cachedCredential(context, 'https://b', ['jane'], issue);
    await deleteCredentials(context, 'https://a');
    expect((await cachedCredential(context, 'https://b', ['jane'], issue)).token).toBe('token-2');
    expect((await cachedCredential(context, 'https://a', ['jane'], issue)).token).toBe('token-3');
  });

  it('are requested again after an error', async () => {
    const context = fakeContext({ XDG_CACHE_HOME: home });
    const failing = cachedCredential(context, 'https://a', ['jane'], async () => {
      throw new Error('refused');
    });
    await expect(failing).rejects.toThrow('refused');
    expect((await cachedCredential(context, 'https://a', ['jane'], issuer(context).issue)).token).toBe('token-1');
  });
});
