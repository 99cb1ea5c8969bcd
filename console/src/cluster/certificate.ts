const PEM = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+?)-----END CERTIFICATE-----/g;

/** The certificates in a bundle of PEM, each as its bytes. */
export function certificatesIn(caBundle: string): Uint8Array<ArrayBuffer>[] {
  const bytes = (base64: string): Uint8Array<ArrayBuffer> =>
    Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  try {
    const text = new TextDecoder('latin1').decode(bytes(caBundle));
    return [...text.matchAll(PEM)].map(([, body = '']) => bytes(body.replaceAll(/\s/g, '')));
  } catch {
    return [];
  }
}

/** Throws where the page is not served securely: then the browser gives it no cryptography. */
export async function fingerprintsOf(caBundle: string): Promise<string[]> {
  return Promise.all(
    certificatesIn(caBundle).map(async (der) => {
      const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', der));
      return [...hash].map((byte) => byte.toString(16).padStart(2, '0').toUpperCase()).join(':');
    }),
  );
}
