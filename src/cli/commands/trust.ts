import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { type Connection, clientFor, resolveConnection } from '../connection/connection.ts';
import { printable } from '../output/terminal-safe.ts';
import { servedRoot } from '../served-root.ts';
import { authenticationConfiguration } from '../trust-configuration.ts';
import { getCluster } from './get-clusters.ts';

/** What an API server needs to accept our tokens, ready for its `--authentication-config`. */
export const run: Run = async (context, invocation) => {
  const [name = ''] = invocation.args;
  const connection = await resolveConnection(context, invocation);
  const client = await clientFor(context, connection);
  // A name with a typo in it must not be trusted: the cluster has to be there.
  await getCluster(client, name);
  const { items } = await client.listClusters({ fieldSelector: `metadata.name=${name}` });
  const annotations = items[0]?.metadata.annotations ?? {};
  const issuer = annotations['clusterpass.dev/issuer'];
  if (items.length > 0 && issuer === undefined) {
    throw new CliError(
      `${printable(name)} issues its own tokens, which it accepts as it is: there is nothing to configure`,
    );
  }
  if (issuer === undefined || !URL.canParse(issuer)) {
    throw new CliError(`the server does not tell the issuer of ${printable(name)}: you must be allowed to list it`);
  }
  const authority = await authorityFor(context, invocation, connection, issuer);
  if (new URL(issuer).protocol !== 'https:') {
    context.err.write(
      `Warning: ${issuer} is plain HTTP, and kube-apiserver accepts https issuers only: serve with TLS, and set --base-url\n`,
    );
  }
  const audience = annotations['clusterpass.dev/audience'] ?? issuer;
  context.out.write(authenticationConfiguration({ cluster: name, issuer, audience, ...authority }));
  return undefined;
};

interface Authority {
  readonly certificateAuthority: string | undefined;
  /** For whoever reads the file: why there is none. */
  readonly without: string;
}

/** The given one, that of the login, or the one that the issuer itself shows and this machine trusts. */
async function authorityFor(
  context: Context,
  invocation: Invocation,
  connection: Connection,
  issuer: string,
): Promise<Authority> {
  const none = (without: string): Authority => ({ certificateAuthority: undefined, without });
  if (connection.certificateAuthority !== undefined) {
    return { certificateAuthority: connection.certificateAuthority, without: '' };
  }
  const { protocol, hostname, port } = new URL(issuer);
  if (protocol !== 'https:') return none('the issuer has no certificate');
  // Whoever is in between could show an authority of his own, and the cluster would trust him from then on.
  if (invocation.is('insecureSkipTlsVerify')) return none('the certificate of the issuer was not verified');
  const root = await servedRoot({ host: hostname, port: port === '' ? 443 : Number(port) });
  if ('certificate' in root) return { certificateAuthority: root.certificate, without: '' };
  if ('problem' in root) context.err.write(`Warning: cannot look at the certificate of ${issuer}: ${root.problem}\n`);
  return none(
    'problem' in root
      ? 'the certificate of the issuer could not be looked at; add the authority here if the API server does not know it'
      : 'the certificate of the issuer is from a public authority, which the API server knows from its system',
  );
}
