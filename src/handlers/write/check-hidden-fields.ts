import { COMPUTED_ANNOTATIONS } from '../../api/clusters/annotations.ts';
import { CONFIRMED_FIELD } from '../../api/clusters/confirmed-endpoint.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import type { ApiObject, Kind, ObjectMeta } from '../../api/kind.ts';
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
