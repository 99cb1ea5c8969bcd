import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { CONFIRMED_ANNOTATION } from '../../api/confirmed-endpoint.ts';
import { IMPORTED_ANNOTATION } from '../../api/domain-keys.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import type { ApiRequest } from '../../api/request.ts';
import { forbidden } from '../../api/status.ts';
import type { WriteParts } from './write-parts.ts';

/** Annotations whose change needs a further permission. */
const DECIDING: ReadonlySet<string> = new Set([CONFIRMED_ANNOTATION, IMPORTED_ANNOTATION]);

/**
 * A caller who sees only the public view of a cluster cannot set what the view hides. Otherwise the answer would tell
 * whether a guessed value is right: the same value is no conflict of an apply, does not raise the generation, and needs
 * no permission to confirm. The 403 depends on the fields that were sent, not on their values.
 *
 * A patch may set hidden annotations on which its answer does not depend: kubectl keeps the last applied configuration
 * in one. The answer to an apply depends on all of them.
 */
export function checkHiddenFields(
  { publicView }: Pick<WriteParts, 'publicView'>,
  { caller, target }: ApiRequest,
  kind: Kind,
  sent: ApiObject,
  write: 'patch' | 'apply',
): void {
  const view = publicView(sent);
  const { annotations, ownerReferences } = sent.metadata;
  const annotationKeys = hiddenKeys(annotations, view.metadata.annotations);
  const hidden = [
    ...hiddenKeys(sent.spec, view.spec).map((name) => `spec.${name}`),
    ...annotationKeys
      .filter((key) => write === 'apply' || DECIDING.has(key))
      .map((key) => `metadata.annotations[${key}]`),
    ...(write === 'apply' && ownerReferences !== undefined ? ['metadata.ownerReferences'] : []),
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

function hiddenKeys(sent: unknown, shown: unknown): string[] {
  const names = Object.keys((sent ?? {}) as object);
  return names.filter((name) => !Object.hasOwn((shown ?? {}) as object, name));
}
