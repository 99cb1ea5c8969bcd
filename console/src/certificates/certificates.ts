const CERTIFICATE = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+?)-----END CERTIFICATE-----/g;

export const decode = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));

const hexOf = (bytes: Uint8Array): string[] => [...bytes].map((byte) => byte.toString(16).padStart(2, '0'));

/** SHA-256. Throws without HTTPS: browsers offer Web Crypto only to secure contexts. */
const sha256 = async (bytes: Uint8Array<ArrayBuffer>): Promise<string[]> =>
  hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));

/** The fingerprint of each certificate in a CA bundle (PEM in base64), and when it ends in epoch milliseconds. */
export const certificatesOf = (caBundle: string): Promise<{ fingerprint: string; endsAt: number }[]> =>
  Promise.all(
    certificatesIn(caBundle).map(async (der) => ({
      fingerprint: (await sha256(der)).map((pair) => pair.toUpperCase()).join(':'),
      endsAt: endOf(der),
    })),
  );

/**
 * The validity: a SEQUENCE of two times (RFC 5280 section 4.1.2.5). Only the author of a certificate could write the
 * same bytes into another field, and could as well write another end.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are tags and lengths of DER
const VALIDITY = /0[\x1e\x20\x22](?:\x17\r\d{12}|\x18\x0f\d{14})Z(?:\x17\r(\d{12})|\x18\x0f(\d{14}))Z/;

/** NaN if it cannot be read. */
function endOf(certificate: Uint8Array): number {
  const [, utcTime = '', generalizedTime] = VALIDITY.exec(new TextDecoder('latin1').decode(certificate)) ?? [];
  // A year of two digits: 50 is 1950.
  const digits = generalizedTime ?? `${utcTime < '50' ? '20' : '19'}${utcTime}`;
  return Date.parse(digits.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/, '$1-$2-$3T$4:$5:$6Z'));
}

/** When the last certificate of a bundle ends; Infinity without one, and if one cannot be read. */
export const bundleEnd = (caBundle: string): number =>
  certificatesIn(caBundle)
    .map(endOf)
    .reduce((last, end) => Math.max(last, end), 0) || Number.POSITIVE_INFINITY;

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
