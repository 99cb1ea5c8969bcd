import { randomBytes, X509Certificate } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { connect, rootCertificates } from 'node:tls';
import { parse } from 'yaml';
import { COMPUTED_ANNOTATIONS } from '../../api/clusters/annotations.ts';
import { addressFor } from '../../api/clusters/choose-endpoint.ts';
import {
  authenticationConfiguration,
  REFUSED_NAMESPACES,
  type TrustOptions,
} from '../../api/clusters/trust-configuration.ts';
import { PEOPLE_PATH } from '../../api/pass-audience.ts';
import type { Client } from '../../client/create-client.ts';
import { requestFailed } from '../../client/errors.ts';
import type { Fetch } from '../../client/transport.ts';
import { endpointsInForce } from '../../client/types.ts';
import { fileProblem } from '../../lib/file-problem.ts';
import { terminalSafe } from '../../lib/text.ts';
import { unverifiableToken } from '../../lib/unverifiable-token.ts';
import { getCluster, publicCluster } from '../clusters.ts';
import { CliError, type Context, type Invocation, type Run, UsageError } from '../command.ts';
import { type Connection, clientFor, resolveConnection } from '../connection/connection.ts';
import { fetchFor } from '../connection/fetch-for.ts';
import { readText, writePrivate } from '../files/files.ts';
import { localAddressTo } from '../kubeconfig/cluster-endpoint.ts';
import { webhookFiles, webhookSteps } from '../webhook-files.ts';

/** Writes an AuthenticationConfiguration with which an API server accepts tokens of Clusterpass. */
export const run: Run = async (context, invocation) => {
  const [name] = invocation.args;
  const file = invocation.text('file');
  if (invocation.is('refresh')) return refresh(context, invocation, name, file);
  if (file !== undefined) throw new CliError('--file is the file that --refresh changes: add --refresh');
  if (name === undefined) throw new CliError('name the cluster: clusterpass trust CLUSTER');
  const allowedNamespaces = invocation.list('allowNamespace');
  for (const namespace of allowedNamespaces) {
    if (!REFUSED_NAMESPACES.includes(namespace))
      throw new UsageError(
        `--allow-namespace ${terminalSafe(namespace)}: only ${REFUSED_NAMESPACES.join()} is refused`,
      );
  }
  const connection = await resolveConnection(context, invocation);
  const client = clientFor(context, connection);
  const { issuer, audience } = await issuerOf(client, name);
  const peopleIssuer = invocation.is('people') ? `${issuer}${PEOPLE_PATH}` : undefined;
  const authority = await authorityFor(context, invocation, connection, issuer);
  if (new URL(issuer).protocol !== 'https:') {
    context.err.write(
      `Warning: ${issuer} is plain HTTP, but kube-apiserver accepts https issuers only: serve with TLS, and set --base-url\n`,
    );
  }
  const folder = invocation.text('webhook');
  if (folder !== undefined) {
    await writeWebhookFiles(context, folder, { cluster: name, issuer, peopleIssuer, ...authority });
    return;
  }
  const trusted = { cluster: name, issuer, audience, allowedNamespaces, peopleIssuer, ...authority };
  context.out.write(authenticationConfiguration(trusted));
};

const TOKEN_BYTES = 32;

/** A file that exists is kept: another token in it would lock the API server out. */
async function writeWebhookFiles(
  context: Context,
  folder: string,
  options: Pick<TrustOptions, 'cluster' | 'issuer' | 'certificateAuthority' | 'peopleIssuer'>,
): Promise<void> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const files = Object.entries(webhookFiles({ ...options, token })).map(
    ([name, text]) => [join(resolve(context.cwd, folder), name), text] as const,
  );
  for (const [path] of files) {
    if ((await readText(path)) !== undefined) throw new CliError(`${path} exists: name another folder`);
  }
  for (const [path, text] of files) await writePrivate(path, text);
  context.out.write(webhookSteps(options, folder));
}

async function issuerOf(client: Client, name: string) {
  // Fails if the cluster does not exist: a typo must not end up in a trusted issuer.
  const cluster = await getCluster(client, name);
  const listed = await publicCluster(client, name);
  const annotations = listed?.metadata.annotations ?? {};
  const issuer = annotations[COMPUTED_ANNOTATIONS.issuer];
  if (listed !== undefined && issuer === undefined) {
    throw new CliError(`${terminalSafe(name)} issues its own tokens: there is nothing to configure`);
  }
  if (issuer === undefined || !isIssuer(issuer)) {
    throw new CliError(`the issuer of ${terminalSafe(name)} is unknown: you need permission to list the cluster`);
  }
  return { issuer, audience: annotations[COMPUTED_ANNOTATIONS.audience] ?? issuer, cluster };
}

/** It becomes part of commands and files that an administrator of the cluster uses. */
const isIssuer = (text: string): boolean => URL.canParse(text) && /^[\x21-\x7e]+$/.test(text);

/** Makes an API server read the key set again, e.g. after a key was revoked. */
async function refresh(
  context: Context,
  invocation: Invocation,
  name: string | undefined,
  file: string | undefined,
): Promise<void> {
  if (name === undefined && file === undefined) {
    throw new CliError(
      'set --file FILE, the file of --authentication-config, on the machine of the API server; or name a cluster',
    );
  }
  if (file !== undefined) {
    await touchAuthenticationFile(resolve(context.cwd, file), context.now());
    context.out.write(`${file} changed: kube-apiserver reads the keys again in about 20 seconds\n`);
  }
  if (name === undefined) return;
  const connection = await resolveConnection(context, invocation);
  const { issuer, audience, cluster } = await issuerOf(clientFor(context, connection), name);
  const { serverEndpoints = [], caBundle } = endpointsInForce(cluster);
  const localAddress = await localAddressTo(connection.server);
  const address = addressFor(serverEndpoints, localAddress);
  if (address === undefined) throw new CliError(`${terminalSafe(name)} has no address`);
  const certificateAuthority = caBundle === undefined ? undefined : Buffer.from(caBundle, 'base64').toString();
  const fetch = fetchFor({ certificateAuthority, insecureSkipTlsVerify: false }, context.env);
  await sendUnverifiableToken(fetch, { address, issuer, audience, now: context.now() });
  context.out.write(
    `${terminalSafe(name)} was sent a token that no key verifies: it reads the keys again if those it has are older than an hour\n`,
  );
  context.err.write(
    'Repeat this in an hour, or change its authentication file now: clusterpass trust --refresh --file FILE\n',
  );
}

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

/**
 * kube-apiserver tries the keys that it has, however old they are. It reads the key set again when it loads its
 * authentication file, and when a token does not verify and its key set is older than `max-age` (an hour).
 */

const MARK = '# clusterpass trust --refresh: ';
const STAMP = /# clusterpass trust --refresh: (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/;

/**
 * Changes a comment in the file of `--authentication-config`, which makes kube-apiserver load it. In place: a container
 * that has the file mounted would not see a new one. The text is valid at every moment, because a comment is appended,
 * or a time is replaced by another of the same length.
 */
export async function touchAuthenticationFile(path: string, now: number): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, 'r+');
    const text = await handle.readFile('utf8');
    requireAuthenticationConfiguration(path, text);
    const stamp = new Date(now).toISOString();
    const found = STAMP.exec(text);
    const [added, at] =
      found === null
        ? [`${text.endsWith('\n') ? '' : '\n'}${MARK}${stamp}\n`, Buffer.byteLength(text)]
        : [stamp, Buffer.byteLength(text.slice(0, found.index)) + MARK.length];
    await handle.write(Buffer.from(added), 0, Buffer.byteLength(added), at);
    await handle.sync();
  } catch (error) {
    throw error instanceof CliError ? error : new CliError(`cannot change ${path}: ${fileProblem(error)}`);
  } finally {
    await handle?.close();
  }
}

function requireAuthenticationConfiguration(path: string, text: string): void {
  let kind: unknown;
  try {
    kind = (parse(text) as { kind?: unknown } | null)?.kind;
  } catch {
    // Reported below.
  }
  if (kind !== 'AuthenticationConfiguration') {
    throw new CliError(`${path} is not an AuthenticationConfiguration: name the file of --authentication-config`);
  }
}

const REFRESH_TIMEOUT_MS = 10_000;

/** Sends the API server a token that no key verifies. The expected answer is 401. */
export async function sendUnverifiableToken(
  fetch: Fetch,
  { address, issuer, audience, now }: { address: string; issuer: string; audience: string; now: number },
): Promise<void> {
  const token = unverifiableToken({ issuer, audience, algorithm: 'ES256', now });
  let status: number;
  try {
    const response = await fetch(`${address.replace(/\/+$/, '')}/version`, {
      headers: { Authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(REFRESH_TIMEOUT_MS),
      redirect: 'error',
    });
    status = response.status;
    await response.body?.cancel();
  } catch (error) {
    throw new CliError(requestFailed(address, error).message);
  }
  if (status !== 401) throw new CliError(`${address} answered ${status} where 401 was expected: is it the API server?`);
}
