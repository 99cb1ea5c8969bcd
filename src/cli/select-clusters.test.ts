import { describe, expect, it } from 'vitest';
import type { Client } from '../client/create-client.ts';
import { StatusError, statusFrom } from '../client/errors.ts';
import type { Context } from './command.ts';
import type { NamedServer } from './connection/all-servers.ts';
import { findClusters, fullClusters } from './select-clusters.ts';

/** A server that answers every request with this code. */
function server(name: string, code: number): NamedServer {
  const request = async () => {
    if (code === 200) return { value: { metadata: { name: 'prod' } } };
    throw new StatusError(statusFrom(code, '{}'));
  };
  const client = { request, server: '' } as unknown as Client;
  return {
    name,
    isOneOfSeveral: true,
    client,
    connection: { server: `https://${name}.example` } as NamedServer['connection'],
  };
}

describe('a name at two servers', () => {
  it.each([
    [404, []],
    [403, []],
    [503, ['us']],
    [429, ['us']],
  ])('that one has, and for which the other answers %d', async (code, failed) => {
    const texts: string[] = [];
    const context = { err: { write: (text: string) => texts.push(text) } } as unknown as Context;
    const servers = [server('eu', 200), server('us', code)];
    const choice = { references: [{ name: 'prod', server: undefined }] };
    const result = await findClusters(context, servers, choice, fullClusters());
    expect(result.found.map(({ server: at }) => at.name)).toEqual(['eu']);
    expect(result.failed.map(({ name }) => name)).toEqual(failed);
    expect(texts.join('').includes('server us')).toBe(failed.length > 0);
  });
});
