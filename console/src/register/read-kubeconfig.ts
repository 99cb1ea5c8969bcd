import { fromBundle } from '../certificates/certificates.ts';

/** The address and the CA of a context. Credentials of the file are not read. */
export interface KubeconfigEntry {
  readonly context: string;
  readonly server: string;
  /** PEM; `""` if the file has none. */
  readonly ca: string;
  /** What the user should know about the entry; `""` if nothing. */
  readonly note: string;
}

interface KubeconfigEntries {
  readonly entries: readonly KubeconfigEntry[];
  /** The name of the current context; `""` if there is none. */
  readonly current: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Throws an Error with a text for the user. The parser is loaded when it is needed. */
export async function readKubeconfig(text: string): Promise<KubeconfigEntries> {
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text);
  const config: unknown = document.errors.length > 0 ? undefined : document.toJS();
  if (typeof config !== 'object' || config === null) throw new Error('This is not a kubeconfig: it is not YAML.');
  const root = config as Fields;
  const clusters = new Map(
    listOf(root, 'clusters').map((item) => [stringField(item, 'name'), fieldsOf(item, 'cluster')]),
  );
  const contexts = listOf(root, 'contexts').map(
    (item) => [stringField(item, 'name'), fieldsOf(item, 'context')] as const,
  );
  const entries = contexts.flatMap(([context, fields]) => {
    const cluster = clusters.get(stringField(fields, 'cluster'));
    const server = stringField(cluster ?? {}, 'server');
    return cluster === undefined || server === '' ? [] : [entryOf(context, server, cluster)];
  });
  if (entries.length === 0) throw new Error('This is not a kubeconfig with a context and the server of its cluster.');
  return { entries, current: stringField(root, 'current-context') };
}

function entryOf(context: string, server: string, cluster: Fields): KubeconfigEntry {
  const data = stringField(cluster, 'certificate-authority-data');
  const file = stringField(cluster, 'certificate-authority');
  const note =
    cluster['insecure-skip-tls-verify'] === true
      ? 'This context does not verify the certificate of the server. Clients of Clusterpass do: enter the CA.'
      : data === '' && file !== ''
        ? `The CA of this context is in the file ${file}: paste its content.`
        : '';
  return { context, server, ca: data === '' ? '' : fromBundle(data), note };
}

const listOf = (fields: Fields, name: string): Fields[] => {
  const list = fields[name];
  return Array.isArray(list) ? list.filter((item) => typeof item === 'object' && item !== null) : [];
};

const fieldsOf = (fields: Fields, name: string): Fields => {
  const value = fields[name];
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
};

const stringField = (fields: Fields, name: string): string => {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
};
