import type { Caller } from '../../api/caller.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import type { ObjectKey } from '../../api/object-key.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import type { ApiError } from '../../api/status.ts';
import type { DeletionPropagation } from '../../objects/deletion-propagation.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { encode, type PublicView } from '../../objects/stored-object.ts';
import type { Admit, ObjectWriter } from '../../objects/writer.ts';
import type { Views } from '../views.ts';

/** What the writing handlers share. */
export interface WriteParts {
  readonly reader: ObjectReader;
  readonly writer: ObjectWriter;
  readonly propagation: DeletionPropagation;
  readonly views: Views;
  readonly publicView: PublicView;
  /** Refuses rules and bindings that would give more than the caller has itself. */
  readonly escalation: (
    caller: Caller,
    kind: Kind,
    object: ApiObject,
    old: ApiObject | undefined,
  ) => ApiError | undefined;
}

export function objectKeyOf({ target }: ApiRequest, kind: Kind): ObjectKey {
  const { cluster = '', namespace, name } = target;
  return { cluster: kind.inCluster ? cluster : '', namespace, name };
}

/** Nobody gives away more than they hold; asked of exactly what would be stored. */
export function grantsOnlyHeld(parts: WriteParts, { caller }: ApiRequest, kind: Kind): Admit {
  return (object, old) => {
    const refusal = parts.escalation(caller, kind, object, old);
    if (refusal !== undefined) throw refusal;
  };
}

/** Whether the caller is shown all of this object. */
export function seesWhole(
  { views }: Pick<WriteParts, 'views'>,
  { caller, target }: ApiRequest,
  kind: Kind,
  { metadata }: ApiObject,
): boolean {
  const whole = views.whole(kind, caller, target.alwaysPublic);
  return whole === undefined || whole.admits(metadata.name ?? '', metadata.labels);
}

/**
 * Whoever may write an object is not thereby shown all of it: the answer is the caller's usual view, of the object
 * before the write as much as after. A change of labels must not open what it was made from.
 */
export function written(
  parts: WriteParts,
  request: ApiRequest,
  kind: Kind,
  object: ApiObject,
  { code, before }: { code: number; before?: ApiObject | undefined },
): ApiResponse {
  const both = before === undefined ? [object] : [before, object];
  const shown = both.every((one) => seesWhole(parts, request, kind, one)) ? object : parts.publicView(object);
  return { type: 'json', code, json: encode(kind, shown) };
}
