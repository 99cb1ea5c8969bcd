import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { connect, rootCertificates } from 'node:tls';
import { fieldSelectorFor, getCluster } from '../clusters.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { type Connection, clientFor, resolveConnection } from '../connection/connection.ts';
import { terminalSafe } from '../output/terminal-safe.ts';
import { authenticationConfiguration, type TrustOptions } from '../trust-configuration.ts';

/** Writes an AuthenticationConfiguration with which an API server accepts tokens of Clusterpass. */
export const run: Run = async (context, invocation) => {
  const [name = ''] = invocation.args;
  const connection = await resolveConnection(context, invocation);
  const client = await clientFor(context, connection);
  // Fails if the cluster does not exist: a typo must not end up in a trusted issuer.
  await getCluster(client, name);
  const { items } = await client.listClusters({ fieldSelector: fieldSelectorFor('metadata.name', name) });
  const annotations = items[0]?.metadata.annotations ?? {};
  const issuer = annotations['clusterpass.dev/issuer'];
  if (items.length > 0 && issuer === undefined) {
    throw new CliError(`${terminalSafe(name)} issues its own tokens: there is nothing to configure`);
  }
  if (issuer === undefined || !URL.canParse(issuer)) {
    throw new CliError(`the issuer of ${terminalSafe(name)} is unknown: you need permission to list the cluster`);
  }
  const authority = await authorityFor(context, invocation, connection, issuer);
  if (new URL(issuer).protocol !== 'https:') {
    context.err.write(
      `Warning: ${issuer} is plain HTTP, but kube-apiserver accepts https issuers only: serve with TLS, and set --base-url\n`,
    );
  }
  const audience = annotations['clusterpass.dev/audience'] ?? issuer;
  context.out.write(authenticationConfiguration({ cluster: name, issuer, audience, ...authority }));
  return undefined;
};

type Authority = Pick<TrustOptions, 'certificateAuthority' | 'reasonForNoCa'>;

/** The CA of the flag or the login, else the root certificate of the issuer if this machine trusts it. */
async function authorityFor(
  context: Context,
  invocation: Invocation,
  connection: Connection,
  issuer: string,
): Promise<Authority> {
  const none = (reasonForNoCa: string): Authority => ({ certificateAuthority: undefined, reasonForNoCa });
  if (connection.certificateAuthority !== undefined) {
    return { certificateAuthority: connection.certificateAuthority, reasonForNoCa: '' };
  }
  const { protocol, hostname, port } = new URL(issuer);
  if (protocol !== 'https:') return none('the issuer has no certificate');
  // An attacker on the network could present another CA, which the cluster would then trust.
  if (invocation.is('insecureSkipTlsVerify')) return none('the certificate of the issuer was not verified');
  const root = await presentedRoot({ host: hostname, port: port === '' ? 443 : Number(port) });
  if ('certificate' in root) return { certificateAuthority: root.certificate, reasonForNoCa: '' };
  if ('problem' in root) context.err.write(`Warning: cannot read the certificate of ${issuer}: ${root.problem}\n`);
  return none(
    'problem' in root
      ? 'the certificate of the issuer could not be read; add its CA here if the API server does not trust it'
      : 'the certificate of the issuer is from a public CA, which is among the system CAs of the API server',
  );
}

/** The root certificate (PEM) of a server's certificate chain, that it is a public CA, or why it is unknown. */
export type PresentedRoot =
  | { readonly certificate: string }
  | { readonly isPublic: true }
  | { readonly problem: string };

const TIMEOUT_MS = 10_000;

/** Verifies the chain with the CAs that this machine trusts: a server cannot confirm its own identity. */
export function presentedRoot({ host, port }: { host: string; port: number }): Promise<PresentedRoot> {
  const address = host.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const socket = connect({
      host: address,
      port,
      timeout: TIMEOUT_MS,
      ...(isIP(address) === 0 ? { servername: address } : {}),
    });
    const settle = (root: PresentedRoot): void => {
      socket.destroy();
      resolve(root);
    };
    socket.on('error', (error) => settle({ problem: error.message }));
    socket.on('timeout', () => settle({ problem: 'timed out' }));
    socket.on('secureConnect', () => {
      // The detailed form includes the root of this machine's trust store, even if the server does not send it.
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
