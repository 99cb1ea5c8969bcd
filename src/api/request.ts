import type { Work } from '../lib/work-queue.ts';
import type { Agent, Caller } from './caller.ts';
import type { BodyStyle, StructShape } from './codec/shape.ts';
import type { Decision } from './decision.ts';
import type { SharedFrames } from './shared-frames.ts';

/**
 * Requests and responses of the handlers: no sockets, no headers. http/ makes the request from what it received and
 * writes the response.
 */
export interface ApiRequest {
  readonly caller: Caller;
  /** Who acts for the caller (`actor_token` of RFC 8693). It has no part in what is permitted. */
  readonly actor?: Caller | undefined;
  /** The agent that asks for the caller, if it is known that one does. */
  readonly agent?: Agent | undefined;
  readonly target: Target;
  /** The decision that allowed the request; absent where the handler decides. */
  readonly permission?: Decision | undefined;
  readonly query: Query;
  readonly body: RequestBody | undefined;
  /** Adds a `Warning` header; it is sent with errors too (W-05). */
  readonly warn: (text: string) => void;
  /** The peer address of the connection; `""` when it is closed. Never the value of a header. */
  readonly clientAddress: string;
  /** The `User-Agent` header; `""` when absent. It names the manager of the fields that a write changes. */
  readonly userAgent: string;
  /** The path of the request, without query: `metadata.selfLink` of lists. */
  readonly path: string;
  /** Aborted when the client disconnects or the deadline passes. */
  readonly signal: AbortSignal;
  /** The turns of what takes long, from the first read on. They reject when the request is aborted. */
  readonly work: Work;
  readonly accept: Accepted;
  readonly auditId: string;
  /** Adds an annotation to the audit event and the log, e.g. the id of an issued credential. Never a secret. */
  readonly annotate: (key: string, value: string) => void;
  /** Names the object of a create for the audit event: its path does not. */
  nameObject(name: string): void;
  /**
   * Writes the audit event of a credential, with this status code, and resolves when it is durable. It is called once
   * the request can no longer fail, e.g. while the credential is signed. Later annotations are not part of the event.
   */
  readonly willAnswer: (code: number) => Promise<void>;
}

/** The audit annotation of a deletion that was only tried: its options can be in the body. */
export const DRY_RUN_ANNOTATION = 'clusterpass.dev/dry-run';

export type RequestBody = SentBody | ValueBody;

/** As a client has sent it. */
export interface SentBody {
  readonly bytes: Uint8Array;
  /** Bare media type, lower-case. */
  readonly mediaType: string;
}

/** Made by the server itself, for a subrequest, and so of the type that is read at its path. */
export interface ValueBody {
  readonly value: object;
}

export const isEmptyBody = (body: RequestBody | undefined): boolean =>
  body === undefined || ('bytes' in body && body.bytes.length === 0);

export const NO_BODY: SentBody = { bytes: new Uint8Array(), mediaType: 'application/json' };

/** For patches and messages: no subrequest has one. */
export function sentBody(body: RequestBody = NO_BODY): SentBody {
  if ('value' in body) throw new Error('only clients send a patch or a message');
  return body;
}

/** The result of content negotiation (`Accept`). */
export interface Accepted {
  readonly mediaType: 'application/json' | 'application/yaml';
  /** The form requested by `as=`, when the endpoint offers it. */
  readonly as: 'object' | 'table' | 'partial-object-metadata' | 'partial-object-metadata-list';
}

/** What a request is about (Kubernetes' RequestInfo). */
export interface Target {
  readonly verb: Verb;
  /** From `/orchestrator/{cluster}`; undefined at the fleet. */
  readonly cluster: string | undefined;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** `""` for the resource itself. */
  readonly subresource: string;
  /** `""` for cluster scope, or all namespaces. */
  readonly namespace: string;
  /** `""` for a collection. */
  readonly name: string;
  /** True for paths that serve the public view to every caller (`/auth/v1/clusters`). */
  readonly alwaysPublic: boolean;
}

/** The decoded query parameters. */
export type Query = Pick<URLSearchParams, 'get' | 'getAll' | 'has' | 'size'>;

export type Verb = 'create' | 'get' | 'list' | 'watch' | 'update' | 'patch' | 'delete' | 'deletecollection';

export type ApiResponse = ValueResponse | JsonResponse | ListResponse | WatchResponse;

/** A JSON value, written compact, pretty or as YAML: by the schema, or in the order of its own keys. */
export interface ValueResponse {
  readonly type: 'value';
  readonly code: number;
  readonly value: unknown;
  readonly schema?: { readonly shape: StructShape; readonly style: BodyStyle };
}

/** JSON that is serialized already (one object, no trailing newline). */
interface JsonResponse {
  readonly type: 'json';
  readonly code: number;
  readonly json: Uint8Array | string;
}

/** A list with serialized items. */
export interface ListResponse {
  readonly type: 'list';
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly items: readonly Uint8Array[];
  readonly style: BodyStyle;
  /** Of a table; `items` are its rows. */
  readonly columns?: readonly object[];
  /** The items were made for this list, and are not those of the cache. */
  readonly ownsItems?: true;
}

/** A stream of newline-terminated JSON frames. Headers are sent first, then `start` is called. */
interface WatchResponse {
  readonly type: 'watch';
  readonly start: (sink: WatchSink) => void;
}

export interface WatchSink {
  /** Bytes written and not yet sent. */
  readonly pending: number;
  /** Writes whole frames. Returns false when the client is behind; `onDrain` is called when it has caught up. */
  write(frames: Uint8Array): boolean;
  /** Writes whole frames that other watchers are sent too, like `write`. */
  writeShared(frames: SharedFrames): boolean;
  /** Writes frames of this client only, in pieces, which are copied. */
  writeOwn(pieces: readonly Uint8Array[]): boolean;
  onDrain(listener: () => void): void;
  /** Called once, when the client disconnects or the server shuts down. */
  onClose(listener: () => void): void;
  /** Ends the stream after what was written. */
  end(): void;
  /** Closes the connection without flushing: for a client that is too far behind. */
  destroy(): void;
  /** Logs an unexpected error, and closes the connection without flushing. */
  fail(error: unknown): void;
}
