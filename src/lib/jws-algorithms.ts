/** The algorithms of JWS that are used here, with the bytes of a signature (RFC 7518 sections 3.3 and 3.4). */
export const SIGNATURE_BYTES = {
  ES256: 64,
  ES384: 96,
  /** With a key of 2048 bits, the smallest that is allowed. A larger key has longer signatures. */
  RS256: 256,
} as const;

export type JwsAlgorithm = keyof typeof SIGNATURE_BYTES;

export const JWS_ALGORITHMS = Object.keys(SIGNATURE_BYTES) as readonly JwsAlgorithm[];
