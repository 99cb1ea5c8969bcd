import { isDeepStrictEqual } from 'node:util';
import type { PassDecision } from '../../api/authorization.ts';
import { type FieldError, forbiddenField, invalid, invalidValue } from '../../api/field-error.ts';
import type { ObjectMeta } from '../../api/kind.ts';
import { clientLabels, REQUEST_CLUSTER_LABEL, REQUEST_NAMESPACE_LABEL } from '../../api/kinds/access-request.ts';
import { COUNTED_LABEL, REQUESTER_LABEL } from '../../api/kinds/issued-token.ts';
import { PASS_EXPIRY_FIELD } from '../../api/kinds/pass.ts';
import {
  isLivePhase,
  MAX_CLIENT_NAME,
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
import { fleetKey } from '../../api/object-key.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { type ApiError, badRequest, forbidden, notFound, tooManyRequests } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { PendingCreations } from '../../objects/bound.ts';
import { requireParents } from '../../objects/parents.ts';
import { createdBefore, type StoredObject } from '../../objects/stored-object.ts';
import { withoutTokenWords } from '../../observability/token-text.ts';
import { countedFor, digestOf, requesterId } from '../../tokens/revocations/tracked-tokens.ts';
import { isPersonKnown, unknownPerson, userOf } from '../approvals/people.ts';
import { parseCreateOptions } from '../options/write-options.ts';
import { isOwn } from '../requester.ts';
import { foreignAudienceCheck } from '../token/foreign-audiences.ts';
import { audienceErrors, WAITS_FOR_FINALIZERS, withoutDuplicates } from '../token/validate-token-request.ts';
import { readObject } from '../write/read-body.ts';
import { managerOf, writeResponse } from '../write/write-parts.ts';
import {
  accountUID,
  annotate,
  isAccountDeleted,
  isApprovedFor,
  type PassAccount,
  type PassParts,
} from './pass-parts.ts';

/** How long a pass waits for its approval. */
const PENDING_MS = 10 * 60_000;
/** Ended passes stay for a while, so all that are stored have a bound, too: that many times the live ones. */
const STORED_PER_LIVE = 10;
/** A cluster that issues its own tokens grants ten minutes at least, and the first redemption comes a little later. */
const MIN_SECONDS_OF_ISSUING_CLUSTER = 660;

/** `create` of a pass: the permission is that of a TokenRequest for the account, by the bindings that count. */
export function createPassHandler(parts: PassParts): (request: ApiRequest) => Promise<ApiResponse> {
  const { catalog, reader, writer, rules } = parts;
  const kind = catalog.passes;
  const pending = new PendingCreations();

  return async (request) => {
    const { caller } = request;
    const options = parseCreateOptions(request.query);
    const sent = readObject(request, kind, options.fieldValidation);
    requireValid(parts, [...nameErrors(sent.metadata), ...passErrors(sent), ...purposeErrors(passSpec(sent))]);
    const { requestedBy: _, client: _client, ...asked } = passSpec(sent);
    const account = passAccount(asked);
    const client = clientOf(request, passSpec(sent));
    const isAgent = client !== undefined;
    const decision = rules.decide(caller, account, isAgent);
    if (!decision.allowed) throw rules.refusal(caller, account, decision);
    if (decision.approval === 'review' && !isPersonKnown(parts, caller)) throw unknownPerson(kind, '');
    await reader.catchUp();
    const cluster = await requireAccount(parts, account);
    const ofAccount = accountUID(parts, account);
    const audiences = withoutDuplicates(asked.audiences ?? []);
    const mayIn = audiencePermission(parts, request, account, isAgent);
    requireValid(parts, audienceErrors(audiences, foreignAudienceCheck(parts, account, mayIn)));
    const spec: PassSpec = {
      ...asked,
      ...(audiences.length === 0 ? {} : { audiences: [...audiences] }),
      durationSeconds: durationOf(parts, asked, cluster),
      purpose: (asked.purpose ?? '').trim(),
      requestedBy: userOf(parts, caller, account.cluster),
      ...(client === undefined ? {} : { client }),
    };
    const counted = countedFor(reader, catalog.issuedTokens, caller.impersonator ?? caller);
    const countId = digestOf([counted.id, client?.id ?? '']);
    const stored = (): StoredObject[] => [...reader.cache(kind).current.withLabel(COUNTED_LABEL, countId)];
    const same = stored().find(
      (entry) =>
        isUnused(parts, entry, decision, cluster) &&
        isOwn(entry, caller) &&
        isDeepStrictEqual(passSpec(entry.object()), spec),
    );
    if (same !== undefined) {
      annotate(request, same.object());
      return writeResponse(parts, request, kind, same.object(), { code: 200 });
    }
    const refusal = (revision: number, writing: number): ApiError | undefined =>
      limitRefusal(parts, { stored: stored().filter(createdBefore(revision)), writing }, counted.who, decision);
    const refused = refusal(Number.POSITIVE_INFINITY, 0);
    if (refused !== undefined) throw refused;
    parts.requireRightClock();
    const metadata = { ...sent.metadata, name: newHandle(parts.randomBytes) };
    const labels = {
      ...clientLabels(metadata.labels),
      [REQUESTER_LABEL]: requesterId(caller.as(undefined)),
      [COUNTED_LABEL]: countId,
      [REQUEST_CLUSTER_LABEL]: account.cluster,
      [REQUEST_NAMESPACE_LABEL]: account.namespace,
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
          status: { ...newStatus(parts, spec, decision, cluster.uid), ...ofAccount },
        }),
        bound: { pending, key: countId, refusal },
      },
    );
    request.nameObject(object.metadata.name ?? '');
    annotate(request, object);
    return writeResponse(parts, request, kind, object, { code: 201 });
  };
}

const requireValid = ({ catalog }: PassParts, errors: readonly FieldError[]): void => {
  if (errors.length > 0) throw invalid(catalog.passes, '', [...errors]);
};

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
  return { id: agent.id, name: oneLine(agent.name) };
}

/** The client chose the name, and its person cannot correct it: what does not fit is cut. */
const oneLine = (name: string): string =>
  withoutTokenWords(name.replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ').slice(0, MAX_CLIENT_NAME)).toWellFormed();

/**
 * The cluster of the account. After the permission: then a 404 tells nothing that a TokenRequest would not tell. The
 * tokens of an account that is being deleted work for a minute, and a pass lasts ten at least.
 */
async function requireAccount(
  { catalog, reader, issuesOwnTokens }: PassParts,
  account: PassAccount,
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
  account: PassAccount,
  isAgent: boolean,
): (cluster: string) => boolean {
  return (cluster) => {
    const { allowed, approval } = rules.decide(caller, { ...account, cluster }, isAgent);
    return allowed && approval === 'none';
  };
}

function durationOf(parts: PassParts, { durationSeconds }: PassSpec, cluster: StoredObject): number {
  const { maxDurationSeconds: max } = parts.limits;
  const issuesItself = parts.issuesOwnTokens(cluster);
  const seconds = durationSeconds ?? (issuesItself ? max : MIN_PASS_SECONDS);
  const wrong = (why: string): FieldError => invalidValue('spec.durationSeconds', seconds, why);
  if (seconds > max) requireValid(parts, [wrong(`must be no more than ${max} seconds`)]);
  if (issuesItself && seconds < MIN_SECONDS_OF_ISSUING_CLUSTER) {
    const why = `must be at least ${MIN_SECONDS_OF_ISSUING_CLUSTER} seconds: the cluster issues its own tokens, of ten minutes at least`;
    requireValid(parts, [wrong(why)]);
  }
  return seconds;
}

/**
 * MC-92, MC-94: the same request gives the same pass while it waits for its approval, and after that until its first
 * redemption. Then the approval is used: the next request needs another one. A pass that needs no approval is new each
 * time.
 */
function isUnused(parts: PassParts, entry: StoredObject, decision: PassDecision, cluster: StoredObject): boolean {
  const leftMs = Date.parse(entry.field(PASS_EXPIRY_FIELD)) - parts.now();
  if (!isLivePhase(entry.field('status.phase')) || !(leftMs > 0)) return false;
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

interface PassCount {
  readonly stored: readonly StoredObject[];
  /** How many are being written, and may be stored soon. */
  readonly writing: number;
}

/** Why there is no room for another pass. */
function limitRefusal(
  parts: PassParts,
  { stored, writing }: PassCount,
  who: string,
  { approval }: PassDecision,
): ApiError | undefined {
  const { limits, now, catalog } = parts;
  const live = stored.filter((entry) => isLivePhase(entry.field('status.phase')));
  const pending = live.filter((entry) => entry.field('status.phase') === 'Pending');
  const wait = (entries: readonly StoredObject[]): number => {
    const ends = entries.map((entry) => Date.parse(entry.field(PASS_EXPIRY_FIELD)));
    return Math.max(1, Math.ceil((Math.min(...ends, now() + PENDING_MS) - now()) / 1000));
  };
  const { maxHandles, maxPending } = limits;
  if (live.length + writing >= maxHandles) {
    const text = `${who} ${maxHandles} live passes with this client, the most that are allowed: revoke one, or wait`;
    return tooManyRequests(text, wait(live));
  }
  if (approval !== 'none' && pending.length + writing >= maxPending) {
    const text = `${who} ${maxPending} passes that wait for an approval, the most that are allowed: revoke one, or wait`;
    return tooManyRequests(text, wait(pending));
  }
  if (stored.length + writing >= maxHandles * STORED_PER_LIVE) {
    return forbidden(catalog.passes, '', `${who} too many passes, live and ended: delete some, or wait an hour`);
  }
  return undefined;
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
    const bindings = namespace === '' ? catalog.clusterRoleBindings : catalog.roleBindings;
    const revision = reader.find(bindings, { cluster: '', namespace, name })?.revision;
    return {
      kind,
      ...(namespace === '' ? {} : { namespace }),
      name,
      ...(revision === undefined ? {} : { resourceVersion: String(revision) }),
    };
  }
}
