import type { JsonObject } from '../../lib/json.ts';
import type { Issuers } from '../../tokens/claims.ts';

/** Whether the token claims to be of this server, for an account or for a person. */
export const isIssuedHere = ({ iss }: JsonObject, { clusterOfIssuer, clusterOfPeopleIssuer }: Issuers): boolean =>
  typeof iss === 'string' && (clusterOfIssuer(iss) ?? clusterOfPeopleIssuer(iss)) !== undefined;
