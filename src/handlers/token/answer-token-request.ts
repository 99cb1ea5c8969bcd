import { encodeValue } from '../../api/codec/encode.ts';
import { type ApiObject, apiVersionOf, type ObjectMeta } from '../../api/kind.ts';
import { type TokenRequest, tokenRequestType } from '../../api/kinds/token-request.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { partialMetadata } from '../representation.ts';
import { CREATED } from './release-token.ts';

/** What a token request was granted. `aud`, `iat` and `exp` are those of the token. */
interface GrantedRequest {
  /** The object in the path: a service account, or a cluster for a pass of a person. */
  readonly holder: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly claims: { readonly aud: readonly string[]; readonly iat: number; readonly exp: number };
  /** `""` for a dry run. */
  readonly token: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** T-04, T-05, T-07: the request with what was granted. */
export function grantedTokenRequest(sent: TokenRequest, { holder, claims, token, now }: GrantedRequest): ApiObject {
  const { managedFields: _, uid: _uid, ...metadata }: ObjectMeta = sent.metadata ?? {};
  const { name, namespace, uid } = holder;
  return {
    kind: tokenRequestType.kind,
    apiVersion: apiVersionOf(tokenRequestType),
    metadata: {
      ...metadata,
      name,
      ...(namespace === '' ? {} : { namespace }),
      ...(uid === '' ? {} : { uid }),
      creationTimestamp: toTimestamp(now),
    },
    spec: {
      audiences: claims.aud,
      expirationSeconds: claims.exp - claims.iat,
      boundObjectRef: sent.spec?.boundObjectRef ?? null,
    },
    status: { token, expirationTimestamp: toTimestamp(claims.exp * 1000) },
  };
}

/** The whole object, or the metadata if the request asks for no more. */
export function answerTokenRequest({ accept }: ApiRequest, granted: ApiObject, sent: TokenRequest): ApiResponse {
  const { shape, style } = tokenRequestType;
  const object = accept.as === 'object' ? granted : partialMetadata(granted);
  // Most answers repeat no field of the request and are in the order of the schema already. A list of passes takes such
  // an answer as it is.
  if (!repeatsFields(sent)) return { type: 'value', code: CREATED, value: object };
  return { type: 'json', code: CREATED, json: encodeValue(object, shape, style) };
}

const repeatsFields = ({ metadata = {}, spec }: TokenRequest): boolean =>
  Object.keys(metadata).length > 0 || spec?.boundObjectRef !== undefined;
