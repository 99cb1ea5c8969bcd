import { connect } from 'node:tls';
import { hostOf, portOf, readDateHeader, type TlsMaterial } from './member.ts';

/**
 * What is wrong if only one of the two, this process or the member, uses TLS; undefined otherwise. The error of such a
 * connection does not tell: both see bytes that make no sense, or the end of the connection.
 */
export async function tlsMismatch(
  address: string,
  tls: TlsMaterial | undefined,
  withinMs: number,
): Promise<string | undefined> {
  if (tls === undefined) {
    const isTls = await completesHandshake(address, withinMs);
    return isTls ? 'it speaks TLS: set --etcd-cafile to the CA of its certificate' : undefined;
  }
  // A Go server with TLS answers plain HTTP too: 400, without a Date header.
  const isPlain = (await readDateHeader(address, undefined, withinMs)) !== undefined;
  return isPlain ? 'it does not speak TLS: leave out --etcd-cafile, or give etcd a certificate' : undefined;
}

function completesHandshake(address: string, withinMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    // The certificate is not verified, because nothing is sent after the handshake.
    const socket = connect({ host: hostOf(address), port: portOf(address), rejectUnauthorized: false });
    socket.setTimeout(withinMs, () => socket.destroy());
    socket.once('secureConnect', () => {
      resolve(true);
      socket.destroy();
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve(false));
  });
}
