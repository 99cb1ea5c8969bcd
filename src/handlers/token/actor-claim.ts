import { type Actor, AGENT_PREFIX, type Caller } from '../../api/caller.ts';
import type { ApiRequest } from '../../api/request.ts';
import { clip } from '../../lib/text.ts';

/** When passes have an `act` claim: only if every audience is a cluster of this fleet, always, or never. */
export type ActorClaimMode = 'fleet' | 'always' | 'never';

interface ActorClaimParts {
  readonly mode: ActorClaimMode;
  readonly baseUrl: string;
  readonly clusterOfIssuer: (issuer: string) => string | undefined;
}

/**
 * The `act` claim of a pass for an account, with these audiences: the agent and the actor of the request, if any, and
 * its caller.
 */
export type ActorClaim = (
  request: Pick<ApiRequest, 'caller' | 'actor'>,
  audiences: readonly string[],
  agent?: string | undefined,
) => Actor | undefined;

/** The `act` claim of a pass for a person. The subject is the caller, so only an actor is named. */
export type PersonActor = (actor: Caller | undefined) => Actor | undefined;

/** Requesters in one claim: the newest and the first. A pass that requests a pass must not grow with each. */
const MAX_DEPTH = 3;
const MAX_NAME = 256;

/** RFC 8693 section 4.1. A name is personal data, so by default it stays within the fleet. */
export function createActorClaim({ mode, baseUrl, clusterOfIssuer }: ActorClaimParts): ActorClaim {
  return ({ caller, actor }, audiences, agent) => {
    if (mode === 'never') return undefined;
    if (mode === 'fleet' && !audiences.every((audience) => clusterOfIssuer(audience) !== undefined)) return undefined;
    // Impersonation changes permissions, not who asked.
    const requester = caller.impersonator ?? caller;
    const requested = named(requester, baseUrl, requester.actor);
    const chain = actor === undefined ? requested : named(actor, baseUrl, requested);
    return withinDepth(
      agent === undefined ? chain : { act: chain, iss: baseUrl, sub: claimedName(`${AGENT_PREFIX}${agent}`) },
      MAX_DEPTH,
    );
  };
}

export const createPersonActor =
  ({ mode, baseUrl }: Pick<ActorClaimParts, 'mode' | 'baseUrl'>): PersonActor =>
  (actor) =>
    actor === undefined || mode === 'never' ? undefined : named(actor, baseUrl, undefined);

const named = (caller: Caller, iss: string, act: Actor | undefined): Actor => ({
  ...(act === undefined ? {} : { act }),
  iss,
  sub: claimedName(caller.as(undefined).name),
});

/**
 * Keeps the oldest, and an agent: otherwise a pass that requests itself a few times would no longer say which person
 * began, and that an agent was between.
 */
function withinDepth(actor: Actor, depth: number): Actor {
  const chain: Actor[] = [];
  for (let at: Actor | undefined = actor; at !== undefined; at = at.act) chain.push(at);
  const later = chain.slice(depth - 2, -1);
  const between = later
    .filter(({ sub }) => sub.startsWith(AGENT_PREFIX))
    .concat(later)
    .slice(0, 1);
  const kept = chain.length <= depth ? chain : [...chain.slice(0, depth - 2), ...between, ...chain.slice(-1)];
  return (
    kept.reduceRight((act: Actor | undefined, { iss, sub }) => ({ ...(act && { act }), iss, sub }), undefined) ?? actor
  );
}

/** A name as it is in a claim. */
export const claimedName = (name: string): string => clip(name, MAX_NAME);
