/** The audience of passes for the API of a cluster: the issuer of the cluster, and below it the one of people. */

/** A cluster name has no slash, so the issuer of people is the issuer of no cluster. */
export const PEOPLE_PATH = '/people';

/** What clusters put before the name and the groups of a person. It ends with its only colon, and is not `system:`. */
export const PEOPLE_PREFIX = 'clusterpass:';

export const MCP_PATH = '/mcp';

/** The audience of tokens for the MCP endpoint: its address (RFC 8707). It excludes all others (MC-43). */
export const mcpAudienceOf = (baseUrl: string): string => `${baseUrl}${MCP_PATH}`;

/** How long a cluster that asks for each pass accepts a revoked one: `clusterpass trust --webhook` prints its flags. */
export const WEBHOOK_SECONDS = 15;

/** The issuers whose passes, for accounts or for people, may have this audience, with the name in each. */
export function issuersFor(audience: string): { readonly issuer: string; readonly cluster: string }[] {
  const ofPeople = audience.endsWith(PEOPLE_PATH) ? [audience.slice(0, -PEOPLE_PATH.length)] : [];
  return [audience, ...ofPeople].flatMap((issuer) => {
    const [, cluster] = /\/([a-z0-9.-]{1,253})$/.exec(issuer) ?? [];
    return cluster === undefined ? [] : [{ issuer, cluster }];
  });
}
