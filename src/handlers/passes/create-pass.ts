import { isDeepStrictEqual } from 'node:util';
import type { PassDecision, PassHolder } from '../../api/authorization.ts';
import { exactDuration } from '../../api/codec/go-text/human-duration.ts';
import { type ApiObject, fleetKey, type ObjectKey, type ObjectMeta } from '../../api/kind.ts';
import { EXPIRY_FIELD } from '../../api/kinds/approval-kind.ts';
import {
  MAX_CLIENT_NAME,
  MAX_PASS_SECONDS,
  MIN_PASS_SECONDS,
  newHandle,
  PASS_APPROVAL_LABEL,
  type PassSpec,
  type PassStatus,
  passAccount,
  passErrors,
  passSpec,
  passStatus,
} from '../../api/kinds/pass-spec.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import {
  badRequest,
  type FieldError,
  forbidden,
  forbiddenField,
  invalidValue,
  notFound,
  requireValid,
} from '../../api/status.ts';
import { defined } from '../../lib/json.ts';
import { cleanText, quantity, withoutTokenWords } from '../../lib/text.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { requireParents } from '../../objects/parents.ts';
import type { Limit } from '../../objects/quota.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { labelsFor } from '../approvals/approvable.ts';
import { isPersonKnown, unknownPerson, userOf } from '../approvals/people.ts';
import { parseCreateOptions } from '../options/write-options.ts';
import { isOwn } from '../requester.ts';
import { createCounts, isOpen, limitsOf } from '../stored-quota.ts';
import {
  audienceErrors,
  foreignAudienceCheck,
  WAITS_FOR_FINALIZERS,
  withoutDuplicates,
} from '../token/parse-token-request.ts';
import { readObject } from '../write/read-body.ts';
import { managerOf, writeResponse } from '../write/write-parts.ts';
import {
  accountUID,
  annotate,
  annotateAccount,
  holderOf,
  isAccountDeleted,
  isApprovedFor,
  type PassParts,
} from './pass.ts';

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

/** A cluster that issues its own tokens grants ten minutes at least, and the first redemption comes a little later. */
const MIN_SECONDS_OF_ISSUING_CLUSTER = 660;

/** A pass that the caller may have. */
interface CheckedPass {
  readonly account: ObjectKey;
  /** Of the account that was checked: another one may have its name later. */
  readonly accountUID: Pick<PassStatus, 'serviceAccountUID'>;
  /** The cluster of the account. */
  readonly cluster: StoredObject;
  readonly decision: PassDecision;
  /** Complete: the same request gives the same spec. */
  readonly spec: PassSpec;
}

/** Checks the fields, the permission and the account, in this order. @throws ApiError */
async function checkPassRequest(parts: PassParts, request: ApiRequest, sent: ApiObject): Promise<CheckedPass> {
  const { catalog, reader, rules } = parts;
  const { caller } = request;
  requireValid(parts.catalog.passes, '', [
    ...nameErrors(sent.metadata),
    ...passErrors(sent),
    ...purposeErrors(passSpec(sent)),
  ]);
  const { requestedBy: _, client: _client, ...asked } = passSpec(sent);
  const account = passAccount(asked);
  annotateAccount(request, account);
  const client = clientOf(request, passSpec(sent));
  const holder = holderOf(client);
  const decision = rules.decide(caller, account, holder);
  if (!decision.allowed) throw rules.refusal(caller, account, decision);
  if (decision.approval === 'review' && !isPersonKnown(parts, caller)) throw unknownPerson(catalog.passes, '');
  await reader.catchUp();
  const cluster = await requireAccount(parts, account);
  const checkedUID = accountUID(parts, account);
  const audiences = withoutDuplicates(asked.audiences ?? []);
  const mayIn = audiencePermission(parts, request, account, holder);
  requireValid(parts.catalog.passes, '', audienceErrors(audiences, foreignAudienceCheck(parts, account, mayIn)));
  const spec: PassSpec = {
    ...asked,
    ...(audiences.length === 0 ? {} : { audiences: [...audiences] }),
    durationSeconds: durationOf(parts, asked, cluster),
    purpose: (asked.purpose ?? '').trim(),
    requestedBy: { ...userOf(parts, caller, account.cluster), groups: [...caller.as(account.cluster).groups].sort() },
    ...(client === undefined ? {} : { client }),
  };
  return { account, accountUID: checkedUID, cluster, decision, spec };
}

const nameErrors = ({ name = '', generateName = '' }: ObjectMeta): FieldError[] =>
  name === '' && generateName === ''
    ? []
    : [forbiddenField(`metadata.${name === '' ? 'generateName' : 'name'}`, 'the server makes the handle')];

/** The purpose is logged and shown, so it must not be where a token ends up. */
const purposeErrors = ({ purpose = '' }: PassSpec): FieldError[] =>
  withoutTokenWords(purpose) === purpose
    ? []
    : [invalidValue('spec.purpose', withoutTokenWords(purpose), 'must not contain a token')];

/** The client id of agents that use the login of a person. */
const LOGIN_CLIENT = 'login';

/** An agent with a token of its client is known by it. One that uses the login of a person says so itself. */
function clientOf({ agent }: ApiRequest, { client }: PassSpec): PassSpec['client'] {
  if (agent === undefined) {
    return client === undefined ? undefined : { id: LOGIN_CLIENT, name: withoutTokenWords(client.name ?? '') };
  }
  if (agent.id === LOGIN_CLIENT) throw badRequest(`the client id "${LOGIN_CLIENT}" is reserved: register another one`);
  // The client chose the name, and its person cannot correct it: what does not fit is cut.
  return { id: agent.id, name: cleanText(agent.name, MAX_CLIENT_NAME) };
}

/**
 * The cluster of the account. After the permission: then a 404 tells nothing that a TokenRequest would not tell. The
 * tokens of an account that is being deleted work for a minute, and a pass lasts ten at least.
 */
async function requireAccount(
  { catalog, reader, issuesOwnTokens }: PassParts,
  account: ObjectKey,
): Promise<StoredObject> {
  const { cluster, namespace, name } = account;
  const found = reader.find(catalog.clusters, fleetKey(cluster));
  if (found === undefined) throw notFound(catalog.clusters, cluster);
  if (issuesOwnTokens(found)) {
    // Its namespaces and accounts need not exist here.
    await requireParents(catalog, reader, catalog.namespaces, { cluster, namespace: '', name: namespace });
    return found;
  }
  await requireParents(catalog, reader, catalog.serviceAccounts, account);
  const stored = reader.find(catalog.serviceAccounts, account);
  if (stored === undefined) throw notFound(catalog.serviceAccounts, name);
  if (stored.deletionTimestamp !== undefined) throw forbidden(catalog.serviceAccounts, name, WAITS_FOR_FINALIZERS);
  return found;
}

/** For the audience of another cluster the pass must be allowed there, too, without an approval. */
export function audiencePermission(
  { rules }: PassParts,
  { caller }: Pick<ApiRequest, 'caller'>,
  account: ObjectKey,
  holder: PassHolder,
): (cluster: string) => boolean {
  return (cluster) => {
    const { allowed, approval } = rules.decide(caller, { ...account, cluster }, holder);
    return allowed && approval === 'none';
  };
}

function durationOf(
  parts: Pick<PassParts, 'catalog' | 'issuesOwnTokens'>,
  { durationSeconds }: PassSpec,
  cluster: StoredObject,
): number {
  const issuesOwnTokens = parts.issuesOwnTokens(cluster);
  const seconds = durationSeconds ?? (issuesOwnTokens ? MAX_PASS_SECONDS : MIN_PASS_SECONDS);
  const wrong = (why: string): FieldError[] => [invalidValue('spec.durationSeconds', seconds, why)];
  const most = `must be no more than ${exactDuration(MAX_PASS_SECONDS)}`;
  if (seconds > MAX_PASS_SECONDS) requireValid(parts.catalog.passes, '', wrong(most));
  const least = `must be at least ${exactDuration(MIN_SECONDS_OF_ISSUING_CLUSTER)}: the cluster issues its own tokens, of ten minutes at least`;
  if (issuesOwnTokens && seconds < MIN_SECONDS_OF_ISSUING_CLUSTER) requireValid(parts.catalog.passes, '', wrong(least));
  return seconds;
}
