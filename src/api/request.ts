import type { Caller } from './caller.ts';
import type { BodyType } from './kind.ts';
import type { SharedFrames } from './shared-frames.ts';

/**
 * A request as the handlers see it, and what they answer: no sockets, no headers. http/ makes the
 * first from the wire and writes the second to it.
 */
export interface ApiRequest {
  readonly caller: Caller;
  readonly target: Target;
  readonly query: Query;
  readonly body: RequestBody | undefined;
  /** Collects `Warning` headers; they are sent whatever the outcome (W-05). */
  readonly warn: (text: string) => void;
  /** The address at the other end of the connection; `""` when that is gone. Never what a header claims. */
  readonly clientAddress: string;
  /** The path as asked, without query: `metadata.selfLink` of lists. */
  readonly path: string;
  /** Aborted when the client goes away or the deadline passes. */
  readonly signal: AbortSignal;
  readonly accept: Accepted;
  readonly auditId: string;
  /** Notes for the audit trail and the log, e.g. the id of an issued credential. Never a secret. */
  readonly annotate: (key: string, value: string) => void;
  /**
   * Says ahead that this will be the answer, and with which code: what has to be on the disk before a credential leaves is
   * written while the credential is made. Nothing that is annotated later is in it.
   */
  readonly willAnswer: (code: number) => void;
}

export interface RequestBody {
  readonly bytes: Uint8Array;
  /** Bare media type, lower-case. */
  readonly mediaType: string;
}

/** What was negotiated from `Accept`. */
export interface Accepted {
  readonly mediaType: 'application/json' | 'application/yaml';
  /** The form asked for by `as=`, when the endpoint offers it. */
  readonly as: 'object' | 'table' | 'partial-object-metadata' | 'partial-object-metadata-list';
}

/** What a path names (RequestInfo). */
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
  /** True for the paths that always strip, whatever the caller may do (`/auth/v1/clusters`). */
  readonly alwaysPublic: boolean;
}

/** The parameters of a request, decoded. */
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
export interface JsonResponse {
  readonly type: 'json';
  readonly code: number;
  readonly json: Uint8Array | string;
}

/** A list whose items are serialized already; written in bulk, or item by item when it must be reshaped. */
export interface ListResponse {
  readonly type: 'list';
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly items: readonly Uint8Array[];
  readonly style: BodyType['style'];
  /** Of a table, whose items are its rows. */
  readonly columns?: readonly object[];
}

/** A stream of newline-terminated JSON frames. Headers go out at once; the stream starts itself. */
export interface WatchResponse {
  readonly type: 'watch';
  readonly start: (sink: WatchSink) => void;
}

export interface WatchSink {
  /** Bytes accepted for writing but not yet taken by the client. */
  readonly pending: number;
  /** Hands over whole frames. Returns false when the client is behind; `onDrain` tells when it has caught up. */
  write(frames: Uint8Array): boolean;
  /** The same for frames that other watchers are sent, too. */
  writeShared(frames: SharedFrames): boolean;
  /** The same for frames of this watcher alone: in pieces, which are copied. */
  writeOwn(pieces: readonly Uint8Array[]): boolean;
  onDrain(listener: () => void): void;
  /** The client went away, or the server shuts down. Called once. */
  onClose(listener: () => void): void;
  /** Ends the stream cleanly after what was written. */
  end(): void;
  /** Cuts the stream without flushing: for a client that is too far behind. */
  cut(): void;
}
