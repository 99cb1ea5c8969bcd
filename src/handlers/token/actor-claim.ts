import type { Actor, Caller } from '../../api/caller.ts';

/** When passes have an `act` claim: only if every audience is a cluster of this fleet, always, or never. */
export type ActorClaimMode = 'fleet' | 'always' | 'never';

export interface ActorClaimParts {
  readonly mode: ActorClaimMode;
  readonly baseUrl: string;
  readonly clusterOfIssuer: (issuer: string) => string | undefined;
}

/** The `act` claim of a pass that this caller requests for these audiences. */
export type ActorClaim = (caller: Caller, audiences: readonly string[]) => Actor | undefined;

/** Requesters in one claim. A pass that requests a pass that requests a pass must not grow with each. */
const MAX_DEPTH = 3;
const MAX_NAME = 256;

/** RFC 8693 section 4.1. A name is personal data, so by default it stays within the fleet. */
export function createActorClaim({ mode, baseUrl, clusterOfIssuer }: ActorClaimParts): ActorClaim {
  return (caller, audiences) => {
    if (mode === 'never') return undefined;
    if (mode === 'fleet' && !audiences.every((audience) => clusterOfIssuer(audience) !== undefined)) return undefined;
    // Impersonation changes permissions, not who asked.
    const requester = caller.impersonator ?? caller;
    const before = cut(requester.actor, MAX_DEPTH - 1);
    const { name } = requester.as(undefined);
    return { ...(before === undefined ? {} : { act: before }), iss: baseUrl, sub: shorten(name) };
  };
}

function cut(actor: Actor | undefined, depth: number): Actor | undefined {
  if (actor === undefined || depth === 0) return undefined;
  const before = cut(actor.act, depth - 1);
  return { ...(before === undefined ? {} : { act: before }), iss: actor.iss, sub: actor.sub };
}

const MARK = '...';

/** A name as it is in a claim. */
export const shorten = (name: string): string =>
  name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME - MARK.length).toWellFormed()}${MARK}`;
