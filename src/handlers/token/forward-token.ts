import { credentialIdOf, ISSUED_CREDENTIAL_ID } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { apiVersionOf } from '../../api/kind.ts';
import { CONTROLLER_FIELD } from '../../api/kinds/cluster.ts';
import { CONNECTOR_REFERENCE } from '../../api/kinds/cluster-spec.ts';
import {
  type BoundObjectReference,
  type GrantedTokenRequest,
  TOKEN_ANNOTATIONS,
  tokenRequestType,
} from '../../api/kinds/token-request.ts';
import { isDns1123Label, isDns1123Subdomain } from '../../api/names.ts';
import { ApiError, badGateway, forbiddenField, notFound, timeout, tooManyRequests } from '../../api/status.ts';
import type { ClusterIdentity } from '../../clusters/upstream/cluster-identity.ts';
import {
  describeCluster,
  type Upstream,
  type UpstreamAnswer,
  UpstreamError,
} from '../../clusters/upstream/upstream-contract.ts';
import { InFlightCounts } from '../../lib/in-flight-counts.ts';
import { asJsonObject } from '../../lib/json.ts';
import { cleanText } from '../../lib/text.ts';
import { requireParents } from '../../objects/parents.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import {
  type GrantedToken,
  parseUpstreamJson,
  readTokenResponse,
  UnexpectedResponse,
} from '../../tokens/forwarding/token-response.ts';
import type { Lifetime } from '../../tokens/grant-lifetime.ts';
import { checkReference } from './bound-object.ts';
import { type AskedAccount, createTokenOrder, type OrderParts } from './order-token.ts';
import {
  annotationField,
  checkName,
  checkUid,
  type ParsedTokenRequest,
  requireValidRequest,
} from './parse-token-request.ts';
import { checkMinExpiration, requireLifetime, warnOfEarlierExpiry } from './sign-token.ts';
import { CREATED, grantedTokenRequest, type TokenGrant, type TokenHolder, type TokenInput } from './token-input.ts';

export type CredentialOutcome = 'accepted' | 'refused' | 'unusable' | 'otherCluster';

export interface ForwardTokenParts extends OrderParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  /** Undefined without --credentials-dir. */
  readonly upstream: Pick<Upstream, 'request'> | undefined;
  /** Undefined without it, too. */
  readonly identity: Pick<ClusterIdentity, 'problem'> | undefined;
  readonly productName: string;
  /** Called after each request with a credential; must not throw. */
  readonly report: (cluster: StoredObject, outcome: CredentialOutcome, why: string) => void;
  readonly maxExpirationSeconds: number;
  /** How many requests to one cluster may be in flight. */
  readonly maxInFlightPerCluster: number;
  readonly now: () => number;
}

/** Whether a cluster names a credential for the server, or a connector: then it issues its own tokens. */
export const issuesOwnTokens = (cluster: StoredObject): boolean => cluster.field(CONTROLLER_FIELD) !== '';

export const takesOrders = (cluster: StoredObject): boolean => cluster.field(CONTROLLER_FIELD) === CONNECTOR_REFERENCE;

/** The TokenRequest that a cluster answers which issues its own tokens. */
export type ForwardToken = (
  cluster: StoredObject,
  tokenRequest: ParsedTokenRequest,
  grant: TokenGrant,
  /** The account that stands for a person, in place of the one in the path. */
  standsIn?: AskedAccount,
) => Promise<GrantedTokenRequest>;

/** Without --credentials-dir the server issues for every cluster that has no connector. */
export const issuesOwnTokensWith = (credentialsDir: string | undefined): ((cluster: StoredObject) => boolean) =>
  credentialsDir === undefined ? takesOrders : issuesOwnTokens;

const TIMEOUT_MS = 10_000;

const NOT_TRACKED = forbiddenField(
  annotationField(TOKEN_ANNOTATIONS.tracked),
  'the tokens of this cluster are its own, and can be neither listed nor revoked here',
);

/**
 * A token request for a cluster that issues its own tokens. The caller was authorized here. What the cluster is asked,
 * with the server's credential or by an order to its connector, is built from the parsed request; the answer is checked
 * before the caller gets it. The service accounts of such a cluster need not exist here.
 */
export function createForwardToken(parts: ForwardTokenParts): ForwardToken {
  const { catalog, reader } = parts;
  const inFlight = new InFlightCounts();
  return async (cluster, tokenRequest, grant, standsIn) => {
    const { pass } = grant;
    const { request, sent, dryRun, annotations, audiences } = tokenRequest;
    const account: AskedAccount = standsIn ?? request.target;
    const { namespace, name, person } = account;
    if (person === undefined) {
      const objectKey = { cluster: cluster.name, namespace: '', name: namespace };
      await requireParents(catalog, reader, catalog.namespaces, objectKey);
      // Both become segments of a path. An invalid name cannot exist in any cluster.
      if (isDns1123Label(namespace).length > 0) throw notFound(catalog.namespaces, namespace);
      if (isDns1123Subdomain(name).length > 0) throw notFound(catalog.serviceAccounts, name);
      checkName(sent, name);
    }
    const order = takesOrders(cluster) ? createTokenOrder(parts, { cluster, tokenRequest, grant, account }) : undefined;
    const hasNoRecord = annotations.tracked && order?.isRevocable !== true;
    requireValidRequest(hasNoRecord ? [...tokenRequest.errors, NOT_TRACKED] : tokenRequest.errors);
    const boundTo = sent.spec?.boundObjectRef;
    if (boundTo !== undefined) checkReference(catalog, boundTo);
    const requested = tokenRequest.expirationSeconds;
    const now = parts.now();
    const serverSeconds = parts.maxExpirationSeconds;
    const lifetime = requireLifetime(tokenRequest, grant, {
      now,
      serverSeconds,
      byCluster: true,
      ...person?.bounds,
    });
    const expirationSeconds = lifetime.seconds;
    order?.requireReady();
    const holder = person?.holder ?? { namespace, name };

    if (dryRun) {
      // The cluster is not asked: kube-apiserver signs for a dry run, too.
      const issuedAt = Math.floor(now / 1000);
      const predicted = { ...UNISSUED, audiences, issuedAt, expiresAt: issuedAt + expirationSeconds };
      warnOfLess(tokenRequest, lifetime, predicted);
      await request.willAnswer(CREATED);
      return answer(sent, holder, predicted, now);
    }
    const accept = (answered: UpstreamAnswer): GrantedToken => {
      const granted = readGranted(cluster.name, `${namespace}/${name}`, answered, order && 'its connector', {
        namespace,
        serviceAccount: name,
        audiences,
        boundTo: order?.boundTo ?? boundTo,
        expirationSeconds,
        now: parts.now(),
      });
      if (person === undefined) checkUid(sent, { name, uid: granted.accountUid });
      checkMinExpiration(annotations, { requested, granted: secondsOf(granted) });
      warnOfLess(tokenRequest, lifetime, granted);
      return granted;
    };
    const ask = async () => {
      if (order !== undefined) return order.issue(expirationSeconds, accept);
      const body = requestBody(request, sent, { audiences, expirationSeconds, boundTo });
      return { granted: accept(await send(parts, cluster, request, body)), recordId: undefined };
    };
    const release = reserve(inFlight, cluster.name, parts.maxInFlightPerCluster);
    const { granted, recordId } = await ask().finally(release);
    const { id, expiresAt } = granted;
    await pass?.recordToken(recordId ?? id, expiresAt * 1000, recordId === undefined ? 'cluster' : 'ours');
    if (id !== undefined) request.annotate(ISSUED_CREDENTIAL_ID, credentialIdOf(id));
    await request.willAnswer(CREATED);
    return answer(sent, holder, granted, now);
  };
}

/** Limits the requests in flight to a cluster: one that hangs must not hold every seat for tokens. */
function reserve(inFlight: InFlightCounts, cluster: string, max: number): () => void {
  const before = inFlight.of(cluster);
  if (before < max) return inFlight.add(cluster);
  const text = `cluster ${goQuote(cluster)} has not answered ${before} token requests yet, please try again later`;
  throw tooManyRequests(text, 1);
}

const UNISSUED = { token: '', accountUid: '', issuer: undefined, id: undefined };

const secondsOf = ({ issuedAt, expiresAt }: GrantedToken): number => expiresAt - issuedAt;

/** Of an earlier expiry, and of another audience. */
function warnOfLess(tokenRequest: ParsedTokenRequest, lifetime: Lifetime, granted: GrantedToken): void {
  const { audiences, annotations, request } = tokenRequest;
  const { target, warn } = request;
  // The cluster may grant less than it was asked for, and says no reason.
  const seconds = secondsOf(granted);
  warnOfEarlierExpiry(tokenRequest, seconds < lifetime.seconds ? { ...lifetime, seconds, bound: undefined } : lifetime);
  // Only the cluster knows the audience of its API. By default it is its issuer.
  const { issuer } = granted;
  const opens = audiences.length === 0 || (issuer !== undefined && audiences.includes(issuer));
  if (annotations.forCluster && !opens) {
    warn(
      `this token may not open the API of cluster "${target.cluster}", which knows its own audience: ` +
        'leave spec.audiences empty for a token that does',
    );
  }
}

/** Only fields that were parsed and checked here are forwarded. */
function requestBody(
  { target }: TokenInput['request'],
  { metadata }: TokenInput['sent'],
  spec: { audiences: readonly string[]; expirationSeconds: number; boundTo: BoundObjectReference | undefined },
): Buffer {
  const uid = metadata?.uid ?? '';
  const { audiences, expirationSeconds, boundTo } = spec;
  const { kind, apiVersion, name, uid: boundUid } = boundTo ?? {};
  return Buffer.from(
    JSON.stringify({
      apiVersion: apiVersionOf(tokenRequestType),
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

async function send(
  { upstream, identity, productName, report }: ForwardTokenParts,
  stored: StoredObject,
  { target, signal, annotate }: TokenInput['request'],
  body: Buffer,
): Promise<UpstreamAnswer> {
  const path = `/api/v1/namespaces/${target.namespace}/serviceaccounts/${target.name}/token`;
  if (upstream === undefined) throw new Error('a cluster is asked without --credentials-dir');
  const object = stored.object();
  const cluster = describeCluster(object, productName);
  try {
    const problem = await identity?.problem(object, cluster, TIMEOUT_MS);
    if (problem !== undefined) {
      report(stored, 'otherCluster', problem);
      throw badGateway(`cluster ${goQuote(stored.name)} did not issue a token: ${problem}`);
    }
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
    throw fromFailure(stored.name, error);
  }
}

function readGranted(
  cluster: string,
  account: string,
  answered: UpstreamAnswer,
  asker: string | undefined,
  expected: Parameters<typeof readTokenResponse>[1],
): GrantedToken {
  if (answered.status !== 201 && answered.status !== 200) throw fromAnswer(cluster, account, answered, asker);
  try {
    return readTokenResponse(answered.body, expected);
  } catch (error) {
    if (!(error instanceof UnexpectedResponse)) throw error;
    throw badGateway(`the answer of cluster ${JSON.stringify(cluster)} cannot be used: ${error.message}`, error);
  }
}

function answer(
  sent: TokenInput['sent'],
  holder: Omit<TokenHolder, 'uid'> & Partial<TokenHolder>,
  granted: GrantedToken,
  now: number,
): GrantedTokenRequest {
  const { token, audiences, issuedAt, expiresAt, accountUid: uid } = granted;
  const claims = { aud: [...audiences], iat: issuedAt, exp: expiresAt };
  return grantedTokenRequest(sent, { holder: { uid, ...holder }, claims, token, now });
}

/**
 * Errors of a cluster as errors of this API: its headers, and codes that are about our credential, are not passed on.
 */

/** Codes that are about the caller's request. */
const PASSED_ON: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  404: 'NotFound',
  409: 'Conflict',
  422: 'Invalid',
};

const MAX_TEXT = 1024;
const MAX_RETRY_SECONDS = 60;

const named = (cluster: string): string => `cluster ${goQuote(cluster)}`;

/** Whether the cluster refuses our credential. With a 403 it accepts it, and the role of it does not allow enough. */
const refusesCredential = ({ status }: UpstreamAnswer): boolean => status === 401;

/** `account`: `namespace/name`. `asker`: who has asked. The message of a 403 is not passed on: it names that user. */
export function fromAnswer(
  cluster: string,
  account: string,
  { status, headers, body }: UpstreamAnswer,
  asker = 'the credential of Clusterpass',
): ApiError {
  const foreign = readStatus(body);
  if (status === 401) {
    return badGateway(`${named(cluster)} does not accept ${asker} (it answered 401)`);
  }
  if (status === 403 && !isTerminating(foreign)) {
    return badGateway(
      `${named(cluster)} does not allow ${asker} to create serviceaccounts/token of ` +
        `${goQuote(account)} (it answered 403)`,
    );
  }
  const { message } = foreign;
  const reason = status === 403 ? 'Forbidden' : PASSED_ON[status];
  if (reason !== undefined) {
    const text = typeof message === 'string' ? cleanText(message, MAX_TEXT) : '';
    return new ApiError(status, reason, `${named(cluster)}: ${text === '' ? `it answered ${status}` : text}`);
  }
  if (status === 429) {
    const seconds = Number(headers['retry-after']);
    const wait = Number.isInteger(seconds) && seconds > 0 ? Math.min(seconds, MAX_RETRY_SECONDS) : 1;
    return tooManyRequests(`${named(cluster)} has too many requests to answer, please try again later`, wait);
  }
  return badGateway(`${named(cluster)} did not issue a token (it answered ${status})`);
}

export function fromFailure(cluster: string, error: UpstreamError): ApiError {
  const message = `${named(cluster)} did not issue a token: ${error.message}`;
  return error.reason === 'timeout' ? timeout(message) : badGateway(message, error);
}

interface ForeignStatus {
  readonly message: unknown;
  readonly causes: readonly unknown[];
}

/** The parts of a Status that an arbitrary body has. */
function readStatus(body: Buffer): ForeignStatus {
  const status = asJsonObject(parseUpstreamJson(body));
  const { causes } = asJsonObject(status.details);
  return { message: status.message, causes: Array.isArray(causes) ? causes : [] };
}

/** T-12j: a 403 that is about the namespace, not about the credential. */
const isTerminating = ({ causes }: ForeignStatus): boolean =>
  causes.some((cause) => asJsonObject(cause).reason === 'NamespaceTerminating');
