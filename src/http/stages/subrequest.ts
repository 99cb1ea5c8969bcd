import { type Status, unauthorized } from '../../api/status.ts';
import type { Exchange } from '../exchange.ts';
import { PLAIN_JSON } from '../request/negotiate.ts';
import { authorize } from './authorization-stages.ts';
import { requireFreshState } from './freshness-stages.ts';
import { findRoute, handle } from './route-stages.ts';
import { callerOf, type StageParts, type StageRun } from './stage.ts';

/** A long request takes a while: the credential may have been revoked since it was authenticated. */
const requireLiveCaller: StageRun = (x) => {
  if (!callerOf(x).isLive()) throw unauthorized();
};

const acceptPlainJson: StageRun = (x) => {
  x.accept = PLAIN_JSON;
};

/** What a subrequest passes of the pipeline: the rest was done for the request that it belongs to. */
const STAGES: readonly StageRun[] = [
  requireFreshState,
  requireLiveCaller,
  authorize,
  findRoute,
  acceptPlainJson,
  handle,
];

/**
 * Handles a request of the API that belongs to another request: sets its answer, or throws. The caller records its end:
 * with `observeSubrequest`, or with `recordFailure` after an error.
 */
export async function handleSubrequest(x: Exchange, parts: StageParts): Promise<void> {
  for (const run of STAGES) {
    // Only `handle` waits as a rule, and a TokenRequestList has 500 subrequests: no promise for the others.
    const waits = run(x, parts);
    if (waits !== undefined) await waits;
  }
}

/** Records the end of a subrequest that failed, and returns what is answered. */
export function recordFailure(x: Exchange, { toApiError, observeSubrequest }: StageParts, error: unknown): Status {
  const { status } = toApiError(error, x);
  x.failure = status.reason ?? '';
  observeSubrequest(x, status.code);
  return status;
}
