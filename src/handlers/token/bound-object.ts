import type { Catalog } from '../../api/catalog.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { isGone, type Kind, type ObjectKey } from '../../api/kind.ts';
import type { BoundObjectReference } from '../../api/kinds/token-request.ts';
import { isPathSegmentName } from '../../api/names.ts';
import { badRequest, conflict, forbidden, notFound } from '../../api/status.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';

/**
 * Finds the object and checks that a token of this account may be bound to it, in Kubernetes' order (T-17 to T-21,
 * T-24). Returns the claims of the token.
 */
export async function resolveBoundObject(
  { catalog, reader, now }: { catalog: Catalog; reader: ObjectReader; now: () => number },
  reference: BoundObjectReference,
  { cluster, namespace, name: serviceAccount }: ObjectKey,
) {
  const kind = bindableKind(catalog, reference);
  const name = boundName(reference);
  const bound = await reader.findFresh(kind, { cluster, namespace, name });
  if (bound === undefined) throw notFound(kind, name);
  if (isGone(bound, now())) throw forbidden(kind, name, 'it was deleted, and a token that is bound to it is not valid');
  if (kind === catalog.secrets) {
    checkUid(reference, bound);
    return { secret: { name, uid: bound.uid } };
  }
  if (bound.field('spec.serviceAccountName') !== serviceAccount) {
    throw badRequest(
      `cannot bind token for serviceaccount "${serviceAccount}" to pod running with different serviceaccount name.`,
    );
  }
  checkUid(reference, bound);
  const nodeName = bound.field('spec.nodeName');
  return { pod: { name, uid: bound.uid }, ...(nodeName === '' ? {} : { node: { name: nodeName } }) };
}

/** The checks that need no lookup. */
export function checkReference(catalog: Catalog, reference: BoundObjectReference): void {
  bindableKind(catalog, reference);
  boundName(reference);
}

/** T-18, T-12m. The name becomes part of a storage key, and unlike the names of the path it is not validated yet. */
function boundName({ name = '' }: BoundObjectReference): string {
  if (name === '') throw badRequest('Name parameter required.');
  const problems = isPathSegmentName(name);
  if (problems.length > 0) throw badRequest(`Name parameter invalid: ${goQuote(name)}: ${problems.join(';')}`);
  return name;
}

function bindableKind(catalog: Catalog, { apiVersion = '', kind = '' }: BoundObjectReference): Kind {
  // T-30: only the group matters; an apiVersion that cannot be parsed has none.
  const parts = apiVersion.split('/');
  const [group, version] = parts.length === 2 ? parts : ['', parts.length === 1 ? apiVersion : ''];
  if (group === '' && kind === 'Pod') return catalog.pods;
  if (group === '' && kind === 'Secret') return catalog.secrets;
  throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`);
}

function checkUid({ uid = '', kind = '' }: BoundObjectReference, bound: StoredObject): void {
  if (uid === '' || uid === bound.uid) return;
  // Here `details.kind` is the Kind, not the resource (F-04).
  throw conflict(
    { group: '', resource: kind },
    bound.name,
    `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
  );
}
