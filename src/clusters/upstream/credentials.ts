import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { CredentialReference } from '../../api/kinds/cluster-spec.ts';
import { isDns1123Label, isDns1123Subdomain } from '../../api/names.ts';
import { Secret } from '../../observability/secret.ts';
import { UpstreamError } from './upstream-contract.ts';

/** The credential of Clusterpass at a cluster: a bearer token, or a client certificate with its key (PEM). */
export type Credential =
  | { readonly type: 'token'; readonly token: Secret }
  | { readonly type: 'certificate'; readonly cert: Buffer; readonly key: Secret; readonly digest: string };

export interface Credentials {
  /** Reads the files at each use, so that a renewed credential is used at once and a removed one no longer. */
  read(reference: CredentialReference): Promise<Credential>;
}

interface CredentialsOptions {
  /** `--credentials-dir`; undefined without it. */
  readonly dir: string | undefined;
  /** The content of a file that only this user can read; undefined when it does not exist. Throws when it is unsafe. */
  readonly readSecret: (path: string) => Promise<Buffer | undefined>;
  /** Receives details that callers must not see, such as paths. */
  readonly report: (problem: { message: string; error?: unknown }) => void;
}

/** RFC 6750 section 2.1. Other characters cannot be sent in this header. */
const BEARER = /^[A-Za-z0-9\-._~+/]+=*$/;

/** Credentials in files: `<dir>/<namespace>/<name>/token`, or `tls.crt` and `tls.key` there. */
export function createCredentials({ dir, readSecret, report }: CredentialsOptions): Credentials {
  const unusable = (message: string, error?: unknown): UpstreamError => {
    report({ message, error });
    return new UpstreamError(
      'credential',
      'the credential that it names cannot be used; the log of Clusterpass says why',
    );
  };
  const readFile = async (path: string): Promise<Buffer | undefined> => {
    try {
      return await readSecret(path);
    } catch (error) {
      throw unusable(`the credential ${path} cannot be used`, error);
    }
  };
  return {
    read: async ({ namespace, name }) => {
      if (dir === undefined) throw new UpstreamError('credential', 'Clusterpass was started without --credentials-dir');
      // The names come from an object, and must not lead out of the directory.
      if (isDns1123Label(namespace).length > 0 || isDns1123Subdomain(name).length > 0) {
        throw new UpstreamError(
          'credential',
          'spec.authInfo.controller must have the namespace and the name of a credential, as valid names',
        );
      }
      const folder = join(dir, namespace, name);
      const token = await readFile(join(folder, 'token'));
      if (token !== undefined) {
        const text = token.toString('latin1').trim();
        if (!BEARER.test(text)) throw unusable(`${join(folder, 'token')} does not hold one bearer token`);
        return { type: 'token', token: new Secret(text) };
      }
      const [cert, key] = await Promise.all([readFile(join(folder, 'tls.crt')), readFile(join(folder, 'tls.key'))]);
      if (cert === undefined || key === undefined) {
        const missing = cert === undefined && key === undefined ? 'token, nor tls.crt and tls.key,' : 'complete pair';
        throw unusable(`there is no ${missing} in ${folder}`);
      }
      return {
        type: 'certificate',
        cert,
        key: new Secret(key.toString('latin1')),
        digest: createHash('sha256').update(cert).update('\0').update(key).digest('hex'),
      };
    },
  };
}
