import type { Kind } from '../../api/kind.ts';
import type { ApiRequest } from '../../api/request.ts';
import type { OwnVerbs } from '../dispatch.ts';
import { getIssuedToken } from './get-issued-token.ts';
import { type RevokeParts, revokeToken } from './revoke-token.ts';

/** Lists and watches are those of every kind; these two have to look whose token it is. */
export const issuedTokenVerbs = (parts: RevokeParts & { readonly kind: Kind }): OwnVerbs =>
  new Map([
    [
      parts.kind,
      {
        get: (request: ApiRequest) => getIssuedToken(parts, request, parts.kind),
        delete: (request: ApiRequest) => revokeToken(parts, request, parts.kind),
      },
    ],
  ]);
