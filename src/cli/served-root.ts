import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { connect, rootCertificates } from 'node:tls';

/** The authority that signed what a server shows: its certificate, or that it is a public one, or why nobody knows. */
export type ServedRoot = { readonly certificate: string } | { readonly isPublic: true } | { readonly problem: string };

const TIMEOUT_MS = 10_000;

/** The certificate is verified with what this machine trusts: nobody is believed for what he says of himself. */
export function servedRoot({ host, port }: { host: string; port: number }): Promise<ServedRoot> {
  const address = host.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const socket = connect({
      host: address,
      port,
      timeout: TIMEOUT_MS,
      ...(isIP(address) === 0 ? { servername: address } : {}),
    });
    const settle = (root: ServedRoot): void => {
      socket.destroy();
      resolve(root);
    };
    socket.on('error', (error) => settle({ problem: error.message }));
    socket.on('timeout', () => settle({ problem: 'no answer' }));
    socket.on('secureConnect', () => {
      // The detailed form goes on to the authority that this machine knows, also where the server does not send it.
      let { raw, issuerCertificate } = socket.getPeerCertificate(true);
      while (issuerCertificate !== undefined && !issuerCertificate.raw.equals(raw)) {
        ({ raw, issuerCertificate } = issuerCertificate);
      }
      const certificate = new X509Certificate(raw);
      const isRoot = certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey);
      const text = certificate.toString();
      const isPublic = rootCertificates.some((known) => known.trim() === text.trim());
      settle(isRoot && !isPublic ? { certificate: text } : { isPublic: true });
    });
  });
}
