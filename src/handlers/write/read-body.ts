import { type Decoded, decodeBody, decodeValue, type FieldValidation } from '../../api/codec/decode.ts';
import { droppedText } from '../../api/codec/keep-part.ts';
import type { ApiObject, BodyType, Kind, ObjectKey, ObjectMeta, ResourceType } from '../../api/kind.ts';
import { type ApiRequest, NO_BODY, type RequestBody } from '../../api/request.ts';
import { badRequest } from '../../api/status.ts';
import type { JsonValue } from '../../lib/json.ts';
import type { Preconditions } from '../../objects/preconditions.ts';

/** The object of the body, with warnings. One that the server made is checked too: it is stored. */
export function readObject(request: ApiRequest, kind: Kind, mode: FieldValidation): ApiObject {
  const { body = NO_BODY } = request;
  const decoded =
    'value' in body ? decodeValue(body.value as JsonValue, kind, mode) : decodeBody<ApiObject>(body, kind, mode);
  return withWarnings(request, kind, decoded);
}

/**
 * A body of a type that is kept whole, with a warning for each unknown and each duplicate field. A value of the server
 * is of that type.
 */
export function readBody<T extends object = ApiObject>(
  request: { readonly body?: RequestBody | undefined } & Pick<ApiRequest, 'warn'>,
  type: BodyType,
  mode: FieldValidation,
): T {
  const { body = NO_BODY } = request;
  if ('value' in body) return body.value as T;
  const { value, violations, dropped } = decodeBody<T>(body, type, mode);
  for (const violation of violations) request.warn(violation);
  warnOfDropped(request.warn, type, dropped);
  return value;
}

/** Warns of unknown and duplicate fields, and of fields that the kind does not keep. */
export function withWarnings({ warn }: ApiRequest, kind: Kind, decoded: Decoded<ApiObject>): ApiObject {
  for (const violation of decoded.violations) warn(violation);
  warnOfDropped(warn, kind, decoded.dropped);
  return decoded.value;
}

export function warnOfDropped(warn: ApiRequest['warn'], { kind }: BodyType, dropped: readonly string[]): void {
  if (dropped.length > 0) warn(droppedText(kind, dropped));
}

/** T-12h. The namespace is ignored for kinds without one, as kube-apiserver does. */
export function checkNamespace(
  { metadata }: { readonly metadata?: Pick<ObjectMeta, 'namespace'> },
  { namespaced }: Pick<ResourceType, 'namespaced'>,
  namespace: string,
): void {
  const sent = metadata?.namespace ?? '';
  if (namespaced && sent !== '' && sent !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
}

/** M-09: name and namespace of the body must be those of the URL. */
export function checkSameObject(object: ApiObject, kind: Kind, { name, namespace }: ObjectKey): void {
  const sent = object.metadata;
  if ((sent.name ?? '') === '') {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
  if (sent.name !== name) {
    throw badRequest(`the name of the object (${sent.name}) does not match the name on the URL (${name})`);
  }
  if (kind.namespaced && (sent.namespace ?? '') !== '' && sent.namespace !== namespace) {
    throw badRequest(
      `the namespace of the object (${sent.namespace}) does not match the namespace on the request (${namespace})`,
    );
  }
}

/**
 * `uid` and `resourceVersion` of the body are preconditions. An empty text and version 0 mean none, as in
 * kube-apiserver.
 */
export function preconditionsIn({ metadata }: ApiObject): Preconditions {
  const { uid = '', resourceVersion = '' } = metadata;
  return {
    ...(uid === '' ? {} : { uid }),
    ...(resourceVersion === '' || resourceVersion === '0' ? {} : { resourceVersion }),
  };
}
