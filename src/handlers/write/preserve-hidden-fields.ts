import { CONFIRMED_FIELD, sameEndpoints } from '../../api/clusters/confirmed-endpoint.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { type ApiEndpoints, isClusters } from '../../api/kinds/cluster-spec.ts';
import type { WriteParts } from './write-parts.ts';

/** Whether the body was made from the public view rather than from the whole object. */
type IsPublicView = (sent: ApiObject, current: ApiObject, view: ApiObject) => boolean;

/**
 * A client that reads a public view and sends it back must not erase the hidden fields. The spec keeps them for every
 * client, so that no client loses the reference to the credential by accident: an empty `authInfo` removes it. The
 * metadata keeps them only for a body that was made from a public view: other clients must be able to remove a
 * finalizer.
 */
export function preserveHiddenFields(
  { publicView }: Pick<WriteParts, 'publicView'>,
  kind: Kind,
  sent: ApiObject,
  current: ApiObject,
  isPublicView: IsPublicView,
): ApiObject {
  if (!isClusters(kind)) return sent;
  const view = publicView(current);
  const isPublic = isPublicView(sent, current, view);
  const sentSpec = isPublic ? withWaiting(sent.spec, current.spec, view.spec) : sent.spec;
  const spec = withHidden(sentSpec, current.spec, view.spec);
  const preserved = spec === undefined ? sent : { ...sent, spec };
  if (!isPublic) return preserved;
  const metadata = withHidden(sent.metadata, current.metadata, view.metadata) ?? {};
  const annotations = withHidden(
    sent.metadata.annotations,
    current.metadata.annotations,
    view.metadata.annotations,
  ) as Record<string, string>;
  return { ...preserved, metadata: { ...metadata, annotations } };
}

/**
 * Preserves the hidden fields for a caller who does not see them. Endpoints that wait for confirmation are among them,
 * and stay: `checkHiddenFields` has refused others.
 */
export function preserveUnseenFields(
  parts: Pick<WriteParts, 'publicView'>,
  kind: Kind,
  sent: ApiObject,
  current: ApiObject,
): ApiObject {
  const preserved = preserveHiddenFields(parts, kind, sent, current, () => true);
  const stored = (current.spec ?? {}) as Record<string, unknown>;
  if (!isClusters(kind) || stored[CONFIRMED_FIELD] === undefined) return preserved;
  const shown = Object.keys(parts.publicView(current).spec ?? {});
  const others = Object.entries(preserved.spec ?? {}).filter(([name]) => !shown.includes(name));
  const waiting = Object.entries(stored).filter(([name]) => shown.includes(name));
  return { ...preserved, spec: Object.fromEntries([...others, ...waiting]) };
}

/** A client that sends back the endpoints of the view does not withdraw a waiting change, which the view hides. */
function withWaiting(sent: unknown, current: unknown, view: unknown): unknown {
  const fields = (sent ?? {}) as Record<string, unknown>;
  const [before, shown] = [current, view].map((spec) => (spec ?? {}) as Record<string, ApiEndpoints>);
  const unchanged = Object.entries(shown ?? {}).filter(
    ([name, value]) => fields[name] !== undefined && sameEndpoints(fields[name] as ApiEndpoints, value),
  );
  return unchanged.length === 0
    ? sent
    : { ...fields, ...Object.fromEntries(unchanged.map(([name]) => [name, before?.[name]])) };
}

/** The sent fields, and the present fields that the view hides. */
function withHidden(sent: unknown, current: unknown, view: unknown): Record<string, unknown> | undefined {
  const members = (value: unknown): Record<string, unknown> => ({ ...(value as Record<string, unknown> | undefined) });
  const shown = members(view);
  const hidden = Object.entries(members(current)).filter(([name]) => !Object.hasOwn(shown, name));
  return sent === undefined && hidden.length === 0 ? undefined : { ...Object.fromEntries(hidden), ...members(sent) };
}

/** True for a body with an annotation that only the view has. */
export const looksPublic: IsPublicView = (sent, current, view) => {
  const computed = Object.keys(view.metadata.annotations ?? {}).filter(
    (key) => !Object.hasOwn(current.metadata.annotations ?? {}, key),
  );
  return computed.some((key) => Object.hasOwn(sent.metadata.annotations ?? {}, key));
};
