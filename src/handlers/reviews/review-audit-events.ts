import {
  CREDENTIAL_ID,
  ISSUED_CREDENTIAL_ID,
  jtiIn,
  REVOKED_CREDENTIAL_ID,
  REVOKED_CREDENTIAL_IDS,
} from '../../api/caller.ts';
import { fleetKey } from '../../api/kind.ts';
import {
  type AuditEventReview,
  type AuditEventSummary,
  auditEventReviewType,
} from '../../api/kinds/audit-event-review.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { USERPASS } from '../../api/kinds/token-request.ts';
import { isTokenId } from '../../api/names.ts';
import { DRY_RUN_ANNOTATION } from '../../api/request.ts';
import { type FieldError, invalidValue, requireValid } from '../../api/status.ts';
import { defined } from '../../lib/json.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { CLUSTER_ANNOTATION, PASSES_ANNOTATION, readPasses } from '../../observability/audit/listed-passes.ts';
import type { Review } from './review.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 500;

type Spec = NonNullable<AuditEventReview['spec']>;

/**
 * The last events that match. Below the path of a cluster, only events about that cluster, and none of an earlier one
 * of its name: the permission may be for the new one alone.
 */
export const reviewAuditEvents: Review = async ({ recentEvents, catalog, reader }, request, sent) => {
  const { spec = {} } = sent as AuditEventReview;
  requireValid(auditEventReviewType, '', specErrors(spec, request.target.cluster));
  const wanted: Spec = { ...spec, cluster: request.target.cluster ?? spec.cluster ?? '' };
  const key = fleetKey(request.target.cluster ?? '');
  const created = reader.find(catalog.clusters, key)?.object().metadata.creationTimestamp ?? '';
  const { instance, sequence } = recentEvents;
  const after = spec.instance === instance ? (spec.after ?? 0) : 0;
  const limit = spec.limit ?? DEFAULT_LIMIT;
  const events: AuditEventSummary[] = [];
  const { work } = request;
  await work.turn();
  let incomplete = false;
  for (const found of recentEvents.find(after)) {
    if (work.isUsedUp) await work.turn();
    const matching = linesOf(JSON.parse(found.line) as AuditLine)
      .map((line) => summaryOf(line, wanted))
      .filter((event) => matches(event, wanted) && !isBefore(event, created));
    incomplete = events.length + matching.length > limit;
    events.push(...matching.slice(0, limit - events.length));
    if (incomplete) break;
  }
  // Read after the pauses, in which lines may be forgotten, and rounded up to a whole second.
  const since = toTimestamp(recentEvents.since + 999);
  return { status: { events, incomplete, instance, sequence, since } };
};

function specErrors({ cluster = '', credentialID = '', limit = 1, after = 0 }: Spec, pathCluster = ''): FieldError[] {
  return [
    ...(pathCluster === '' || cluster === '' || cluster === pathCluster
      ? []
      : [invalidValue('spec.cluster', cluster, `must be ${JSON.stringify(pathCluster)}, the cluster of the path`)]),
    ...(credentialID === '' || isTokenId(credentialID)
      ? []
      : [invalidValue('spec.credentialID', credentialID, 'must be the id of a token (its claim jti): a UUID')]),
    ...(limit >= 1 && limit <= MAX_LIMIT
      ? []
      : [invalidValue('spec.limit', limit, `must be between 1 and ${MAX_LIMIT}`)]),
    ...(after >= 0 ? [] : [invalidValue('spec.after', after, 'must not be negative')]),
  ];
}

/** Creation times have whole seconds. */
const isBefore = ({ time = '' }: AuditEventSummary, created: string): boolean => Date.parse(time) < Date.parse(created);

function matches(
  event: AuditEventSummary,
  { cluster, user = '', credentialID = '', changesOnly = false, failuresOnly = false }: Spec,
): boolean {
  const ids = [event.credentialID, event.issuedCredentialID, event.revokedCredentialID];
  return (
    (cluster === '' || event.cluster === cluster) &&
    (user === '' || event.user === user || event.impersonatedUser === user) &&
    (credentialID === '' || ids.includes(credentialID)) &&
    !(changesOnly && isRead(event)) &&
    !(failuresOnly && (event.code ?? 0) < 400)
  );
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head']);

/** Reviews read, although they are sent by POST. A refused read is worth seeing. */
const isRead = ({ verb = '', dryRun = false, resource = '', code = 0 }: AuditEventSummary): boolean =>
  dryRun || ((code < 400 || code === 404) && (READS.has(verb) || resource.endsWith('reviews')));

type Texts<Name extends string> = Partial<Readonly<Record<Name, string>>>;

/** What auditLine and serverEvent write. */
interface AuditLine extends Texts<'auditID' | 'stage' | 'requestURI' | 'verb' | 'userAgent' | 'stageTimestamp'> {
  readonly user?: Texts<'username'> & {
    readonly groups?: string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
  readonly impersonatedUser?: Texts<'username'>;
  readonly sourceIPs?: readonly string[];
  readonly objectRef?: Texts<'resource' | 'subresource' | 'namespace' | 'name' | 'apiGroup'>;
  readonly responseStatus?: { readonly code?: number; readonly reason?: string | undefined } | undefined;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A list of passes is one line; each of its passes is shown as an event. */
function linesOf(line: AuditLine): AuditLine[] {
  const { [PASSES_ANNOTATION]: passes, ...annotations } = line.annotations ?? {};
  if (passes === undefined) return [line];
  // What a list that failed has issued was not released.
  const isReleased = (line.responseStatus?.code ?? 0) < 400;
  return readPasses(passes).map(({ code, reason, cluster, account, annotations: own }) => ({
    ...line,
    objectRef:
      account === undefined
        ? { resource: 'clusters', subresource: USERPASS, name: cluster, apiGroup: CLUSTER_GROUP }
        : { resource: 'serviceaccounts', subresource: 'token', ...account },
    responseStatus: isReleased || code >= 400 ? { code, reason } : line.responseStatus,
    annotations: { ...annotations, ...own },
  }));
}

function summaryOf(line: AuditLine, wanted: Spec): AuditEventSummary {
  const { user, impersonatedUser, objectRef = {}, responseStatus, annotations = {} } = line;
  const { resource, subresource } = objectRef;
  return defined({
    auditID: line.auditID,
    stage: line.stage,
    time: line.stageTimestamp,
    verb: line.verb,
    dryRun: annotations[DRY_RUN_ANNOTATION] === undefined ? undefined : true,
    path: line.requestURI,
    user: user?.username,
    // Every line would repeat them.
    groups: user?.username === wanted.user ? user?.groups : undefined,
    impersonatedUser: impersonatedUser?.username,
    cluster: annotations[CLUSTER_ANNOTATION],
    group: objectRef.apiGroup,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace: objectRef.namespace,
    name: objectRef.name,
    code: responseStatus?.code,
    reason: responseStatus?.reason,
    decision: annotations['authorization.k8s.io/reason'],
    sourceIP: line.sourceIPs?.[0],
    userAgent: line.userAgent,
    credentialID: tokenIdIn(user?.extra?.[CREDENTIAL_ID]?.[0]),
    issuedCredentialID: tokenIdIn(annotations[ISSUED_CREDENTIAL_ID]),
    revokedCredentialID: revokedIn(annotations, wanted),
  });
}

/** The end of a pass revokes several tokens: the one that the review is about, else the first. */
function revokedIn(annotations: NonNullable<AuditLine['annotations']>, { credentialID }: Spec): string | undefined {
  const texts = annotations[REVOKED_CREDENTIAL_ID] ?? annotations[REVOKED_CREDENTIAL_IDS];
  const ids = texts?.split(',').map(jtiIn) ?? [];
  return ids.find((id) => id === credentialID) ?? ids[0];
}

const tokenIdIn = (text: string | undefined): string | undefined => (text === undefined ? undefined : jtiIn(text));
