import { createHash } from 'node:crypto';
import { type RawAnswer, rawAnswer } from './respond.ts';

/** A document with its hash, in upper-case hexadecimal as kube-apiserver writes it. */
export interface TaggedBytes {
  readonly bytes: Uint8Array;
  readonly hash: string;
}

export const tagged = (bytes: Uint8Array, algorithm: 'sha256' | 'sha512'): TaggedBytes => ({
  bytes,
  hash: createHash(algorithm).update(bytes).digest('hex').toUpperCase(),
});

export const entityTag = ({ hash }: TaggedBytes): string => `"${hash}"`;

/** The document with its tag, or 304 for a client that has it. */
export function unlessKnown(
  document: TaggedBytes,
  ifNoneMatch: string | undefined,
  headers: RawAnswer['headers'],
): RawAnswer {
  const ETag = entityTag(document);
  const answered = { ETag, ...headers };
  return isKnown(ifNoneMatch, [ETag]) ? rawAnswer(304, answered) : rawAnswer(200, answered, document.bytes);
}

/**
 * Whether `If-None-Match` has one of these tags (RFC 9110 section 13.1.2). The comparison is weak: a proxy that
 * compresses marks the tag with `W/`.
 */
export const isKnown = (ifNoneMatch: string | undefined, tags: readonly string[]): boolean =>
  ifNoneMatch?.split(',').some((part) => {
    const tag = part.trim().replace(/^W\//, '');
    return tag === '*' || tags.includes(tag);
  }) === true;
