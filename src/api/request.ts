import type { Agent, Caller } from './caller.ts';
import type { BodyStyle } from './codec/shape.ts';
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
  readonly accept: Accepted;
  readonly auditId: string;
  /** Adds an annotation to the audit event and the log, e.g. the id of an issued credential. Never a secret. */
  readonly annotate: (key: string, value: string) => void;
  /** Names the object of a create for the audit event: its path does not. */
  nameObject(name: string): void;
  /**
   * Announces the status code of the response. The audit event of a credential must be on disk before the credential is
   * sent, and is written while the credential is signed. Later annotations are not part of it.
   */
  readonly willAnswer: (code: number) => void;
}

/** Requires the optional fields too: the compiler reports a field that a copy of T lacks. */
type EveryField<T> = { readonly [K in keyof Required<T>]: T[K] };

/** The request, about another object. `request` must not be spread: some of its fields are getters of a class. */
export const requestAbout = (request: ApiRequest, target: Target, body: RequestBody): EveryField<ApiRequest> => ({
  caller: request.caller,
  actor: request.actor,
  agent: request.agent,
  target,
  query: request.query,
  body,
  warn: request.warn,
  path: request.path,
  accept: request.accept,
  auditId: request.auditId,
  annotate: request.annotate,
  nameObject: (name) => request.nameObject(name),
  willAnswer: request.willAnswer,
  clientAddress: request.clientAddress,
  userAgent: request.userAgent,
  get signal() {
    return request.signal;
  },
});

/** The audit annotation of a deletion that was only tried: its options can be in the body. */
export const DRY_RUN_ANNOTATION = 'clusterpass.dev/dry-run';

/** `decodeBody` reads both. */
export type RequestBody = SentBody | ValueBody;

/** As a client has sent it. */
export interface SentBody {
  readonly bytes: Uint8Array;
  /** Bare media type, lower-case. */
  readonly mediaType: string;
}

/** Made by the server itself, for a subrequest. It is never bytes, but fits the schema like any other body. */
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
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** True for paths that serve the public view to every caller (`/auth/v1/clusters`). */
  readonly alwaysPublic: boolean;
}

/** The decoded query parameters. */
export type Query = Pick<URLSearchParams, 'get' | 'getAll' | 'has' | 'size'>;

export type Verb = 'create' | 'get' | 'list' | 'watch' | 'update' | 'patch' | 'delete' | 'deletecollection';

export type ApiResponse = ValueResponse | JsonResponse | ListResponse | WatchResponse;

/** A JSON value, written compact, pretty or as YAML. Key order is the value's own. */
export interface ValueResponse {
  readonly type: 'value';
  readonly code: number;
  readonly value: unknown;
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
