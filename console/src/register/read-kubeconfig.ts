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

/** Throws an Error with a text for the user. The parser is loaded when it is needed. */
export async function readKubeconfig(text: string): Promise<KubeconfigEntries> {
  const { addressIn, entryOf, parseKubeconfig, stringField } = await import('../../../src/api/kubeconfig.ts');
  const config = parseKubeconfig(text, { withoutUsers: true });
  if (config === undefined) throw new Error('This is not a kubeconfig: it is not YAML.');
  const entries = config.contexts.flatMap(({ name: context, fields }) => {
    const cluster = entryOf(config.clusters, stringField(fields, 'cluster')) ?? {};
    const { server, caBundle } = addressIn(cluster) ?? {};
    if (server === undefined) return [];
    const ca = caBundle === undefined ? '' : fromBundle(caBundle);
    return [{ context, server, ca, note: noteOf(cluster, ca, stringField(cluster, 'certificate-authority')) }];
  });
  if (entries.length === 0) throw new Error('This is not a kubeconfig with a context and the server of its cluster.');
  return { entries, current: config.current };
}

function noteOf(cluster: Readonly<Record<string, unknown>>, ca: string, file: string | undefined): string {
  if (cluster['insecure-skip-tls-verify'] === true) {
    return 'This context does not verify the certificate of the server. Clients of Clusterpass do: enter the CA.';
  }
  return ca === '' && file !== undefined ? `The CA of this context is in the file ${file}: paste its content.` : '';
}
