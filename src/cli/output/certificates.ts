import { X509Certificate } from 'node:crypto';

/** Subject and fingerprint of each certificate, as `openssl x509 -noout -subject -fingerprint -sha256` prints them. */
export function certificatesIn(caBundle: string): string[] {
  const pem = Buffer.from(caBundle, 'base64').toString('latin1');
  const texts = pem.match(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g) ?? [];
  return texts.map((text) => {
    const { subject, fingerprint256 } = new X509Certificate(text);
    return `${subject.replaceAll('\n', ', ')} (SHA-256 ${fingerprint256})`;
  });
}

/** The certificates of a bundle in one line; a file that someone edited may hold anything. */
export function describeCa(caBundle: string | undefined): string {
  if (caBundle === undefined || caBundle === '') return 'none';
  try {
    return certificatesIn(caBundle).join('; ') || 'no certificate';
  } catch {
    return 'a certificate that cannot be read';
  }
}
