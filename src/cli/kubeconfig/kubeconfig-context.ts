import { dirname, resolve } from 'node:path';
import { parseDocument } from 'yaml';
import { CliError } from '../command.ts';
import { readGivenFile, readText } from '../files/files.ts';
import { MAX_ALIASES } from './kubeconfig-file.ts';

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
  // As in kubectl: the first document, and the last of two keys.
  const document = parseDocument(text, { uniqueKeys: false });
  const isWrong = document.errors.some(({ code }) => code !== 'MULTIPLE_DOCS');
  const config: unknown = isWrong ? undefined : document.toJS(MAX_ALIASES);
  if (typeof config !== 'object' || config === null) throw new CliError(`${file} is not a kubeconfig`);
  const root = config as Fields;
  const contextName = name ?? stringField(root, 'current-context');
  if (!contextName) throw new CliError(`${file} has no current context: select one with --context`);
  const context = entry(root, 'contexts', 'context', contextName);
  if (context === undefined) throw new CliError(`${file} has no context ${JSON.stringify(contextName)}`);
  const cluster = entry(root, 'clusters', 'cluster', stringField(context, 'cluster') ?? '');
  const server = stringField(cluster ?? {}, 'server');
  if (cluster === undefined || !server)
    throw new CliError(`the context ${JSON.stringify(contextName)} has no cluster with a server`);
  const user = entry(root, 'users', 'user', stringField(context, 'user') ?? '') ?? {};
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

function entry(root: Fields, section: string, kind: string, name: string): Fields | undefined {
  const list = root[section];
  const found = Array.isArray(list) ? (list as Fields[]).find((item) => item?.name === name) : undefined;
  return found?.[kind] as Fields | undefined;
}

function stringField(fields: Fields, field: string): string | undefined {
  const value = fields[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
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
