import { randomBytes } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { COMPUTED_ANNOTATIONS } from '../../api/clusters/annotations.ts';
import {
  authenticationConfiguration,
  REFUSED_NAMESPACES,
  type TrustOptions,
} from '../../api/clusters/trust-configuration.ts';
import { PEOPLE_PATH } from '../../api/pass-audience.ts';
import type { Client } from '../../client/create-client.ts';
import { fileProblem } from '../../lib/file-problem.ts';
import { terminalSafe } from '../../lib/text.ts';
import { getCluster, publicCluster } from '../clusters.ts';
import { CliError, type Context, type Run, UsageError } from '../command.ts';
import { type Connection, clientFor, resolveConnection } from '../connection/connection.ts';
import { readText, writePrivate } from '../files/files.ts';
import { webhookFiles, webhookSteps } from '../webhook-files.ts';

/** Writes an AuthenticationConfiguration with which an API server accepts tokens of Clusterpass. */
export const run: Run = async (context, invocation) => {
  const [name] = invocation.args;
  const file = invocation.text('file');
  if (invocation.is('refresh')) {
    if (file === undefined) {
      throw new CliError('set --file FILE, the file of --authentication-config, on the machine of the API server');
    }
    await touchAuthenticationFile(resolve(context.cwd, file), context.now());
    context.out.write(`${file} changed: kube-apiserver reads the keys again in about 20 seconds\n`);
    return;
  }
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
  const authority = authorityOf(connection, issuer);
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
  await getCluster(client, name);
  const listed = await publicCluster(client, name);
  const annotations = listed?.metadata.annotations ?? {};
  const issuer = annotations[COMPUTED_ANNOTATIONS.issuer];
  if (listed !== undefined && issuer === undefined) {
    throw new CliError(`${terminalSafe(name)} issues its own tokens: there is nothing to configure`);
  }
  if (issuer === undefined || !isIssuer(issuer)) {
    throw new CliError(`the issuer of ${terminalSafe(name)} is unknown: you need permission to list the cluster`);
  }
  return { issuer, audience: annotations[COMPUTED_ANNOTATIONS.audience] ?? issuer };
}

/** It becomes part of commands and files that an administrator of the cluster uses. */
const isIssuer = (text: string): boolean => URL.canParse(text) && /^[\x21-\x7e]+$/.test(text);

type Authority = Pick<TrustOptions, 'certificateAuthority' | 'reasonForNoCa'>;

/** The CA of the flag or the login. One that the issuer presents could be that of an attacker on the network. */
function authorityOf({ certificateAuthority }: Connection, issuer: string): Authority {
  if (certificateAuthority !== undefined) return { certificateAuthority, reasonForNoCa: '' };
  const isPlain = new URL(issuer).protocol !== 'https:';
  return {
    certificateAuthority: undefined,
    reasonForNoCa: isPlain
      ? 'the issuer has no certificate'
      : 'this machine trusts the issuer by its system CAs; add its CA here if the API server does not trust it',
  };
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
async function touchAuthenticationFile(path: string, now: number): Promise<void> {
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
