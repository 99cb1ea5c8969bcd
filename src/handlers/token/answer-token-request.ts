import { apiVersionOf, type ObjectMeta } from '../../api/kind.ts';
import { type GrantedTokenRequest, tokenRequestType } from '../../api/kinds/token-request.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { partialMetadata } from '../representation.ts';
import type { TokenInput } from './token-input.ts';

export const CREATED = 201;

/** The object in the path: a service account, or a cluster for a pass of a person. */
export interface TokenHolder {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/** What a token request was granted. `aud`, `iat` and `exp` are those of the token. */
interface GrantedRequest {
  readonly holder: TokenHolder;
  readonly claims: { readonly aud: readonly string[]; readonly iat: number; readonly exp: number };
  /** `""` for a dry run. */
  readonly token: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** T-04, T-05, T-07: the request with what was granted. */
export function grantedTokenRequest(
  sent: TokenInput['sent'],
  { holder, claims, token, now }: GrantedRequest,
): GrantedTokenRequest {
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
export function answerTokenRequest(
  { accept }: Pick<ApiRequest, 'accept'>,
  granted: GrantedTokenRequest,
  sent: TokenInput['sent'],
): ApiResponse {
  const value = accept.as === 'object' ? granted : partialMetadata(granted);
  // Most answers repeat no field of the request, and are in the order of the schema already.
  return { type: 'value', code: CREATED, value, ...(repeatsFields(sent) ? { schema: tokenRequestType } : {}) };
}

const repeatsFields = ({ metadata = {}, spec }: TokenInput['sent']): boolean =>
  Object.keys(metadata).length > 0 || spec?.boundObjectRef !== undefined;
