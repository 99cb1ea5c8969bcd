import type { Catalog } from '../../api/catalog.ts';
import { forbiddenField } from '../../api/field-error.ts';
import type { ApiObject, ObjectMeta } from '../../api/kind.ts';
import {
  type BoundObjectReference,
  TOKEN_ANNOTATIONS,
  type TokenRequest,
  tokenRequestType,
} from '../../api/kinds/token-request.ts';
import { isDns1123Label, isDns1123Subdomain } from '../../api/names.ts';
import type { ApiRequest } from '../../api/request.ts';
import { badGateway, notFound } from '../../api/status.ts';
import {
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCluster,
  UpstreamError,
} from '../../clusters/upstream/upstream-contract.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { requireOwners } from '../../objects/owners.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { type GrantedToken, readTokenResponse, UnexpectedResponse } from '../../tokens/forwarding/token-response.ts';
import { checkReference } from './bound-object.ts';
import type { AskedToken } from './read-token-request.ts';
import { checkName, refuseIfInvalid } from './request-checks.ts';
import { annotationField, lifetimeErrors, type TokenRequestAnnotations } from './token-request-annotations.ts';
import { fromAnswer, fromFailure, refusesCredential } from './upstream-errors.ts';

/** How a use of a cluster's credential went. */
export type CredentialOutcome = 'accepted' | 'refused' | 'unusable';

export interface ForwardTokenParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly upstream: Pick<Upstream, 'request'>;
  /** Undefined when the desk issues the tokens of this cluster. */
  readonly issuingCluster: (cluster: StoredObject) => UpstreamCluster | undefined;
  /** Told how the credential fared; must not throw. */
  readonly report: (cluster: StoredObject, outcome: CredentialOutcome, why: string) => void;
  readonly maxExpirationSeconds: number;
  readonly now: () => number;
}

/** The answer of a cluster that issues its tokens itself; undefined when this one does not. */
export type Forwarding = (
  request: ApiRequest,
  asked: AskedToken,
  options: { readonly dryRun: boolean },
) => Promise<ApiObject | undefined>;

const TIMEOUT_MS = 10_000;
/** kube-apiserver takes this number for its own kubelets and grants a year instead; nobody here gets that. */
const EXTENDED_SECONDS = 3607;

const NOT_TRACKED = forbiddenField(
  annotationField(TOKEN_ANNOTATIONS.tracked),
  'the tokens of this cluster are its own, and can be neither listed nor revoked here',
);

/**
 * The token request of a cluster that issues for itself. The caller was authorized here; what is sent is made anew
 * from what was understood of the request, with the desk's own credential; and what comes back is looked at
 * before it is given away. The accounts of such a cluster need not exist here: the cluster knows them.
 */
export function createForwarding(parts: ForwardTokenParts): Forwarding {
  const { catalog, reader } = parts;
  return async (request, asked, { dryRun }) => {
    const { sent, wishes, audiences } = asked;
    const { cluster: clusterName = '', namespace, name } = request.target;
    const stored = await reader.findFresh(catalog.clusters, { cluster: '', namespace: '', name: clusterName });
    const cluster = stored === undefined ? undefined : parts.issuingCluster(stored);
    if (stored === undefined || cluster === undefined) return undefined;
    await requireOwners(catalog, reader, catalog.namespaces, { cluster: clusterName, namespace: '', name: namespace });
    // They become parts of a path. What cannot be a name does not exist anywhere.
    if (isDns1123Label(namespace).length > 0) throw notFound(catalog.namespaces, namespace);
    if (isDns1123Subdomain(name).length > 0) throw notFound(catalog.serviceAccounts, name);
    checkName(sent, name);
    refuseIfInvalid(wishes.tracked ? [...asked.errors, NOT_TRACKED] : asked.errors);
    const boundTo = sent.spec?.boundObjectRef;
    if (boundTo !== undefined) checkReference(catalog, boundTo);
    const wanted = asked.expirationSeconds;
    const limit = Math.min(wanted, parts.maxExpirationSeconds);
    const allowed = limit === EXTENDED_SECONDS ? limit - 1 : limit;
    refuseIfInvalid(lifetimeErrors(wishes, { asked: wanted, granted: allowed }));
    for (const annotation of asked.unknown) request.warn(`unknown annotation ${JSON.stringify(annotation)} is ignored`);

    const now = parts.now();
    if (dryRun) {
      // The cluster could not be asked without signing: kube-apiserver signs for a dry run, too.
      const issuedAt = Math.floor(now / 1000);
      const predicted = { ...UNISSUED, audiences, issuedAt, expiresAt: issuedAt + allowed };
      warnOfLess(request, wishes, { asked: wanted, audiences, granted: predicted });
      return answer(sent, request, predicted, now);
    }
    const body = requestBody(request, sent, { audiences, expirationSeconds: allowed, boundTo });
    const answered = await ask(parts, stored, cluster, request, body);
    const expected = {
      namespace,
      serviceAccount: name,
      audiences,
      boundTo,
      expirationSeconds: allowed,
      now: parts.now(),
    };
    const granted = readGranted(clusterName, answered, expected);
    refuseIfInvalid(lifetimeErrors(wishes, { asked: wanted, granted: secondsOf(granted) }));
    warnOfLess(request, wishes, { asked: wanted, audiences, granted });
    if (granted.id !== undefined) {
      request.annotate('authentication.kubernetes.io/issued-credential-id', `JTI=${granted.id}`);
    }
    return answer(sent, request, granted, now);
  };
}

const UNISSUED = { token: '', accountUid: '', issuer: undefined, id: undefined };

const secondsOf = ({ issuedAt, expiresAt }: GrantedToken): number => expiresAt - issuedAt;

/** T-27: never silently. */
function warnOfLess(
  { target, warn }: ApiRequest,
  { forCluster }: TokenRequestAnnotations,
  { asked, audiences, granted }: { asked: number; audiences: readonly string[]; granted: GrantedToken },
): void {
  const seconds = secondsOf(granted);
  if (seconds < asked) warn(`requested expiration of ${asked} seconds shortened to ${seconds} seconds`);
  // What its API goes by is known to the cluster alone. Without other settings it is its issuer.
  const { issuer } = granted;
  const opens = audiences.length === 0 || (issuer !== undefined && audiences.includes(issuer));
  if (forCluster && !opens) {
    warn(
      `this token may not open the API of cluster "${target.cluster}", which knows its own audience: ` +
        'leave spec.audiences empty for a token that does',
    );
  }
}

/** Nothing of the request goes on that was not read and checked here. */
function requestBody(
  { target }: ApiRequest,
  { metadata }: TokenRequest,
  spec: { audiences: readonly string[]; expirationSeconds: number; boundTo: BoundObjectReference | undefined },
): Buffer {
  const uid = metadata?.uid ?? '';
  const { audiences, expirationSeconds, boundTo } = spec;
  const { kind, apiVersion, name, uid: boundUid } = boundTo ?? {};
  return Buffer.from(
    JSON.stringify({
      apiVersion: `${tokenRequestType.group}/${tokenRequestType.version}`,
      kind: tokenRequestType.kind,
      metadata: { name: target.name, namespace: target.namespace, ...(uid === '' ? {} : { uid }) },
      spec: {
        audiences,
        expirationSeconds,
        ...(boundTo === undefined ? {} : { boundObjectRef: { kind, apiVersion, name, uid: boundUid } }),
      },
    }),
  );
}

async function ask(
  { upstream, report }: ForwardTokenParts,
  stored: StoredObject,
  cluster: UpstreamCluster,
  { target, signal, annotate }: ApiRequest,
  body: Buffer,
): Promise<UpstreamAnswer> {
  const path = `/api/v1/namespaces/${target.namespace}/serviceaccounts/${target.name}/token`;
  try {
    const answered = await upstream.request(cluster, {
      method: 'POST',
      path,
      body,
      credential: true,
      timeoutMs: TIMEOUT_MS,
      signal,
    });
    annotate('clusterpass.dev/upstream-status', String(answered.status));
    if (refusesCredential(answered)) report(stored, 'refused', `the cluster answered ${answered.status}`);
    else if (answered.status < 500) report(stored, 'accepted', '');
    return answered;
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    annotate('clusterpass.dev/upstream-failure', error.reason);
    if (error.reason === 'credential') report(stored, 'unusable', error.message);
    throw fromFailure(cluster.name, error);
  }
}

function readGranted(
  cluster: string,
  answered: UpstreamAnswer,
  expected: Parameters<typeof readTokenResponse>[1],
): GrantedToken {
  if (answered.status !== 201 && answered.status !== 200) throw fromAnswer(cluster, answered);
  try {
    return readTokenResponse(answered.body, expected);
  } catch (error) {
    if (!(error instanceof UnexpectedResponse)) throw error;
    throw badGateway(`the answer of cluster ${JSON.stringify(cluster)} cannot be used: ${error.message}`, error);
  }
}

/** T-04, T-05, T-07: the request comes back with what was granted. */
function answer(sent: TokenRequest, { target }: ApiRequest, granted: GrantedToken, now: number): ApiObject {
  const { managedFields: _, uid: _uid, ...metadata }: ObjectMeta = sent.metadata ?? {};
  const { accountUid } = granted;
  return {
    kind: tokenRequestType.kind,
    apiVersion: `${tokenRequestType.group}/${tokenRequestType.version}`,
    metadata: {
      ...metadata,
      name: target.name,
      namespace: target.namespace,
      ...(accountUid === '' ? {} : { uid: accountUid }),
      creationTimestamp: toTimestamp(now),
    },
    spec: {
      audiences: [...granted.audiences],
      expirationSeconds: secondsOf(granted),
      boundObjectRef: sent.spec?.boundObjectRef ?? null,
    },
    status: { token: granted.token, expirationTimestamp: toTimestamp(granted.expiresAt * 1000) },
  };
}
