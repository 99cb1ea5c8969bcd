import { dirname, resolve } from 'node:path';
import { entryOf, parseKubeconfig, stringField } from '../../api/kubeconfig.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { clip } from '../../lib/text.ts';
import { CliError } from '../command.ts';
import { readGivenFile, readText } from '../files/files.ts';

/** The cluster and the user of one context. Certificates and keys are PEM. */
export interface KubeconfigContext {
  readonly name: string;
  readonly server: string;
  readonly ca: string | undefined;
  readonly tlsServerName: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
  readonly token: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** Reads a context (the current one, if `name` is undefined) and the files that it refers to. */
export async function readContext(file: string, name: string | undefined): Promise<KubeconfigContext> {
  const text = await readText(file);
  if (text === undefined) throw new CliError(`the kubeconfig ${file} does not exist`);
  const config = parseKubeconfig(text);
  if (config === undefined) throw new CliError(`${file} is not a kubeconfig`);
  const contextName = name ?? config.current;
  if (!contextName) throw new CliError(`${file} has no current context: select one with --context`);
  const context = entryOf(config.contexts, contextName);
  if (context === undefined) {
    const names = config.contexts.map(({ name }) => name);
    const meant = didYouMean(contextName, names) || `; it has ${clip(names.join(', ')) || 'none'}`;
    throw new CliError(`${file} has no context ${JSON.stringify(contextName)}${meant}`);
  }
  const cluster = entryOf(config.clusters, stringField(context, 'cluster') ?? '') ?? {};
  const server = stringField(cluster, 'server');
  if (server === undefined) {
    throw new CliError(`the context ${JSON.stringify(contextName)} has no cluster with a server`);
  }
  const user = entryOf(config.users, stringField(context, 'user') ?? '') ?? {};
  const pem = (fields: Fields, field: string): Promise<string | undefined> => readPem(file, fields, field);
  return {
    name: contextName,
    server,
    ca: await pem(cluster, 'certificate-authority'),
    tlsServerName: stringField(cluster, 'tls-server-name'),
    insecureSkipTlsVerify: cluster['insecure-skip-tls-verify'] === true,
    token: stringField(user, 'token') ?? (await readReferenced(file, stringField(user, 'tokenFile')))?.trim(),
    cert: await pem(user, 'client-certificate'),
    key: await pem(user, 'client-key'),
  };
}

/** As in kubectl, `x-data` (base64) takes precedence over `x` (a file). */
async function readPem(file: string, fields: Fields, field: string): Promise<string | undefined> {
  const data = stringField(fields, `${field}-data`);
  return data === undefined
    ? readReferenced(file, stringField(fields, field))
    : Buffer.from(data, 'base64').toString('utf8');
}

/** Paths are relative to the kubeconfig. Unlike the kubeconfig, comments of PEM files may be in any encoding. */
const readReferenced = async (file: string, path: string | undefined): Promise<string | undefined> =>
  path === undefined ? undefined : readGivenFile(resolve(dirname(file), path));
