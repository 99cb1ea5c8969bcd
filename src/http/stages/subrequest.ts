import { type Status, timeout } from '../../api/status.ts';
import type { Exchange } from '../exchange.ts';
import type { Answer } from '../response/respond.ts';
import { requireFreshState, requireLiveCaller } from './authentication-stages.ts';
import { authorize } from './authorization-stages.ts';
import { findRoute, handle } from './route-stages.ts';
import { runStages, type Stage, type StageParts } from './stage.ts';

/** What a subrequest passes of the pipeline: the rest was done for the request that it belongs to. */
const STAGES: readonly Stage[] = [requireFreshState, requireLiveCaller, authorize, findRoute, handle];

/**
 * The answer to a request of the API that belongs to another request. The caller records its end: with
 * `observeSubrequest`, or with `recordFailure` after an error.
 */
export async function answerSubrequest(x: Exchange, parts: StageParts): Promise<Answer> {
  await runStages(STAGES, x, parts);
  if (x.answer === undefined) throw timeout('the request that this one belongs to has ended');
  return x.answer;
}

/** Records the end of a subrequest that failed, and returns what is answered. */
export function recordFailure(x: Exchange, { toApiError, observeSubrequest }: StageParts, error: unknown): Status {
  const { status } = toApiError(error, x);
  x.failure = status.reason ?? '';
  observeSubrequest(x, status.code);
  return status;
}
