import { MANIFEST_ANNOTATION } from './domain-keys.ts';
import type { ObjectMeta } from './kind.ts';

export const originOf = ({ annotations }: ObjectMeta): string | undefined => annotations?.[MANIFEST_ANNOTATION];

/** The metadata that a client sent, with at most the origin that is stored. */
export function withStoredOrigin(sent: ObjectMeta, stored: ObjectMeta | undefined): ObjectMeta {
  const origin = stored === undefined ? undefined : originOf(stored);
  const { annotations } = sent;
  if (annotations === undefined || !Object.hasOwn(annotations, MANIFEST_ANNOTATION)) return sent;
  if (annotations[MANIFEST_ANNOTATION] === origin) return sent;
  if (origin !== undefined) return { ...sent, annotations: { ...annotations, [MANIFEST_ANNOTATION]: origin } };
  const { annotations: _, ...rest } = sent;
  const others = Object.entries(annotations).filter(([key]) => key !== MANIFEST_ANNOTATION);
  return others.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(others) };
}

export const withOrigin = (metadata: ObjectMeta, origin: string): ObjectMeta => ({
  ...metadata,
  annotations: { ...metadata.annotations, [MANIFEST_ANNOTATION]: origin },
});
