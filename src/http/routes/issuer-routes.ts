import { isClusterName } from '../../api/names.ts';
import { PEOPLE_PATH } from '../../api/pass-audience.ts';
import type { IssuerDocuments } from '../../tokens/issuer-documents.ts';
import { chosenType } from '../request/negotiate.ts';
import { rawAnswer } from '../response/respond.ts';
import type { PathRequest, PathRoute, PathRoutes } from './routes.ts';

const JSON_TYPE = 'application/json';
/** RFC 7517 section 8.5.2. Clients ask for a key set as either type (O-04). */
const KEY_SET_TYPE = 'application/jwk-set+json';

const CONFIGURATION = '/.well-known/openid-configuration';
const AUTHORIZATION_SERVER = '/.well-known/oauth-authorization-server';

/**
 * The documents of the server and of each cluster's issuer (OpenID Connect Discovery, RFC 8414). They are public, and
 * served for every valid name of a cluster: they do not reveal which clusters exist.
 */
export function issuerRoutes(documents: () => IssuerDocuments, productName: string): PathRoutes {
  // RFC 8414 section 3.1: the path of the issuer comes after the well-known path, not before it.
  const metadataOfCluster = `${AUTHORIZATION_SERVER}/${productName}/`;
  const clusterIn = (path: string): string | undefined =>
    path.startsWith(metadataOfCluster) ? path.slice(metadataOfCluster.length) : undefined;
  const route = (
    types: readonly [string, ...string[]],
    body: (documents: IssuerDocuments, cluster: string | undefined) => Uint8Array | string,
  ): PathRoute => ({
    public: true,
    refusesBadCredentials: true,
    handle: ({ accept, cluster, path }: PathRequest) => {
      const issuer = documents();
      const headers = {
        'Content-Type': chosenType(accept, types),
        'Cache-Control': issuer.cacheControl,
        ...(types.length > 1 ? { Vary: 'Accept' } : {}),
      };
      return rawAnswer(200, headers, body(issuer, clusterIn(path) ?? cluster));
    },
  });
  const routes: ReadonlyMap<string, PathRoute> = new Map([
    [CONFIGURATION, route([JSON_TYPE], (issuer, cluster) => issuer.configuration(cluster))],
    ['/openid/v1/jwks', route([KEY_SET_TYPE, JSON_TYPE], (issuer) => issuer.keySet())],
  ]);
  const people = route([JSON_TYPE], (issuer, cluster) => issuer.people(cluster ?? ''));
  const metadata = route([JSON_TYPE], (issuer, cluster) => issuer.authorizationServer(cluster));
  return ({ cluster, path }) => {
    if (cluster !== undefined) {
      if (!isClusterName(cluster)) return undefined;
      return path === `${PEOPLE_PATH}${CONFIGURATION}` ? people : routes.get(path);
    }
    if (path === AUTHORIZATION_SERVER) return metadata;
    const named = clusterIn(path);
    if (named !== undefined) return isClusterName(named) ? metadata : undefined;
    return routes.get(path);
  };
}
