import { isClusterName } from '../../api/names.ts';
import type { Issuers } from '../../tokens/claims.ts';
import { OAUTH_PATHS } from '../../tokens/issuer-documents.ts';
import type { FormRoute, FormRoutes } from './form.ts';
import { introspection } from './introspection.ts';
import { revocation } from './revocation.ts';
import { tokenExchange } from './token-exchange.ts';

/** The OAuth endpoints, below the base URL and below the prefix of each cluster. Revocation is for the whole fleet. */
export function formRoutes(issuers: () => Issuers): FormRoutes {
  const routes: ReadonlyMap<string, FormRoute> = new Map([
    [OAUTH_PATHS.token, tokenExchange(issuers)],
    [OAUTH_PATHS.introspection, introspection(issuers)],
  ]);
  const revoke = revocation(issuers, Date.now);
  return ({ cluster, path }) => {
    if (cluster !== undefined && !isClusterName(cluster)) return undefined;
    return cluster === undefined && path === OAUTH_PATHS.revocation ? revoke : routes.get(path);
  };
}
