import type { MaybePromise } from '../../lib/promises.ts';
import { addressOf, type Exchange } from '../exchange.ts';
import { isLargeBody, MEMORY_REJECTIONS, priorityLevelOf } from '../flow-control/flow-control.ts';
import { arrivedBody, bodyLength, checkContentEncoding } from '../request/body.ts';
import { MEDIA_TYPES, negotiateContentType, PLAIN_JSON, READABLE_NAMES } from '../request/negotiate.ts';
import type { Method } from '../request/request-info.ts';
import { growBody, leaveSeat, rejectAt } from './flow-control-stages.ts';
import type { Stage, StageParts } from './stage.ts';

/** The stages that check and receive the body of a request. */

const WITH_BODY: ReadonlySet<Method> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

const expectsBody = (x: Exchange): boolean => WITH_BODY.has(x.headers.method);

export const checkContentType: Stage = (x) => {
  const { method } = x.headers;
  if (!expectsBody(x)) return;
  checkContentEncoding(x.req);
  // The body of a DELETE is optional: without one its type does not matter.
  if (method === 'DELETE' && isBodiless(x)) return;
  const contentType = x.req.headers['content-type'];
  const { style, patchTypes } = x.route;
  x.mediaType =
    method === 'PATCH'
      ? negotiateContentType(contentType, patchTypes)
      : negotiateContentType(contentType, READABLE_NAMES[style], MEDIA_TYPES[0]?.name);
};

const isBodiless = ({ req }: Exchange): boolean =>
  req.headers['transfer-encoding'] === undefined && (req.headers['content-length'] ?? '0') === '0';

/** A message of MCP is JSON, and so is its answer. */
export const checkMessageType: Stage = (x) => {
  x.negotiated = PLAIN_JSON;
  checkContentEncoding(x.req);
  x.mediaType = negotiateContentType(x.req.headers['content-type'], ['application/json']);
};

/** What a caller may send who needs no permission for it: reviews, and what the handler authorizes. */
const SMALL_BODY_BYTES = 64 * 1024;

const isOpenToAll = ({ info, permission, caller }: Exchange): boolean =>
  info.type === 'resource' &&
  (permission === undefined || priorityLevelOf(info) === 'reads') &&
  // It registers a cluster with the permissions of its creator.
  caller.bootstrapToken === undefined;

export const checkBodyLength: Stage = (x, { seesNothing }) => {
  if (!expectsBody(x)) return;
  if (isOpenToAll(x) && seesNothing(x.caller)) x.maxBodyBytes = SMALL_BODY_BYTES;
  x.bodyLength = bodyLength(x.req, x.maxBodyBytes);
};

export const receiveBody: Stage = (x, parts) =>
  expectsBody(x) ? receive(x, parts, x.caller.flow, keepBody) : undefined;

function keepBody(x: Exchange, bytes: Uint8Array): void {
  x.hasWholeBody = true;
  if (x.mediaType === '' || (bytes.length === 0 && x.headers.method === 'DELETE')) return;
  x.body = { bytes, mediaType: x.mediaType };
}

type Keep = (x: Exchange, bytes: Uint8Array) => void;

/**
 * Calls `keep` with a body of `bodyLength` and at most `maxBodyBytes`. A body that does not arrive with its headers
 * counts for `flow` until it is whole. Returns a promise only when it has to wait.
 */
export function receive(x: Exchange, parts: StageParts, flow: string, keep: Keep): MaybePromise<void> {
  if (x.arrival.expectsContinue === true && x.bodyLength !== 0 && !x.req.complete) x.res.writeContinue();
  const arrived = arrivedBody(x.req, x.bodyLength, x.maxBodyBytes);
  return arrived === undefined ? receiveLater(x, parts, flow, keep) : keep(x, arrived);
}

async function receiveLater(x: Exchange, parts: StageParts, flow: string, keep: Keep): Promise<void> {
  const { flowControl, bodies, memory } = parts;
  // Node hands out a request before it has parsed a body in the same packet, and parses it after this yields.
  await undefined;
  const arrived = arrivedBody(x.req, x.bodyLength, x.maxBodyBytes);
  if (arrived !== undefined) return keep(x, arrived);
  leaveSeat(x);
  const seat = flowControl.startReceiving(flow, addressOf(x));
  if (seat === undefined) return rejectAt(x, flowControl, 'receiving', flow);
  x.bodySeat = seat;
  const keepStop = (stop: () => void): void => {
    x.stopReading = stop;
  };
  const bytes = await bodies.read(x.req, x.maxBodyBytes, keepStop, (size) => {
    const exceeded = growBody(x, memory, size);
    return exceeded && MEMORY_REJECTIONS[exceeded];
  });
  x.stopReading = undefined;
  seat.release();
  // Joining it takes a tick, and decoding it is work.
  if (isLargeBody(bytes.length)) await x.work.turn();
  return keep(x, bytes);
}
