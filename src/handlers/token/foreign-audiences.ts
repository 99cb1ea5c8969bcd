import type { Authorizer } from '../../api/authorization.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import type { ApiRequest } from '../../api/request.ts';
import type { AudienceCheck } from './validate-token-request.ts';

export interface ForeignAudienceParts {
  /** The cluster of this fleet whose issuer, and so whose API audience, is exactly this text. */
  readonly clusterOfIssuer: (issuer: string) => string | undefined;
  readonly clusterOfPeopleIssuer: (issuer: string) => string | undefined;
  readonly authorizer: Pick<Authorizer, 'decide'>;
}

/**
 * A3: the audience of another cluster of the fleet is refused, unless the caller may create tokens for the account of
 * the same name there: a cluster that trusts the issuers of other clusters would accept the token as that account. The
 * error is the same whether or not the other cluster exists.
 */
export function foreignAudienceCheck(
  { clusterOfIssuer, clusterOfPeopleIssuer, authorizer }: ForeignAudienceParts,
  { caller, target }: ApiRequest,
): AudienceCheck {
  const { namespace, name } = target;
  return (audience) => {
    if (clusterOfPeopleIssuer(audience) !== undefined) return 'is the audience of passes for people';
    const cluster = clusterOfIssuer(audience);
    if (cluster === undefined || cluster === target.cluster) return undefined;
    const token = { verb: 'create', group: '', resource: 'serviceaccounts', subresource: 'token' };
    if (authorizer.decide(caller, { ...token, namespace, name, cluster }).allowed) return undefined;
    const account = goQuote(`${namespace}/${name}`);
    return `is the audience of cluster ${goQuote(cluster)}, where you may not create tokens of ${account}`;
  };
}
