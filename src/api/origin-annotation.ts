import { MANIFEST_ANNOTATION } from './domain-keys.ts';
import type { ObjectMeta } from './kind.ts';

/**
 * `<source>:<file>`, on objects that were created from a file of a manifests folder: only these may be pruned. The
 * server sets it. A client cannot add or change it: a copy of such an object, under another name, would be pruned. It
 * may remove it, and the object then belongs to the API.
 */
export const ORIGIN_ANNOTATION = MANIFEST_ANNOTATION;

export const originOf = ({ annotations }: ObjectMeta): string | undefined => annotations?.[ORIGIN_ANNOTATION];

/** The metadata that a client sent, with at most the origin that is stored. */
export function withStoredOrigin(sent: ObjectMeta, stored: ObjectMeta | undefined): ObjectMeta {
  const origin = stored === undefined ? undefined : originOf(stored);
  const { annotations } = sent;
  if (annotations === undefined || !Object.hasOwn(annotations, ORIGIN_ANNOTATION)) return sent;
  if (annotations[ORIGIN_ANNOTATION] === origin) return sent;
  if (origin !== undefined) return { ...sent, annotations: { ...annotations, [ORIGIN_ANNOTATION]: origin } };
  const { annotations: _, ...rest } = sent;
  const others = Object.entries(annotations).filter(([key]) => key !== ORIGIN_ANNOTATION);
  return others.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(others) };
}

export const withOrigin = (metadata: ObjectMeta, origin: string): ObjectMeta => ({
  ...metadata,
  annotations: { ...metadata.annotations, [ORIGIN_ANNOTATION]: origin },
});
