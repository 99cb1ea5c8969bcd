import type { ApiResponse } from '../../api/request.ts';
import type { ApiError } from '../../api/status.ts';

/** Everything a request can be answered with. */
export type Answer = ApiResponse | RawAnswer | StatusAnswer;

/** Ready bytes with headers of their own: documents, health, pages. Not negotiated. */
export interface RawAnswer {
  readonly type: 'raw';
  readonly code: number;
  /** `Content-Type` at least; a `Cache-Control` here replaces the usual one. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string;
}

/** An error. Always JSON, whatever was negotiated: the one thing every client can read. */
export interface StatusAnswer {
  readonly type: 'status';
  readonly error: ApiError;
}
