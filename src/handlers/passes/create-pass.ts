import { isDeepStrictEqual } from 'node:util';
import type { PassDecision } from '../../api/authorization.ts';
import { EXPIRY_FIELD } from '../../api/kinds/approval-kind.ts';
import {
  MIN_PASS_SECONDS,
  newHandle,
  PASS_APPROVAL_LABEL,
  type PassSpec,
  type PassStatus,
  passAccount,
  passSpec,
  passStatus,
} from '../../api/kinds/pass-spec.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { defined } from '../../lib/json.ts';
import { quantity } from '../../lib/text.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { Limit } from '../../objects/quota.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { labelsFor } from '../approvals/approvable.ts';
import { parseCreateOptions } from '../options/write-options.ts';
import { isOwn } from '../requester.ts';
import { createCounts, isOpen, limitsOf } from '../stored-quota.ts';
import { readObject } from '../write/read-body.ts';
import { managerOf, writeResponse } from '../write/write-parts.ts';
import { type CheckedPass, checkPassRequest } from './check-pass-request.ts';
import { annotate, isAccountDeleted, isApprovedFor, type PassParts } from './pass.ts';

/** How long a pass waits for its approval. */
const PENDING_MS = 10 * 60_000;

/** `create` of a pass: the permission is that of a TokenRequest for the account, by the bindings that count. */
export function createPassHandler(parts: PassParts): (request: ApiRequest) => Promise<ApiResponse> {
  const { catalog, writer } = parts;
  const kind = catalog.passes;
  const countsFor = createCounts(parts, kind);

  return async (request) => {
    const { caller } = request;
    const options = parseCreateOptions(request.query);
    const sent = readObject(request, kind, options.fieldValidation);
    const requested = await checkPassRequest(parts, request, sent);
    const { account, cluster, decision, spec } = requested;
    const counted = countsFor(caller, spec.client?.id ?? '');
    const same = counted.stored().find((entry) => isOwn(entry, caller) && isSamePass(parts, entry, requested));
    if (same !== undefined) {
      request.nameObject(same.name);
      annotate(request, same.object());
      return writeResponse(parts, request, kind, same.object(), { code: 200 });
    }
    const quota = counted.quota(limitsFor(parts, decision));
    const refused = quota.refusal(Number.POSITIVE_INFINITY, 0);
    if (refused !== undefined) throw refused;
    parts.requireRightClock();
    const metadata = { ...sent.metadata, name: newHandle(parts.randomBytes) };
    const labels = {
      ...labelsFor(metadata, caller, counted.id, account),
      [PASS_APPROVAL_LABEL]: decision.approval,
    };
    const object = await writer.create(
      kind,
      { cluster: '', namespace: '' },
      { ...sent, metadata, spec },
      {
        dryRun: options.dryRun,
        manager: managerOf(request, options),
        derive: (prepared) => ({
          ...prepared,
          metadata: { ...prepared.metadata, labels },
          status: { ...newStatus(parts, spec, decision, cluster.uid), ...requested.accountUID },
        }),
        quota,
      },
    );
    request.nameObject(object.metadata.name ?? '');
    annotate(request, object);
    return writeResponse(parts, request, kind, object, { code: 201 });
  };
}

function limitsFor({ limits }: PassParts, { approval }: PassDecision): Limit[] {
  const [live, stored] = limitsOf(
    { quota: 'passes', max: limits.maxHandles, advice: 'revoke or delete some' },
    (max, which) =>
      which === 'open'
        ? `${quantity(max, 'live pass', 'live passes')} with this client`
        : `${max} passes with this client, live and ended`,
  );
  const pending: Limit = {
    ...live,
    quota: 'pendingPasses',
    max: limits.maxPending,
    counts: (entry) => entry.field('status.phase') === 'Pending',
    what: `${quantity(limits.maxPending, 'pass', 'passes')} waiting for an approval`,
  };
  return [live, ...(approval === 'none' ? [] : [pending]), stored];
}

const isSamePass = (parts: PassParts, entry: StoredObject, { cluster, decision, spec }: CheckedPass): boolean =>
  isUnused(parts, entry, decision, cluster) && isDeepStrictEqual(passSpec(entry.object()), spec);

/**
 * MC-92, MC-94: the same request gives the same pass while it waits for its approval, and after that until its first
 * redemption. Then the approval is used: the next request needs another one. A pass that needs no approval is new each
 * time.
 */
function isUnused(parts: PassParts, entry: StoredObject, decision: PassDecision, cluster: StoredObject): boolean {
  const leftMs = Date.parse(entry.field(EXPIRY_FIELD)) - parts.now();
  if (!isOpen(entry) || !(leftMs > 0)) return false;
  const object = entry.object();
  const status = passStatus(object);
  if (isAccountDeleted(parts, passAccount(passSpec(object)), status)) return false;
  if (status.phase === 'Pending') return decision.approval !== 'none';
  return (
    status.approval !== 'none' &&
    isApprovedFor(status, decision) &&
    (status.tokens ?? []).length === 0 &&
    status.clusterUID === cluster.uid &&
    !(parts.issuesOwnTokens(cluster) && leftMs < MIN_PASS_SECONDS * 1000)
  );
}

function newStatus(
  { catalog, reader, now }: PassParts,
  { durationSeconds = 0 }: PassSpec,
  { approval, grant }: PassDecision,
  clusterUID: string,
): PassStatus {
  const isReady = approval === 'none';
  const expiresAt = now() + (isReady ? durationSeconds * 1000 : PENDING_MS);
  return {
    phase: isReady ? 'Ready' : 'Pending',
    approval,
    clusterUID,
    ...(grant === undefined ? {} : { bindingRef: bindingRef(grant) }),
    expirationTimestamp: toTimestamp(expiresAt),
  };

  function bindingRef({ kind, namespace, name }: NonNullable<typeof grant>): PassStatus['bindingRef'] & object {
    const bindings = catalog.kinds.find((each) => each.kind === kind);
    const { uid, generation } =
      (bindings && reader.find(bindings, { cluster: '', namespace, name }))?.object().metadata ?? {};
    return defined({ kind, namespace: namespace || undefined, name, uid, generation });
  }
}
