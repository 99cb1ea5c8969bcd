import { COMPUTED_ANNOTATIONS } from '../../api/clusters/annotations.ts';
import { CONFIRMED_FIELD, sameEndpoints } from '../../api/clusters/confirmed-endpoint.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import type { ApiObject, Kind, ObjectMeta } from '../../api/kind.ts';
import { type ApiEndpoints, isClusters } from '../../api/kinds/cluster-spec.ts';
import type { ApiRequest } from '../../api/request.ts';
import { forbidden } from '../../api/status.ts';
import { equalJson, type JsonValue } from '../../lib/json.ts';
import { LAST_APPLIED } from '../../objects/patches/apply/last-applied.ts';
import type { WriteParts } from './write-parts.ts';

/**
 * A caller who sees only the public view of a cluster cannot set what the view hides. Otherwise the answer would tell
 * whether a guessed value is right: the same value is no conflict of an apply, does not raise the generation, needs no
 * permission to confirm, and a patch that changes nothing keeps the resourceVersion. The 403 depends on the fields that
 * were sent, not on their values. While a change of the endpoints waits for confirmation, the view shows those in
 * force, and no others can be sent.
 *
 * kubectl keeps the last applied configuration in an annotation of its patches: `withoutLastApplied` drops it.
 */
export function checkHiddenFields(
  { publicView }: Pick<WriteParts, 'publicView'>,
  { caller, target }: ApiRequest,
  kind: Kind,
  { sent, current }: { readonly sent: ApiObject; readonly current: ApiObject },
  write: 'patch' | 'apply',
): void {
  const view = publicView(sent);
  const { annotations, finalizers, generateName, ownerReferences } = sent.metadata;
  // The computed ones are of the base of a patch, and not stored: whether they are shown depends on hidden values.
  const annotationKeys = hiddenKeys(annotations, { ...COMPUTED, ...view.metadata.annotations });
  const hidden = [
    ...hiddenKeys(sent.spec, view.spec).map((name) => `spec.${name}`),
    ...(specOf(current)[CONFIRMED_FIELD] === undefined ? [] : otherEndpoints(sent, publicView(current), write)).map(
      (name) => `spec.${name}, which waits for confirmation,`,
    ),
    ...annotationKeys
      .filter((key) => write === 'apply' || key !== LAST_APPLIED)
      .map((key) => `metadata.annotations[${key}]`),
    ...(finalizers === undefined ? [] : ['metadata.finalizers']),
    ...(generateName === undefined ? [] : ['metadata.generateName']),
    ...(ownerReferences === undefined ? [] : ['metadata.ownerReferences']),
  ];
  const [first] = hidden;
  if (first === undefined) return;
  const { name: username } = caller.as(target.name);
  throw forbidden(
    kind,
    target.name,
    `${first} is hidden from user ${goQuote(username)}, who cannot set it without permission to update the cluster`,
  );
}

/** The annotation stays what it was: kubectl compares it with the next manifest of a caller who sees it. */
export function withoutLastApplied(metadata: ObjectMeta): ObjectMeta {
  const { [LAST_APPLIED]: _, ...annotations } = metadata.annotations ?? {};
  return { ...metadata, annotations };
}

const COMPUTED = Object.fromEntries(Object.values(COMPUTED_ANNOTATIONS).map((key) => [key, '']));

const specOf = ({ spec }: ApiObject): Readonly<Record<string, JsonValue>> => (spec ?? {}) as Record<string, JsonValue>;

/** The name of the endpoints, if other ones are sent than the view shows. */
function otherEndpoints(sent: ApiObject, view: ApiObject, write: 'patch' | 'apply'): string[] {
  const fields = specOf(sent);
  return Object.entries(specOf(view)).flatMap(([name, shown]) => {
    // A configuration without the endpoints does not apply them.
    if (write === 'apply' && fields[name] === undefined) return [];
    return equalJson(fields[name] ?? null, shown) ? [] : [name];
  });
}

function hiddenKeys(sent: unknown, shown: unknown): string[] {
  const names = Object.keys((sent ?? {}) as object);
  return names.filter((name) => !Object.hasOwn((shown ?? {}) as object, name));
}

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
