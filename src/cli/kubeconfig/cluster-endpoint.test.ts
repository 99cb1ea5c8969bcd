import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { localAddressTo } from './cluster-endpoint.ts';

it('is the remote address that the server sees', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const seen = once(server, 'connection').then(([socket]) => socket.remoteAddress);
  const address = await localAddressTo(`http://127.0.0.1:${port}/base`);
  expect(address).toBe(await seen);
  server.close();
  await once(server, 'close');
  expect(await localAddressTo(`http://127.0.0.1:${port}`)).toBeUndefined();
});
