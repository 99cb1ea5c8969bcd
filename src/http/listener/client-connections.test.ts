import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { LingeringResponse } from '../response/lingering-response.ts';
import { ClientConnections } from './client-connections.ts';

const answerOn = (socket: Socket): LingeringResponse => new LingeringResponse(new IncomingMessage(socket));

it('knows the newest answer of a connection, and whether a caller has authenticated, until it closes', async () => {
  const connections = new ClientConnections();
  const [socket, other] = [new Socket(), new Socket()];
  const [first, second] = [answerOn(socket), answerOn(socket)];
  expect([connections.find(socket), connections.authenticated(socket)]).toEqual([undefined, false]);
  connections.arrived(socket, first);
  connections.arrived(other, answerOn(other));
  expect([connections.authenticated(socket), connections.authenticated(socket)]).toEqual([true, false]);
  connections.arrived(socket, second);
  expect(connections.find(socket)?.newest).toBe(second);
  // A second request on the connection does not make it a new one.
  expect([connections.authenticated(socket), connections.authenticated(other)]).toEqual([false, true]);
  expect(connections.size).toBe(2);
  socket.destroy();
  await expect.poll(() => connections.size).toBe(1);
  expect(connections.find(socket)).toBeUndefined();
});
