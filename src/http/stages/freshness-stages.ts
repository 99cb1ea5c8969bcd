import { unavailable } from '../../api/status.ts';
import { presentsCredential, type StageParts, type StageRun } from './stage.ts';

/** The stages that refuse to decide from caches that may be behind the store. */

/** How long a request waits for a fresh state. Together with a call to the store, it is answered within 4 s. */
const CURRENT_MS = 1_500;

/** B30: a replica that may be behind the store decides nothing from memory: a token may have been revoked. */
export const requireFreshState: StageRun = (x, { freshness }) =>
  x.pathRoute === undefined || presentsCredential(x) ? whenCurrent(freshness) : undefined;

function whenCurrent(freshness: StageParts['freshness']): Promise<void> | undefined {
  if (freshness.proveCurrent()) return undefined;
  return freshness.whenCurrent(CURRENT_MS).then((current) => {
    if (!current) throw unavailable('this server is behind its store and cannot check credentials, please try again');
  });
}

/** A client can take half a minute to send a body. */
export const requireFreshStateAgain: StageRun = (x, { freshness }) =>
  x.waitedForBody ? whenCurrent(freshness) : undefined;
