import type { Caller } from '../../api/caller.ts';
import { ApiError, unauthorized, unavailable } from '../../api/status.ts';
import type { MaybePromise } from '../../lib/promises.ts';
import { truncate } from '../../lib/text.ts';
import { stdioAnnotations } from '../../mcp/headers.ts';
import { addressOf, type Exchange, mcpOf } from '../exchange.ts';
import { reject } from './flow-control-stages.ts';
import type { Stage, StageParts } from './stage.ts';

/** The stages that find out who sent a request. */

/** How long a request waits for a fresh state. Together with a call to the store, it is answered within 4 s. */
const CURRENT_MS = 1_500;

/** B30: a replica that may be behind the store decides nothing from memory: a token may have been revoked. */
export const requireFreshState: Stage = (_, { freshness }) => {
  if (freshness.proveCurrent()) return undefined;
  return freshness.whenCurrent(CURRENT_MS).then((current) => {
    if (!current) throw unavailable('this server is behind its store and cannot check credentials, please try again');
  });
};

/** C-C: some public paths refuse a token that is not valid, although they need none. */
export const presentsCredential = ({ pathRoute, req }: Exchange): boolean =>
  pathRoute?.refusesBadCredentials === true && req.headers.authorization !== undefined;

export const authenticate: Stage = (x, parts) =>
  keepClient(x, parts, parts.authenticate(x.req.headers.authorization, x.warn));

/** The subject of a token exchange; at other endpoints of OAuth the caller is in the header. */
export const authenticateSubject: Stage = (x, parts) =>
  x.credential === undefined ? authenticate(x, parts) : keepClient(x, parts, parts.authenticateToken(x.credential));

const keepClient = (x: Exchange, parts: StageParts, found: MaybePromise<Caller>): MaybePromise<void> =>
  keepFound(x, parts, found, (caller) => {
    keepCaller(x, parts, caller);
    for (const [key, text] of stdioAnnotations(x.req.headers) ?? NONE) x.annotate(key, text);
  });

const NONE: readonly [string, string][] = [];

/** The audit annotations come from the token and the tool call: headers of the client do not override them. */
export const authenticateAgent: Stage = (x, parts) => {
  const found = mcpOf(x).authenticate(x.req.headers.authorization, x.warn);
  return keepFound(x, parts, found, (caller) => keepCaller(x, parts, caller));
};

function keepCaller(x: Exchange, { onAuthenticated }: StageParts, caller: Caller): void {
  x.knownCaller = caller;
  onAuthenticated(x.req.socket);
}

/** To check a token costs a signature. So the 401s of an address are delayed when it fails again and again. */
function keepFound(
  x: Exchange,
  { flowControl, onDecision }: StageParts,
  found: MaybePromise<Caller>,
  keep: (caller: Caller) => void,
): MaybePromise<void> {
  onDecision?.(x);
  if (!(found instanceof Promise)) return keep(found);
  return found.then(keep, (error) => {
    if (!(error instanceof ApiError) || error.status.code !== 401) throw error;
    return reject(x, flowControl.delayUnauthorized(addressOf(x)), error);
  });
}

const MAX_ACTOR_NAME = 256;

/** RFC 8693 section 2.1: an actor token names a second caller, which has no part in what is permitted. */
export const authenticateActor: Stage = (x, parts) => {
  if (x.actorCredential === undefined) return undefined;
  return keepFound(x, parts, parts.authenticateToken(x.actorCredential), (actor) => {
    x.actor = actor;
    x.annotate('clusterpass.dev/actor', truncate(actor.as(undefined).name, MAX_ACTOR_NAME));
  });
};

/** A request may take long, e.g. to send its body: the credential may have expired or been revoked meanwhile. */
export const requireLiveCaller: Stage = (x) => {
  if (!x.caller.isLive()) throw unauthorized();
};
