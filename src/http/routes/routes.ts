import type { Caller } from '../../api/caller.ts';
import type { BodyType } from '../../api/kind.ts';
import type { Accepted, ApiRequest, ApiResponse, Query, Target, ValueResponse, Verb } from '../../api/request.ts';
import type { ApiError } from '../../api/status.ts';
import type { MaybePromise } from '../../lib/promises.ts';
import type { Work } from '../../lib/work-queue.ts';
import type { Method, PathInfo } from '../request/request-info.ts';
import type { RawAnswer } from '../response/respond.ts';

/** What serves which path. The pipeline looks it up; api-server.ts fills it from the catalog and the handlers. */

/**
 * What serves this resource; undefined when there is none of this group, version, resource and scope. Scope is part of
 * the match: a cluster-scoped kind has no namespaced path (CVE-2019-11247).
 */
export type ResourceRoutes = (target: Target) => ResourceRoute | undefined;

export interface ResourceRoute {
  readonly style: BodyType['style'];
  /** The verbs of this subresource; empty when the resource exists and the subresource does not. */
  readonly verbs: ReadonlySet<Verb>;
  /** The forms of an answer besides the plain object. */
  readonly offers: ReadonlySet<Accepted['as']>;
  /** Media types of patches, in the order of the error message. */
  readonly patchTypes: readonly string[];
  /**
   * Present: the route only redirects to a cluster, at whose path the permission is checked. `refusal` answers every
   * request that cannot be redirected.
   */
  readonly redirects?: { readonly refusal: ApiError };
  handle(request: ApiRequest): ApiResponse | RawAnswer | Promise<ApiResponse>;
}

export type PathRoutes = (target: PathInfo) => PathRoute | undefined;

/** A path that is no resource: discovery, health, key sets, pages. It answers GET and HEAD. */
export interface PathRoute {
  /** Served without credentials (decision 8 lists these). */
  readonly public: boolean;
  /** C-C: public, but a token that is not valid is refused. */
  readonly refusesBadCredentials?: boolean;
  handle(request: PathRequest): MaybePromise<PathAnswer>;
}

/** Bytes, or a value that is written as compact or indented JSON, as the client prefers. */
type PathAnswer = RawAnswer | ValueResponse;

export interface PathRequest {
  /** Undefined on public paths without credentials. */
  readonly caller: Caller | undefined;
  readonly method: Method;
  readonly cluster: string | undefined;
  /** As in PathInfo. */
  readonly path: string;
  /** The path as it was sent: with trailing slashes, not decoded. */
  readonly asked: string;
  readonly query: Query;
  /** The first `Accept` line. */
  readonly accept: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly work: Work;
}

/** Routes by exact path, at the fleet only. */
export function pathTable(routes: Readonly<Record<string, PathRoute>>): PathRoutes {
  const byPath = new Map(Object.entries(routes));
  return ({ cluster, path }) => (cluster === undefined ? byPath.get(path) : undefined);
}

/** The first table that has a path serves it. */
export const firstOf =
  (tables: readonly PathRoutes[]): PathRoutes =>
  (target) => {
    for (const find of tables) {
      const route = find(target);
      if (route !== undefined) return route;
    }
    return undefined;
  };
