import { connect } from 'node:net';

const TIMEOUT_MS = 5_000;

/**
 * The local address of a connection to a server; undefined when the server cannot be reached. It tells which network
 * the machine is in. The other addresses of the machine may be those of bridges and virtual machines.
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
    socket.setTimeout(TIMEOUT_MS, () => end(undefined));
    socket.once('error', () => end(undefined));
    socket.once('connect', () => end(socket.localAddress));
  });
}
