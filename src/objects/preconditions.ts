import type { ApiObject, Kind } from '../api/kind.ts';
import { type ApiError, conflict, invalid, invalidValue } from '../api/status.ts';

/** What a writer expects of the current object. An empty text expects nothing. */
export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** Whether the writer expects anything. */
export const hasPreconditions = ({ uid = '', resourceVersion = '' }: Preconditions): boolean =>
  uid !== '' || resourceVersion !== '';

/** @throws ApiError 409 if the object is not what the writer expects; 422 for a resourceVersion that is no version. */
export function checkPreconditions(
  kind: Kind,
  { metadata }: ApiObject,
  preconditions: Preconditions | undefined,
): void {
  const { name = '', uid, resourceVersion } = metadata;
  const wanted = { uid: preconditions?.uid ?? '', resourceVersion: preconditions?.resourceVersion ?? '' };
  if (wanted.resourceVersion !== '' && !/^[0-9]{1,16}$/.test(wanted.resourceVersion)) {
    const why = 'must be the resourceVersion of the object as it was read';
    throw invalid(kind, name, [invalidValue('metadata.resourceVersion', wanted.resourceVersion, why)]);
  }
  if (wanted.uid !== '' && wanted.uid !== uid) {
    const why = `Precondition failed: UID in precondition: ${wanted.uid}, UID in object meta: ${uid}`;
    throw conflict(kind, name, why);
  }
  if (wanted.resourceVersion !== '' && wanted.resourceVersion !== resourceVersion) throw modified(kind, name);
}

/** Z-05 */
export const modified = (kind: Kind, name: string): ApiError =>
  conflict(kind, name, 'the object has been modified; please apply your changes to the latest version and try again');
