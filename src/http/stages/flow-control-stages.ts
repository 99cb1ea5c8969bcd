import { isFilteredList } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import type { ApiError } from '../../api/status.ts';
import type { MemoryAccount, MemoryLimitName } from '../../lib/memory-account.ts';
import type { MaybePromise } from '../../lib/promises.ts';
import { addressOf, bytesOfWatch, type Exchange } from '../exchange.ts';
import {
  type FlowControl,
  isLargeBody,
  MEMORY_REJECTIONS,
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
export const takeCallerSeat: Stage = (x, { flowControl, seesNothing, memory }) => {
  const level = priorityLevelOf(x.info);
  const exceeded = memory.refusal(x.caller.flow, level === 'watches' ? bytesOfWatch(x) : 0);
  if (exceeded !== undefined) return rejectForMemory(x, flowControl, exceeded);
  // Every caller may watch clusters, and gets the events of those that it may see. Other watches need a permission.
  const isWithoutPermission = level === 'watches' && isFilteredList(x.target) && seesNothing(x.caller);
  return takeSeat(x, flowControl, isWithoutPermission ? 'watches-without-permission' : level, x.caller.flow);
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

/** A body is in memory as bytes, as text and as values. */
const COPIES_OF_BODY = 3;

/** Bounds the memory of large bodies. One whose length is not said counts as it arrives. */
export const holdBody: Stage = (x, { flowControl, memory }) => {
  const exceeded = growBody(x, memory, x.bodyLength ?? 0);
  return exceeded && rejectForMemory(x, flowControl, exceeded);
};

/** The limit that a body of this length passes. */
export function growBody(x: Exchange, memory: MemoryAccount, length: number): MemoryLimitName | undefined {
  const bytes = length * COPIES_OF_BODY;
  if (!isLargeBody(length) || bytes <= x.heldBytes) return undefined;
  const exceeded = memory.refusal(x.flow, bytes - x.heldBytes);
  if (exceeded === undefined) x.hold(memory, bytes);
  return exceeded;
}

const rejectForMemory = (x: Exchange, flowControl: FlowControl, name: MemoryLimitName): Promise<void> | undefined =>
  reject(x, flowControl.delayRejection('memory', x.flow), MEMORY_REJECTIONS[name]);

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
