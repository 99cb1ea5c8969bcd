import type { Catalog } from '../../api/catalog.ts';
import { toJson } from '../../api/codec/encode.ts';
import { pathOf } from '../../handlers/discovery/documents.ts';
import { type Realm, type ServedVersion, servedVersions } from '../../handlers/discovery/served-resources.ts';
import { openApiDocument } from '../../handlers/openapi/document.ts';
import { SWAGGER_PROTOBUF, swaggerDocument, swaggerProtobuf } from '../../handlers/openapi/swagger.ts';
import { chosenType, parseAccept } from '../request/negotiate.ts';
import { type TaggedBytes, tagged, unlessKnown } from '../response/entity-tag.ts';
import { type RawAnswer, textAnswer } from '../response/respond.ts';
import type { PathRequest, PathRoute, PathRoutes } from './routes.ts';

interface OpenApiOptions {
  readonly catalog: Catalog;
  /** The first segment of the prefix of a cluster. */
  readonly productName: string;
  /** Of the program, e.g. `0.1.0`. */
  readonly version: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

const ROOT = '/openapi/v3';
const SWAGGER = '/openapi/v2';
const YEAR_MS = 365 * 24 * 60 * 60 * 1000;
const JSON_TYPE = 'application/json';

/**
 * `/openapi/v3`: an index, and a document for each group version (X-17). The index names each document with its hash,
 * so that clients can cache a document for good and still see that of a new program at once. Clients validate objects
 * with `/openapi/v2`.
 */
export function openApiRoutes({ catalog, productName, version, now }: OpenApiOptions): PathRoutes {
  const fleet = documentsOf(catalog, 'fleet', version);
  const inCluster = documentsOf(catalog, 'cluster', version);
  const documentsFor = (cluster: string | undefined) => (cluster === undefined ? fleet : inCluster);
  const addressOf = (cluster: string | undefined, path: string, { hash }: TaggedBytes): string =>
    `${cluster === undefined ? '' : `/${productName}/${encodeURIComponent(cluster)}`}${ROOT}${path}?hash=${hash}`;

  const index: PathRoute = {
    public: false,
    handle: (request) => {
      chosenType(request.accept, [JSON_TYPE]);
      // Small, and different for each cluster, so it is generated for each request.
      const paths = [...documentsFor(request.cluster).byPath()].map(([path, document]) => [
        path.slice(1),
        { serverRelativeURL: addressOf(request.cluster, path, document) },
      ]);
      const whole = jsonDocument({ paths: Object.fromEntries(paths) });
      return unlessKnown(whole, request.ifNoneMatch, { 'Content-Type': JSON_TYPE });
    },
  };

  const documentRoute = (path: string, document: TaggedBytes): PathRoute => ({
    public: false,
    handle: (request) => {
      chosenType(request.accept, [JSON_TYPE]);
      const hash = request.query.get('hash') ?? '';
      if (hash !== '' && hash !== document.hash) return moved(addressOf(request.cluster, path, document));
      return unlessKnown(document, request.ifNoneMatch, {
        'Content-Type': JSON_TYPE,
        Vary: 'Accept',
        ...(hash === ''
          ? {}
          : { 'Cache-Control': 'public, immutable', Expires: new Date(now() + YEAR_MS).toUTCString() }),
      });
    },
  });

  const swagger: PathRoute = {
    public: false,
    handle: (request) => {
      const isProtobuf = asksFor(request, Object.values(SWAGGER_PROTOBUF));
      if (!isProtobuf) chosenType(request.accept, [JSON_TYPE]);
      const documents = documentsFor(request.cluster);
      const chosen = isProtobuf ? documents.swaggerProtobuf() : documents.swaggerJson();
      return unlessKnown(chosen, request.ifNoneMatch, {
        'Content-Type': isProtobuf ? SWAGGER_PROTOBUF.answered : JSON_TYPE,
        Vary: 'Accept',
      });
    },
  };

  return ({ cluster, path }) => {
    if (path === ROOT) return index;
    if (path === SWAGGER) return swagger;
    if (!path.startsWith(`${ROOT}/`)) return undefined;
    const below = path.slice(ROOT.length);
    const document = documentsFor(cluster).byPath().get(below);
    return document === undefined ? undefined : documentRoute(below, document);
  };
}

/** The documents of a realm. Each is generated when it is first requested: all together take 0.1 s of CPU. */
function documentsOf(catalog: Catalog, realm: Realm, program: string) {
  const versions = describedVersions(catalog, realm);
  return {
    /** The documents of OpenAPI v3, by the path of their group version. */
    byPath: once(
      (): ReadonlyMap<string, TaggedBytes> =>
        new Map(versions.map((served) => [pathOf(served), jsonDocument(openApiDocument(served, program))])),
    ),
    swaggerJson: once(() => jsonDocument(swaggerDocument(versions, program))),
    swaggerProtobuf: once(() => tagged(swaggerProtobuf(swaggerDocument(versions, program)), 'sha512')),
  };
}

const jsonDocument = (value: unknown): TaggedBytes => tagged(Buffer.from(toJson(value)), 'sha512');

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Of the request only the name of the cluster is in the address, escaped. */
const moved = (location: string): RawAnswer =>
  textAnswer(301, 'the document has changed and is at the address in the Location header\n', { Location: location });

const asksFor = ({ accept }: PathRequest, mediaTypes: readonly string[]): boolean => {
  const [best] = parseAccept(accept ?? '');
  return best !== undefined && mediaTypes.includes(`${best.type}/${best.subtype}`);
};

/**
 * Where the PATCH of a namespace validates fields, kubectl takes a kind without PATCH for a custom resource and looks
 * for its definition, which is a 404 here. So the document of the fleet, which has such kinds, is without that PATCH.
 */
function describedVersions(catalog: Catalog, realm: Realm): ServedVersion[] {
  const versions = servedVersions(catalog, realm);
  if (realm === 'cluster') return versions;
  return versions.map((served) => ({
    ...served,
    resources: served.resources.map((resource) =>
      resource.kind === catalog.namespaces
        ? { ...resource, verbs: resource.verbs.filter((verb) => verb !== 'patch') }
        : resource,
    ),
  }));
}
