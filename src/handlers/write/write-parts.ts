import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '../../api/caller.ts';
import { CONFIRMED_FIELD } from '../../api/confirmed-endpoint.ts';
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
  /** Refuses roles, bindings and labels of clusters that grant more than the caller has. */
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

/** Checks the object that would be stored: a caller cannot grant permissions that it does not have. */
export function grantsOnlyHeld(parts: WriteParts, { caller }: ApiRequest, kind: Kind): Admit {
  return (object, old) => {
    const refusal = parts.escalation(caller, kind, object, old);
    if (refusal !== undefined) throw refusal;
  };
}

/** Whether the caller sees the whole object, not only its public view. */
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
 * The permission to write an object does not include to see all of it: the answer is the caller's view. It is the whole
 * object only if the caller may see it whole before and after the write: new labels must not reveal hidden fields.
 */
export function written(
  parts: WriteParts,
  request: ApiRequest,
  kind: Kind,
  object: ApiObject,
  { code, before }: { code: number; before?: ApiObject | undefined },
): ApiResponse {
  const both = before === undefined ? [object] : [before, object];
  if (before !== undefined) warnOfWaitingChange(request, kind, object, before);
  const shown = both.every((one) => seesWhole(parts, request, kind, one)) ? object : parts.publicView(object);
  return { type: 'json', code, json: encode(kind, shown) };
}

/** The response shows the change, which is not in force yet: without a warning the client would rely on it. */
function warnOfWaitingChange({ warn }: ApiRequest, kind: Kind, object: ApiObject, before: ApiObject): void {
  if (kind.resource !== 'clusters') return;
  const [spec, old] = [object, before].map((one) => (one.spec ?? {}) as Readonly<Record<string, unknown>>);
  if (spec?.[CONFIRMED_FIELD] === undefined || isDeepStrictEqual(spec, old)) return;
  warn(
    'the change of the endpoints waits for confirmation, and clients get the confirmed ones meanwhile: ' +
      `clusterpass confirm ${object.metadata.name}`,
  );
}
