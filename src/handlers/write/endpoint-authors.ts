import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '../../api/caller.ts';
import {
  CONFIRMED_FIELD,
  endpointsInForce,
  sameEndpoints,
  writtenEndpoints,
} from '../../api/clusters/confirmed-endpoint.ts';
import { ENDPOINT_AUTHORS_ANNOTATION } from '../../api/domain-keys.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import type { RequestUser } from '../../api/kinds/approval.ts';
import { isClusters } from '../../api/kinds/cluster-spec.ts';
import { forbidden } from '../../api/status.ts';
import { isPersonKnown, isSamePerson, type PeopleParts, unknownPerson, userOf } from '../approvals/people.ts';

export interface EndpointAuthorParts extends PeopleParts {
  readonly productName: string;
  /** `--confirm-endpoints` */
  readonly holdsEndpoints: boolean;
}

/**
 * The object with the people who wrote the endpoints that wait for confirmation: all of them, because a second change
 * may leave a part of the first as it was. The annotation is the server's, and what a client sends for it is ignored.
 */
export function withEndpointAuthors(
  parts: EndpointAuthorParts,
  caller: Caller,
  kind: Kind,
  next: ApiObject,
  current?: ApiObject,
): ApiObject {
  if (!isClusters(kind)) return next;
  const authors = current && authorsAfter(parts, caller, next, current);
  const { [ENDPOINT_AUTHORS_ANNOTATION]: sent, ...others } = next.metadata.annotations ?? {};
  if (sent === authors) return next;
  const annotations = authors === undefined ? others : { ...others, [ENDPOINT_AUTHORS_ANNOTATION]: authors };
  return { ...next, metadata: { ...next.metadata, annotations } };
}

function authorsAfter(
  parts: EndpointAuthorParts,
  caller: Caller,
  next: ApiObject,
  current: ApiObject,
): string | undefined {
  const { productName, holdsEndpoints } = parts;
  const [written, before] = [writtenEndpoints(next, productName), writtenEndpoints(current, productName)];
  if (!holdsEndpoints || sameEndpoints(written, before))
    return current.metadata.annotations?.[ENDPOINT_AUTHORS_ANNOTATION];
  const author = userOf(parts, caller, current.metadata.name ?? '');
  const waits = !sameEndpoints(before, endpointsInForce(current, productName));
  const earlier = waits ? authorsOf(current) : [];
  return JSON.stringify([...earlier.filter((one) => !isDeepStrictEqual(one, author)), author]);
}

function authorsOf({ metadata }: ApiObject): RequestUser[] {
  return JSON.parse(metadata.annotations?.[ENDPOINT_AUTHORS_ANNOTATION] ?? '[]') as RequestUser[];
}

/**
 * With `--confirm-endpoints` another person confirms a change, as in approvals (MC-91). Called with the object that
 * would be stored.
 *
 * @throws ApiError 403
 */
export function checkConfirmer(
  parts: EndpointAuthorParts,
  caller: Caller,
  kind: Kind,
  object: ApiObject,
  old: ApiObject | undefined,
): void {
  const { productName, holdsEndpoints } = parts;
  if (!holdsEndpoints || old === undefined || !isClusters(kind)) return;
  // A change that is written now comes into force at once if it was confirmed before.
  const { [CONFIRMED_FIELD]: held } = (object.spec ?? {}) as Readonly<Record<string, unknown>>;
  const isSame = sameEndpoints(writtenEndpoints(object, productName), endpointsInForce(old, productName));
  if (held !== undefined || isSame) return;
  const name = object.metadata.name ?? '';
  const person = userOf(parts, caller, name);
  if (authorsOf(object).some((author) => isSamePerson(author, person))) {
    throw forbidden(kind, name, 'another person confirms a change of the endpoints: you have written them');
  }
  if (!isPersonKnown(parts, caller)) throw unknownPerson(kind, name);
}
