import { X509Certificate } from 'node:crypto';
import { certificateTexts } from '../../api/kinds/cluster-endpoints.ts';

/** Subject and fingerprint of each certificate, as `openssl x509 -noout -subject -fingerprint -sha256` prints them. */
export function certificatesIn(caBundle: string): string[] {
  return certificateTexts(caBundle).map((text) => {
    const { subject, fingerprint256 } = new X509Certificate(text);
    return `${subject.replaceAll('\n', ', ')} (SHA-256 ${fingerprint256})`;
  });
}

/** The certificates of a bundle in one line. Never throws: the bundle of a kubeconfig may be any text. */
function describeCa(caBundle: string | undefined): string {
  if (caBundle === undefined || caBundle === '') return 'none';
  try {
    return certificatesIn(caBundle).join('; ') || 'no certificate';
  } catch {
    return 'a certificate that cannot be read';
  }
}

/** What kubectl connects to, as a kubeconfig has it. */
interface Destination {
  readonly server?: unknown;
  readonly 'certificate-authority-data'?: unknown;
}

/** A context whose cluster has other endpoints than those that the user accepted. */
export interface EndpointChange {
  readonly contextName: string;
  /** A clause for each change. */
  readonly changes: readonly string[];
  /** A caller who may confirm the endpoints has done so at the server: users need not do it again. */
  readonly isConfirmed: boolean;
}

/**
 * What changed between the destination in a file and the wanted one; empty if nothing did. `accepted` identifies all
 * endpoints of the cluster when the file was written: another address of the same endpoints is no change, because the
 * machine may have moved to another network. It is undefined in files that another program wrote.
 */
export function endpointChanges(
  present: Destination,
  accepted: string | undefined,
  wanted: Destination,
  endpoints: string,
): string[] {
  if (accepted === endpoints) return [];
  const changes: string[] = [];
  if (present.server !== wanted.server) {
    changes.push(`the address changed from ${present.server ?? 'none'} to ${wanted.server ?? 'none'}`);
  }
  const [before, after] = [present, wanted].map((one) => stringField(one['certificate-authority-data']));
  if (before !== after) changes.push(`the CA changed from ${describeCa(before)} to ${describeCa(after)}`);
  if (changes.length === 0 && accepted !== undefined) changes.push('the addresses for other networks changed');
  return changes;
}

const stringField = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
