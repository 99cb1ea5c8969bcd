import type { Decision } from '../../api/decision.ts';
import { apiVersionOf, type ObjectMeta } from '../../api/kind.ts';
import { type GrantedTokenRequest, type TokenRequest, tokenRequestType } from '../../api/kinds/token-request.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { partialMetadata } from '../representation.ts';

/** What is asked for, decoded: a token for the account in the path, or at `clusters/userpass` for the caller. */
export interface TokenInput {
  readonly request: Pick<
    ApiRequest,
    'caller' | 'actor' | 'target' | 'signal' | 'work' | 'warn' | 'annotate' | 'willAnswer'
  >;
  readonly sent: Pick<TokenRequest, 'metadata' | 'spec'>;
  /** Every check is made and nothing is signed. */
  readonly dryRun: boolean;
}

/** What allows a token. */
export interface TokenGrant {
  /** The binding, and how long it allows a pass to last. */
  readonly permission: Pick<Decision, 'grant' | 'passBounds'>;
  /** The pass that is redeemed. */
  readonly pass?: PassUse | undefined;
}

interface PassUse {
  /** Epoch milliseconds: no token outlives the pass. */
  readonly endsAt: number;
  /** The agent, for the claim `act`. */
  readonly agent: string | undefined;
  /** Whether the pass could be for this cluster as well. */
  readonly mayIn: (cluster: string) => boolean;
  /**
   * Stores the id with the pass, before the token leaves. `expiresAt`: epoch milliseconds. A token that its cluster has
   * issued is not `ours`: its id is the word of that cluster, and may be the id of a token of another.
   */
  readonly recordToken: (id: string | undefined, expiresAt: number, issuer: 'ours' | 'cluster') => Promise<void>;
}

/**
 * The TokenRequest with what was granted. It resolves when the audit event is durable (A9), and so is the record of the
 * token, if it has one.
 */
export type IssueToken = (input: TokenInput, grant: TokenGrant) => Promise<GrantedTokenRequest>;

/** That the caller may create the token, as the authorization of the request has decided. */
export function permissionOf({ permission }: Pick<ApiRequest, 'permission'>): TokenGrant {
  if (permission?.allowed !== true) throw new Error('a token is asked for by a request that was not authorized');
  return { permission };
}

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
