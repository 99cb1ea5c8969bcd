const CERTIFICATE = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+?)-----END CERTIFICATE-----/g;

const decode = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));

const hexOf = (bytes: Uint8Array): string[] => [...bytes].map((byte) => byte.toString(16).padStart(2, '0'));

/** SHA-256. Throws without HTTPS: browsers offer Web Crypto only to secure contexts. */
const sha256 = async (bytes: Uint8Array<ArrayBuffer>): Promise<string[]> =>
  hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));

/** The fingerprint of each certificate in a CA bundle (PEM in base64). */
export async function fingerprintsOf(caBundle: string): Promise<string[]> {
  return Promise.all(
    certificatesIn(caBundle).map(async (der) => (await sha256(der)).map((pair) => pair.toUpperCase()).join(':')),
  );
}

/** `sha256-` and the hash of a text. */
export const digestOf = async (text: string): Promise<string> =>
  `sha256-${(await sha256(new TextEncoder().encode(text))).join('')}`;

/** The certificates of a CA bundle in DER. */
function certificatesIn(caBundle: string): Uint8Array<ArrayBuffer>[] {
  try {
    const pem = new TextDecoder('latin1').decode(decode(caBundle));
    return [...pem.matchAll(CERTIFICATE)].map(([, body = '']) => decode(body.replaceAll(/\s/g, '')));
  } catch {
    return [];
  }
}

/** A PEM text as the API has it. */
export const toBundle = (pem: string): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(pem.endsWith('\n') ? pem : `${pem}\n`)));

/** The PEM text of a bundle; `""` if it is not base64. */
export function fromBundle(caBundle: string): string {
  try {
    return new TextDecoder().decode(decode(caBundle));
  } catch {
    return '';
  }
}
