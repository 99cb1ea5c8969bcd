import type { Catalog } from '../../api/catalog.ts';
import { toJson } from '../../api/codec/encode.ts';
import { toYaml } from '../../api/codec/to-yaml.ts';
import { notAcceptable } from '../../api/status.ts';
import { aggregatedDocuments, legacyDocuments } from '../../handlers/discovery/documents.ts';
import { type Realm, servedVersions } from '../../handlers/discovery/served-resources.ts';
import { type AcceptClause, acceptsType, parseAccept, WRITABLE_NAMES } from '../request/negotiate.ts';
import { type TaggedBytes, tagged, unlessKnown } from '../response/entity-tag.ts';
import { rawAnswer } from '../response/respond.ts';
import type { PathRequest, PathRoute, PathRoutes } from './routes.ts';

/** */
const AGGREGATED = {
  'Content-Type': 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  'Cache-Control': 'public',
  Vary: 'Accept',
} as const;

/** One path of discovery. Both forms are generated once: what is served does not change while the program runs. */
interface Document {
  readonly legacy: object;
  /** Only `/api` and `/apis` have it. */
  readonly aggregated: TaggedBytes | undefined;
}

/**
 * `/api`, `/apis` and the paths below them, at the fleet and below the prefix of a cluster. The answer is the same for
 * every cluster, also for one that does not exist.
 */
export function discoveryRoutes(catalog: Catalog): PathRoutes {
  const realms: Readonly<Record<Realm, ReadonlyMap<string, PathRoute>>> = {
    fleet: routesOf(catalog, 'fleet'),
    cluster: routesOf(catalog, 'cluster'),
  };
  return ({ cluster, path }) => realms[cluster === undefined ? 'fleet' : 'cluster'].get(path);
}

function routesOf(catalog: Catalog, realm: Realm): ReadonlyMap<string, PathRoute> {
  const versions = servedVersions(catalog, realm);
  const aggregated = aggregatedDocuments(versions);
  return new Map(
    [...legacyDocuments(versions)].map(([path, legacy]) => {
      const whole = aggregated.get(path);
      const bytes = whole === undefined ? undefined : tagged(Buffer.from(`${toJson(whole)}\n`), 'sha512');
      const document = { legacy, aggregated: bytes };
      return [path, { public: false, handle: (request) => answer(document, request) }];
    }),
  );
}

/** the first clause that can be met; one that asks for an unknown form is passed over (N-07). */
function answer({ legacy, aggregated }: Document, request: PathRequest): ReturnType<PathRoute['handle']> {
  const json = { type: 'value', code: 200, value: legacy } as const;
  const { accept, ifNoneMatch } = request;
  if (accept === undefined || accept === '') return json;
  for (const clause of parseAccept(accept)) {
    const isJson = acceptsType(clause, 'application/json');
    if (isConverted(clause)) {
      if (isJson && aggregated && asksForAggregated(clause)) return unlessKnown(aggregated, ifNoneMatch, AGGREGATED);
    } else if (isJson) return json;
    else if (acceptsType(clause, 'application/yaml')) {
      return rawAnswer(200, { 'Content-Type': 'application/yaml' }, toYaml(legacy));
    }
  }
  throw notAcceptable(WRITABLE_NAMES);
}

const isConverted = ({ params }: AcceptClause): boolean => params.has('g') || params.has('v') || params.has('as');

const asksForAggregated = ({ params }: AcceptClause): boolean =>
  params.get('g') === 'apidiscovery.k8s.io' && params.get('v') === 'v2' && params.get('as') === 'APIGroupDiscoveryList';
