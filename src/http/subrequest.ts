import { unauthorized } from '../api/status.ts';
import type { Exchange } from './exchange.ts';
import { PLAIN_JSON } from './request/negotiate.ts';
import { authorize, callerOf, findRoute, handle, requireFreshState, type StageParts, type StageRun } from './stages.ts';

/** A long request takes a while: the credential may have been revoked since it was authenticated. */
const requireLiveCaller: StageRun = (part) => {
  if (!callerOf(part).isLive()) throw unauthorized();
};

const acceptPlainJson: StageRun = (part) => {
  part.accept = PLAIN_JSON;
};

const STAGES: readonly StageRun[] = [
  requireFreshState,
  requireLiveCaller,
  authorize,
  findRoute,
  acceptPlainJson,
  handle,
];

/** Runs a part of a request through the stages that a single request would pass. Sets its answer, or throws. */
export async function handlePart(part: Exchange, parts: StageParts): Promise<void> {
  for (const run of STAGES) {
    // Only `handle` waits as a rule, and a list of passes has 500 parts: no promise for the others.
    const waits = run(part, parts);
    if (waits !== undefined) await waits;
  }
}
