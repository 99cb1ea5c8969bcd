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
export function describeCa(caBundle: string | undefined): string {
  if (caBundle === undefined || caBundle === '') return 'none';
  try {
    return certificatesIn(caBundle).join('; ') || 'no certificate';
  } catch {
    return 'a certificate that cannot be read';
  }
}
