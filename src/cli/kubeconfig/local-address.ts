import { connect } from 'node:net';

const WAIT_MS = 5_000;

/**
 * The address of this machine that it talks to a server from: the one that says in which network the machine is. It has
 * others, of bridges and of virtual machines, that say nothing about that. Undefined when the server cannot be reached.
 */
export function localAddressTo(server: string): Promise<string | undefined> {
  const { hostname, port, protocol } = new URL(server);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve) => {
    const socket = connect({ host, port: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port) });
    const end = (address: string | undefined): void => {
      socket.destroy();
      resolve(address);
    };
    socket.setTimeout(WAIT_MS, () => end(undefined));
    socket.once('error', () => end(undefined));
    socket.once('connect', () => end(socket.localAddress));
  });
}
