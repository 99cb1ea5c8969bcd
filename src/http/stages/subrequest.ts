import type { GrantedTokenRequest } from '../../api/kinds/token-request.ts';
import { type Status, timeout } from '../../api/status.ts';
import { permissionOf, type TokenInput } from '../../handlers/token/token-input.ts';
import type { Exchange } from '../exchange.ts';
import type { Answer } from '../response/respond.ts';
import { requireFreshState, requireLiveCaller } from './authentication-stages.ts';
import { authorize } from './authorization-stages.ts';
import { findRoute, handle } from './route-stages.ts';
import { runStages, type Stage, type StageParts } from './stage.ts';

/** What a subrequest passes of the pipeline: the rest was done for the request that it belongs to. */
const CHECKS: readonly Stage[] = [requireFreshState, requireLiveCaller, authorize];
const STAGES: readonly Stage[] = [...CHECKS, findRoute, handle];

/**
 * The answer to a request of the API that belongs to another request. The caller records its end: with
 * `observeSubrequest`, or with `recordFailure` after an error.
 */
export async function answerSubrequest(x: Exchange, parts: StageParts): Promise<Answer> {
  await runStages(STAGES, x, parts);
  return x.answer ?? hasEnded();
}

/** A token of a list, which awaits the audit event. The caller records its end, as that of `answerSubrequest`. */
export async function issueSubrequest(
  x: Exchange,
  parts: StageParts,
  input: Pick<TokenInput, 'sent' | 'dryRun'>,
): Promise<GrantedTokenRequest> {
  await runStages(CHECKS, x, parts);
  if (!x.deadline.isOpen) return hasEnded();
  x.willAnswer = async () => {};
  return parts.issueToken({ ...input, request: x }, permissionOf(x));
}

function hasEnded(): never {
  throw timeout('the request that this one belongs to has ended');
}

/** Records the end of a subrequest that failed, and returns what is answered. */
export function recordFailure(x: Exchange, { toApiError, observeSubrequest }: StageParts, error: unknown): Status {
  const { status } = toApiError(error, x);
  x.failure = status.reason ?? '';
  observeSubrequest(x, status.code);
  return status;
}
