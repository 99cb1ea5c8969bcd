import type { ApiObject, Kind } from '../../api/kind.ts';
import type { WriteParts } from './write-parts.ts';

/** Whether what was sent was made from the public view rather than from the whole object. */
type IsPublicView = (sent: ApiObject, current: ApiObject, view: ApiObject) => boolean;

/**
 * Whoever read a public view and sends it back has not asked for what was hidden to be erased. Of the spec
 * that holds for everyone, as an object without its credentials' reference would be a trap: an empty
 * `authInfo` asks for it to go. Of the metadata it holds for what was made from a public view: others must
 * be able to take away a finalizer.
 */
export function preserveHiddenFields(
  { publicView }: Pick<WriteParts, 'publicView'>,
  kind: Kind,
  sent: ApiObject,
  current: ApiObject,
  isPublicView: IsPublicView,
): ApiObject {
  if (kind.resource !== 'clusters') return sent;
  const view = publicView(current);
  const spec = withHidden(sent.spec, current.spec, view.spec);
  const kept = spec === undefined ? sent : { ...sent, spec };
  if (!isPublicView(sent, current, view)) return kept;
  const metadata = withHidden(sent.metadata, current.metadata, view.metadata) ?? {};
  const annotations = withHidden(
    sent.metadata.annotations,
    current.metadata.annotations,
    view.metadata.annotations,
  ) as Record<string, string>;
  return { ...kept, metadata: { ...metadata, annotations } };
}

/** What was sent, and besides it what there is and the view does not show. */
function withHidden(sent: unknown, current: unknown, view: unknown): Record<string, unknown> | undefined {
  const members = (value: unknown): Record<string, unknown> => ({ ...(value as Record<string, unknown> | undefined) });
  const shown = members(view);
  const hidden = Object.entries(members(current)).filter(([name]) => !Object.hasOwn(shown, name));
  return sent === undefined && hidden.length === 0 ? undefined : { ...Object.fromEntries(hidden), ...members(sent) };
}

/** What an object says of itself: it has an annotation that only the view makes. */
export const looksPublic: IsPublicView = (sent, current, view) => {
  const made = Object.keys(view.metadata.annotations ?? {}).filter(
    (key) => !Object.hasOwn(current.metadata.annotations ?? {}, key),
  );
  return made.some((key) => Object.hasOwn(sent.metadata.annotations ?? {}, key));
};
