import type { User } from '../../api/caller.ts';
import { credentialIdOf, REVOKED_CREDENTIAL_IDS } from '../../api/credential-id.ts';
import { LEEWAY_MS } from '../../api/deletion.ts';
import { TOKEN_CHECKS_ANNOTATION } from '../../api/domain-keys.ts';
import type { ApiObject } from '../../api/kind.ts';
import type { RequestCondition } from '../../api/kinds/access-request-spec.ts';
import { REQUESTER_LABEL } from '../../api/kinds/issued-token.ts';
import { ENDED, isLivePhase, type PassStatus, passSpec, passStatus, REVOKED } from '../../api/kinds/pass-spec.ts';
import { fleetKey } from '../../api/object-key.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { ignoreNotFound, notFound } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { checkPreconditions } from '../../objects/preconditions.ts';
import type { VerbOverrides } from '../dispatch.ts';
import { findForCaller, getListed } from '../find-for-caller.ts';
import { parseDeleteOptions } from '../options/delete-options.ts';
import { isOwn } from '../requester.ts';
import { deleteResponse } from '../write/delete.ts';
import { createPassHandler } from './create-pass.ts';
import { annotate, type PassParts } from './pass-parts.ts';

/** Verbs of passes that check whose they are. `list` and `watch` are those of every kind. */
export const passVerbs = (parts: PassParts): VerbOverrides =>
  new Map([
    [
      parts.catalog.passes,
      {
        create: createPassHandler(parts),
        get: (request: ApiRequest) => getListed(parts, request, parts.catalog.passes),
        delete: (request: ApiRequest) => deletePass(parts, request),
      },
    ],
  ]);

/**
 * Deleting a pass revokes its tokens. It ends first, so that no redemption in flight can add a token, and is removed
 * last: after a crash in between the sweep completes the deletion.
 */
async function deletePass(parts: PassParts, request: ApiRequest): Promise<ApiResponse> {
  const { catalog, writer, now } = parts;
  const kind = catalog.passes;
  const { caller, target } = request;
  const { dryRun, preconditions } = parseDeleteOptions(request);
  const entry = await findForCaller(parts, request, kind, (found) => isOwn(found, caller));
  if (entry === undefined) throw notFound(kind, target.name);
  checkPreconditions(kind, entry.object(), preconditions);
  if (dryRun) return deleteResponse(kind, target.name, entry.uid);
  const key = fleetKey(entry.name);
  const lastTransitionTime = toTimestamp(now());
  const condition = { type: ENDED, status: 'True', reason: REVOKED, lastTransitionTime };
  const ended = await writer.update(
    kind,
    key,
    (current) => ({ ...current, status: endedStatus(passStatus(current), condition) }),
    { dryRun: false, part: 'status', preconditions: { uid: entry.uid }, request },
  );
  const revoked = await revokeTokens(parts, ended, caller.as(undefined));
  await writer.remove(kind, key, { dryRun: false, preconditions: { uid: entry.uid } });
  annotate(request, ended);
  if (revoked.length > 0) {
    request.annotate(REVOKED_CREDENTIAL_IDS, revoked.map(credentialIdOf).join(','));
  }
  const cluster = entry.field('spec.cluster');
  if (passStatus(ended).tokens?.some(({ revocable }) => revocable === false)) {
    request.warn(`cluster "${cluster}" has issued tokens of this pass itself, and accepts them until they expire`);
  }
  const until = acceptedUntil(parts, ended, revoked);
  if (until !== undefined) {
    request.warn(
      'Clusterpass and TokenReviews refuse the tokens of this pass from now on; clusters and services that verify them ' +
        `with the key set accept them until ${until}`,
    );
  }
  return deleteResponse(kind, target.name, entry.uid);
}

/**
 * When the last of these tokens expires; undefined if all of them have expired, or if all of their audiences ask
 * Clusterpass for each token.
 */
function acceptedUntil(
  { catalog, reader, now }: Pick<PassParts, 'catalog' | 'reader' | 'now'>,
  pass: ApiObject,
  revoked: readonly string[],
): string | undefined {
  const { cluster: name = '', audiences = [] } = passSpec(pass);
  const cluster = reader.find(catalog.clusters, fleetKey(name))?.object();
  const asks = cluster?.metadata.annotations?.[TOKEN_CHECKS_ANNOTATION] === 'webhook';
  if (asks && audiences.length === 0) return undefined;
  const tokens = (passStatus(pass).tokens ?? []).filter(({ id = '' }) => revoked.includes(id));
  return tokens
    .map(({ expirationTimestamp }) => expirationTimestamp)
    .filter((timestamp) => Date.parse(timestamp) + LEEWAY_MS >= now())
    .sort()
    .at(-1);
}

/** Of a live pass; one that was denied or has ended stays as it is. */
export const endedStatus = (status: PassStatus, condition: RequestCondition): PassStatus =>
  isLivePhase(status.phase ?? '')
    ? { ...status, phase: ENDED, conditions: [...(status.conditions ?? []), condition] }
    : status;

/**
 * Revokes the tokens that this server has issued, and returns their ids. Expired ones, too: the clock may be ahead, and
 * nothing revokes them after the pass is removed.
 */
export async function revokeTokens(
  {
    catalog,
    writer,
    revocations,
  }: Pick<PassParts, 'catalog' | 'revocations'> & {
    readonly writer: Pick<PassParts['writer'], 'remove'>;
  },
  pass: ApiObject,
  by: User,
): Promise<string[]> {
  const revoked: string[] = [];
  for (const { id, expirationTimestamp, revocable } of passStatus(pass).tokens ?? []) {
    if (revocable === false || id === undefined) continue;
    await revocations.revoke(id, by, Date.parse(expirationTimestamp), pass.metadata.labels?.[REQUESTER_LABEL]);
    // A token that was never released has no record.
    await writer.remove(catalog.issuedTokens, fleetKey(id), { dryRun: false }).catch(ignoreNotFound);
    revoked.push(id);
  }
  return revoked;
}
