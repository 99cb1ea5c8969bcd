import { isFilteredList } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import type { ApiError } from '../../api/status.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import { addressOf, type Exchange } from '../exchange.ts';
import {
  type FlowControl,
  isLargeBody,
  type PriorityLevelName,
  priorityLevelOf,
  publicLevelOf,
} from '../flow-control/flow-control.ts';
import type { Stage } from './stage.ts';

/** The stages that take seats. A request without one waits in a queue or is rejected. */

/** A request without a caller: the flow is the client's address. */
export const takeAddressSeat: Stage = (x, { flowControl }) =>
  takeSeat(x, flowControl, publicLevelOf(x.pathInfo), addressOf(x));

/** A caller past its share waits in its queue or is rejected, before its request costs anything more. */
export const takeCallerSeat: Stage = (x, { flowControl, seesNothing }) => {
  const level = priorityLevelOf(x.info);
  // Every caller may watch clusters, and gets the events of those that it may see. Other watches need a permission.
  const isOpenToAll = level === 'watches' && isFilteredList(x.target);
  const isBare = isOpenToAll && seesNothing(x.caller);
  return takeSeat(x, flowControl, isBare ? 'watches-without-permission' : level, x.caller.flow);
};

function takeSeat(
  x: Exchange,
  flowControl: FlowControl,
  level: PriorityLevelName,
  flow: string,
): Promise<void> | undefined {
  const seat = flowControl.takeSeat(level, flow, countedCaller(x));
  if (seat === undefined) return rejectAt(x, flowControl, level, flow);
  x.seat = seat;
  return seat.queued;
}

/** Bounds the memory of large bodies: one waits unread until there is a seat for it. */
export const takeBodySeat: Stage = (x, { flowControl }) => {
  if (!isLargeBody(x.bodyLength)) return undefined;
  const { flow } = x.caller;
  const seat = flowControl.takeSeat('bodies', flow, countedCaller(x));
  if (seat !== undefined) x.bodySeat = seat;
  const wait = seat === undefined ? rejectAt(x, flowControl, 'bodies', flow) : seat.queued;
  if (wait !== undefined) leaveSeat(x);
  return wait;
};

/** While a body is received there is no work to do, so the request gives its seat back. */
export function leaveSeat(x: Exchange): void {
  // A form has no caller yet, so no stage has to run again.
  x.waitedForBody = x.knownCaller !== undefined;
  x.seat?.release();
}

/** Limits count for the impersonator. */
const countedCaller = ({ knownCaller }: Exchange): Caller | undefined => knownCaller?.impersonator ?? knownCaller;

/** The 429 of a priority level. */
export const rejectAt = (
  x: Exchange,
  flowControl: FlowControl,
  level: PriorityLevelName,
  flow: string,
): Promise<void> | undefined => reject(x, flowControl.delayRejection(level, flow), flowControl.rejection(level));

/** Answers with the error as soon as the rate limiter permits it; closes the connection if it does not. */
export function reject(x: Exchange, permitted: MaybePromise<boolean>, error: ApiError): Promise<void> | undefined {
  if (typeof permitted !== 'boolean') return permitted.then((isPermitted) => reject(x, isPermitted, error));
  if (!permitted) x.req.socket.destroy();
  x.answer = { type: 'status', error };
  return undefined;
}
