import type { ApiObject } from '../../api/kind.ts';
import { storedHeartbeat } from './readiness.ts';

/** Every write wakes those who watch the cluster, so that it was looked at again is written no more often than this. */
const HEARTBEAT_MS = 5 * 60_000;
/** Clusters that were written together drift apart. */
const SPREAD_MS = 30_000;

export interface HeartbeatClock {
  now(): number;
  wall(): number;
}

/**
 * When the first heartbeat of this process is due. After a pause those of the whole fleet are overdue; they are
 * spread over the time that they have.
 */
export function firstHeartbeat(cluster: ApiObject, clock: HeartbeatClock, random: () => number): number {
  const stored = storedHeartbeat(cluster);
  const age = stored === undefined ? HEARTBEAT_MS : Math.max(clock.wall() - stored, 0);
  return clock.now() + (age < HEARTBEAT_MS ? HEARTBEAT_MS - age : random() * HEARTBEAT_MS);
}

/** When the next one is due after something was written. */
export const nextHeartbeat = (now: number, random: () => number): number => now + HEARTBEAT_MS + random() * SPREAD_MS;
