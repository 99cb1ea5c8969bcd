import { createHash } from 'node:crypto';
import type { RawAnswer } from './respond.ts';

/** A document with the hash of it: upper-case hexadecimal, as kube-apiserver writes it. */
export interface TaggedBytes {
  readonly bytes: Uint8Array;
  readonly hash: string;
}

export const tagged = (bytes: Uint8Array, algorithm: 'sha256' | 'sha512'): TaggedBytes => ({
  bytes,
  hash: createHash(algorithm).update(bytes).digest('hex').toUpperCase(),
});

export const entityTag = ({ hash }: TaggedBytes): string => `"${hash}"`;

/** The document, or 304 for a client that has it already (RFC 9110 section 13.1.2). */
export function unlessKnown(
  document: TaggedBytes,
  ifNoneMatch: string | undefined,
  headers: RawAnswer['headers'],
): RawAnswer {
  const known = ifNoneMatch !== undefined && names(ifNoneMatch, entityTag(document));
  return known
    ? { type: 'raw', code: 304, headers, body: '' }
    : { type: 'raw', code: 200, headers, body: document.bytes };
}

/** The comparison is weak: a proxy that compresses marks the tag with `W/`. */
const names = (ifNoneMatch: string, tag: string): boolean =>
  ifNoneMatch.split(',').some((part) => {
    const text = part.trim();
    return text === '*' || text.replace(/^W\//, '') === tag;
  });
