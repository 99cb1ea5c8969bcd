import { MIRRORED_ANNOTATION } from '../../api/domain-keys.ts';
import { invalid, invalidValue, required } from '../../api/field-error.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';

/** A UID of Kubernetes. Tokens have it as a claim. */
const UID = /^[A-Za-z0-9][\w.-]{0,127}$/;

/**
 * The UID of a copy of an object of a cluster: the one that it has there. Undefined for any other object, whose UID the
 * server chooses. The admission of the write refuses a caller who may not create copies.
 */
export function mirroredUid(kind: Kind, { metadata }: ApiObject): string | undefined {
  if (!kind.inCluster || metadata.annotations?.[MIRRORED_ANNOTATION] === undefined) return undefined;
  const { name = '', uid = '' } = metadata;
  if (uid === '') {
    throw invalid(kind, name, [
      required('metadata.uid', `an object with ${MIRRORED_ANNOTATION} has the UID of its cluster`),
    ]);
  }
  if (!UID.test(uid)) {
    const rule = 'must be at most 128 letters, digits, "-", "_" and ".", and begin with a letter or a digit';
    throw invalid(kind, name, [invalidValue('metadata.uid', uid, rule)]);
  }
  return uid;
}
