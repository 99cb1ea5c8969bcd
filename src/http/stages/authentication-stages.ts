import type { Caller } from '../../api/caller.ts';
import { ApiError, unauthorized } from '../../api/status.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import { truncate } from '../../lib/text.ts';
import { stdioAnnotations } from '../../mcp/stdio-headers.ts';
import type { Exchange } from '../exchange.ts';
import { reject } from './flow-control-stages.ts';
import { addressOf, callerOf, presentsCredential, type StageParts, type StageRun } from './stage.ts';

/** The stages that find out who sent a request. */

/** C-C: some public paths refuse a token that is not valid, although they need none. */
export const authenticatePublic: StageRun = (x, parts) => (presentsCredential(x) ? authenticate(x, parts) : undefined);

export function authenticate(x: Exchange, parts: StageParts): MaybePromise<void> {
  const { onAuthenticated } = parts;
  const found =
    x.credential === undefined
      ? (x.mcp ?? parts).authenticate(x.req.headers.authorization, x.warn)
      : parts.authenticateToken(x.credential);
  return keepFound(x, parts, found, (caller) => {
    x.caller = caller;
    onAuthenticated(x.req.socket);
    // At /mcp the audit annotations come from the token and the tool call; client headers do not override them.
    if (x.mcp === undefined) for (const [key, text] of stdioAnnotations(x.req.headers) ?? NONE) x.annotate(key, text);
  });
}

const NONE: readonly [string, string][] = [];

/** To check a token costs a signature. So the 401s of an address are delayed when it fails again and again. */
function keepFound(
  x: Exchange,
  { flowControl }: StageParts,
  found: MaybePromise<Caller>,
  keep: (caller: Caller) => void,
) {
  if (!(found instanceof Promise)) return keep(found);
  return found.then(keep, (error) => {
    if (!(error instanceof ApiError) || error.status.code !== 401) throw error;
    return reject(x, flowControl.delayUnauthorized(addressOf(x)), error);
  });
}

const MAX_ACTOR_NAME = 256;

/** RFC 8693 section 2.1: an actor token names a second caller, which has no part in what is permitted. */
export const authenticateActor: StageRun = (x, parts) => {
  if (x.actorCredential === undefined) return undefined;
  return keepFound(x, parts, parts.authenticateToken(x.actorCredential), (actor) => {
    x.actor = actor;
    x.annotate('clusterpass.dev/actor', truncate(actor.as(undefined).name, MAX_ACTOR_NAME));
  });
};

/** The credential may have expired or been revoked meanwhile. */
export const authenticateAgain: StageRun = (x) => {
  if (x.waitedForBody && !callerOf(x).isLive()) throw unauthorized();
};
