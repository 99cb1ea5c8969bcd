import { unauthorized } from '../api/status.ts';
import type { Exchange } from './exchange.ts';
import { PLAIN_JSON } from './request/negotiate.ts';
import { authorize, callerOf, findRoute, handle, requireFreshState, type StageParts } from './stages.ts';

/** Runs a part of a request through the stages that a single request would pass. Sets its answer, or throws. */
export async function handlePart(part: Exchange, parts: StageParts): Promise<void> {
  // A long request takes a while: the credential may have been revoked since it was authenticated.
  await requireFreshState(part, parts);
  if (!callerOf(part).isLive()) throw unauthorized();
  await authorize(part, parts);
  await findRoute(part, parts);
  part.accept = PLAIN_JSON;
  await handle(part, parts);
}
