import type { JsonObject } from '../../lib/json-object.ts';
import type { Issuers } from '../../tokens/claims.ts';
import { decodeSegment, parseJsonObject, splitToken } from '../../tokens/jws.ts';

/** The payload of a JWT whose signature was not checked; undefined when the text is no JWT. */
export function unverifiedClaims(token: string): JsonObject | undefined {
  const segments = splitToken(token);
  const bytes = segments === undefined ? undefined : decodeSegment(segments.payload);
  return bytes === undefined ? undefined : parseJsonObject(bytes);
}

/** Texts of a claim that may be one text or a list (`aud`). */
export function textsOf(claim: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(claim) ? claim : [claim];
  return list.filter((entry) => typeof entry === 'string');
}

/** Whether the token claims to be of this server: a pass for an account or for a person. */
export const isIssuedHere = ({ iss }: JsonObject, { clusterOfIssuer, clusterOfPeopleIssuer }: Issuers): boolean =>
  typeof iss === 'string' && (clusterOfIssuer(iss) ?? clusterOfPeopleIssuer(iss)) !== undefined;
