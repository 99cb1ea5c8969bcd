import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { closeServersAfterEach, startFixture } from '../http.fixture.ts';
import { AddressLimit, addressKey } from './address-limit.ts';

closeServersAfterEach();

describe('the address that a connection counts for', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
    ['2001:DB8::6', '2001:db8:0:0::/64'],
    ['2001:db8::3:4:5:6:7', '2001:db8:0:3::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    [undefined, ''],
  ])('%s: %s', (address, key) => {
    expect(addressKey(address)).toBe(key);
  });
});

/** A connection of the server, without a client. */
const from = (remoteAddress: string): Socket =>
  Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress });

describe('A21: connections from one address', () => {
  it('are counted while they are open: an address without connections is forgotten', async () => {
    const refused: string[] = [];
    const limit = new AddressLimit(2, (address) => refused.push(address));
    const sockets = ['192.0.2.1', '192.0.2.1', '192.0.2.2'].map((address) => from(address));
    expect(sockets.map((socket) => limit.accept(socket))).toEqual([true, true, true]);
    // It has no handle that could be reset.
    const third = from('192.0.2.1').on('error', () => {});
    expect([limit.accept(third), third.destroyed, refused]).toEqual([false, true, ['192.0.2.1']]);
    expect(limit.size).toBe(2);
    const closed = sockets.map((socket) => once(socket, 'close'));
    for (const socket of sockets.slice(0, 2)) socket.destroy();
    await Promise.all(closed.slice(0, 2));
    expect(limit.size).toBe(1);
    sockets[2]?.destroy();
    await closed[2];
    expect(limit.size).toBe(0);
  });

  it('are closed past the limit, and those from another address are not', async () => {
    const { port, send } = await startFixture(undefined, { maxConnectionsPerAddress: 2 });
    const idle = async (localAddress: string) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      socket.on('error', () => {});
      const closed = new Promise<void>((done) => socket.once('close', () => done()));
      await Promise.race([new Promise<void>((done) => socket.once('connect', () => done())), closed]);
      return { socket, closed };
    };
    const open = [await idle('127.0.0.2'), await idle('127.0.0.2')];
    const third = await idle('127.0.0.2');
    await third.closed;
    expect((await send({ path: '/livez', token: '' })).code).toBe(200);
    open[0]?.socket.destroy();
    // The server notices a moment later.
    for (;;) {
      const next = await idle('127.0.0.2');
      next.socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
      const answered = new Promise<boolean>((resolve) => next.socket.once('data', () => resolve(true)));
      if (await Promise.race([answered, next.closed.then(() => false)])) break;
    }
    open[1]?.socket.destroy();
  });
});
