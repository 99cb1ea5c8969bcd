import { describe, expect, it } from 'vitest';
import type { Client } from '../../client/create-client.ts';
import { StatusError, statusFrom } from '../../client/errors.ts';
import { confirmEndpoints, updateEndpoints, withAddress } from './register.ts';

const at = (clientCIDR: string, host: string) => ({ clientCIDR, serverAddress: `https://${host}` });
const ALL = (host: string) => [at('0.0.0.0/0', host), at('::/0', host)];

describe('a new address of a cluster', () => {
  it('is for the networks of the only address that it had', () => {
    expect(withAddress([at('10.0.0.0/8', 'old')], ALL('new'), false)).toEqual([at('10.0.0.0/8', 'new')]);
    expect(withAddress([], ALL('new'), false)).toEqual(ALL('new'));
  });

  it('is for the networks that are named, of which a new one comes before the others', () => {
    const near = [at('10.0.0.0/8', 'new')];
    expect(withAddress(ALL('old'), near, true)).toEqual([...near, ...ALL('old')]);
    expect(withAddress([at('10.0.0.0/8', 'near'), ...ALL('far')], near, true)).toEqual([...near, ...ALL('far')]);
  });

  it('is for all networks, or refused, if the cluster has several', () => {
    expect(withAddress([at('10.0.0.0/8', 'near'), ...ALL('far')], ALL('new'), false)).toEqual([
      at('10.0.0.0/8', 'near'),
      ...ALL('new'),
    ]);
    const several = [at('10.0.0.0/8', 'a'), at('11.0.0.0/8', 'b')];
    expect(() => withAddress(several, ALL('new'), false)).toThrow('--client-cidr');
  });
});

it('register --update reads the cluster again if a probe has written its status meanwhile', async () => {
  const endpoints = (host: string) => ({ orchestratorApiEndpoints: { serverEndpoints: ALL(host) } });
  const clusterAt = (resourceVersion: string) => ({ metadata: { name: 'a', resourceVersion }, spec: endpoints('old') });
  const [sent, reads]: [unknown[], string[]] = [[], ['1', '2', '3']];
  const request = async (method: string, _: string, { body }: { body?: { metadata: object } } = {}) => {
    if (method === 'GET') return { value: clusterAt(reads.shift() ?? '') };
    sent.push(body?.metadata);
    if (sent.length !== 2) return {};
    throw new StatusError(statusFrom(409, 'the object has been modified'));
  };
  const client = { request, productName: 'orchestrator' } as unknown as Client;
  const drafted = { apiVersion: '', kind: '', metadata: { name: 'a' }, spec: endpoints('new') };
  let printed = '';
  const out = { write: (text: string) => (printed += text) };
  expect(await updateEndpoints({ out } as never, client, drafted, { fieldManager: 'test' }, false)).toBe('updated');
  expect(sent).toMatchObject(['1', '1', '2', '2'].map((resourceVersion) => ({ resourceVersion })));
  expect(printed).toContain('https://new');
});

it('confirm reads the cluster again if only its status has been written meanwhile', async () => {
  const clusterWith = (resourceVersion: string, host: string) => ({
    metadata: { name: 'a', resourceVersion },
    spec: { orchestratorApiEndpoints: { serverEndpoints: ALL(host) } },
  });
  const confirmAfter = async (host: string): Promise<string[]> => {
    const sent: string[] = [];
    const request = async (method: string, _: string, { body }: { body?: { metadata: object } } = {}) => {
      if (method === 'GET') return { value: clusterWith('2', host) };
      sent.push(JSON.stringify(body?.metadata));
      if (sent.length === 1) throw new StatusError(statusFrom(409, 'the object has been modified'));
      return {};
    };
    const client = { request, productName: 'orchestrator' } as unknown as Client;
    await confirmEndpoints(client, clusterWith('1', 'old') as never, {});
    return sent;
  };
  const [first = '', second] = await confirmAfter('old');
  expect(second).toBe(first.replace('"resourceVersion":"1"', '"resourceVersion":"2"'));
  await expect(confirmAfter('new')).rejects.toThrow('the object has been modified');
});
