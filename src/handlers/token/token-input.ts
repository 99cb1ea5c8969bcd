import type { Decision } from '../../api/decision.ts';
import type { GrantedTokenRequest, TokenRequest } from '../../api/kinds/token-request.ts';
import type { ApiRequest } from '../../api/request.ts';

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

/** A token for a pass. */
export interface PassUse {
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
