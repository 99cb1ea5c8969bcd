import type { PassDecision, PassHolder } from '../../api/authorization.ts';
import { exactDuration } from '../../api/codec/go-text/human-duration.ts';
import { type ApiObject, fleetKey, type ObjectKey, type ObjectMeta } from '../../api/kind.ts';
import {
  MAX_CLIENT_NAME,
  MIN_PASS_SECONDS,
  type PassSpec,
  type PassStatus,
  passAccount,
  passErrors,
  passSpec,
} from '../../api/kinds/pass-spec.ts';
import type { ApiRequest } from '../../api/request.ts';
import {
  badRequest,
  type FieldError,
  forbidden,
  forbiddenField,
  invalidValue,
  notFound,
  requireValid,
} from '../../api/status.ts';
import { cleanText, withoutTokenWords } from '../../lib/text.ts';
import { requireParents } from '../../objects/parents.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { isPersonKnown, unknownPerson, userOf } from '../approvals/people.ts';
import { foreignAudienceCheck } from '../token/foreign-audiences.ts';
import { audienceErrors, WAITS_FOR_FINALIZERS, withoutDuplicates } from '../token/parse-token-request.ts';
import { accountUID, annotateAccount, holderOf, type PassParts } from './pass.ts';

/** A cluster that issues its own tokens grants ten minutes at least, and the first redemption comes a little later. */
const MIN_SECONDS_OF_ISSUING_CLUSTER = 660;

/** A pass that the caller may have. */
export interface CheckedPass {
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
export async function checkPassRequest(parts: PassParts, request: ApiRequest, sent: ApiObject): Promise<CheckedPass> {
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

function durationOf(parts: PassParts, { durationSeconds }: PassSpec, cluster: StoredObject): number {
  const { maxDurationSeconds: max } = parts.limits;
  const issuesOwnTokens = parts.issuesOwnTokens(cluster);
  const seconds = durationSeconds ?? (issuesOwnTokens ? max : MIN_PASS_SECONDS);
  const wrong = (why: string): FieldError[] => [invalidValue('spec.durationSeconds', seconds, why)];
  if (seconds > max) requireValid(parts.catalog.passes, '', wrong(`must be no more than ${exactDuration(max)}`));
  const least = `must be at least ${exactDuration(MIN_SECONDS_OF_ISSUING_CLUSTER)}: the cluster issues its own tokens, of ten minutes at least`;
  if (issuesOwnTokens && seconds < MIN_SECONDS_OF_ISSUING_CLUSTER) requireValid(parts.catalog.passes, '', wrong(least));
  return seconds;
}
