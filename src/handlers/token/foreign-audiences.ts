import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import type { ObjectKey } from '../../api/kind.ts';
import type { AudienceCheck } from './parse-token-request.ts';

export interface ForeignAudienceParts {
  /** The cluster of this fleet whose issuer, and so whose API audience, is exactly this text. */
  readonly clusterOfIssuer: (issuer: string) => string | undefined;
  readonly clusterOfPeopleIssuer: (issuer: string) => string | undefined;
  /** The audience of tokens for `/mcp`. It excludes all others (MC-43). */
  readonly mcpAudience: string;
}

/**
 * A3: the audience of another cluster of the fleet is refused, unless the caller may create tokens for the account of
 * the same name there: a cluster that trusts the issuers of other clusters would accept the token as that account. The
 * error is the same whether or not the other cluster exists.
 */
export function foreignAudienceCheck(
  { clusterOfIssuer, clusterOfPeopleIssuer, mcpAudience }: ForeignAudienceParts,
  account: ObjectKey,
  mayIn: (cluster: string) => boolean,
): AudienceCheck {
  return (audience, all) => {
    if (audience === mcpAudience && all.length > 1)
      return 'must be the only audience: a token for /mcp opens nothing else';
    if (clusterOfPeopleIssuer(audience) !== undefined) return 'is the audience of passes for people';
    const cluster = clusterOfIssuer(audience);
    if (cluster === undefined || cluster === account.cluster || mayIn(cluster)) return undefined;
    const named = goQuote(`${account.namespace}/${account.name}`);
    return `is the audience of cluster ${goQuote(cluster)}, where you may not create tokens of ${named}`;
  };
}
