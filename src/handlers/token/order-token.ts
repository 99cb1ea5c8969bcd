import { compactDecrypt, exportJWK, generateKeyPair } from 'jose';
import type { Catalog } from '../../api/catalog.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import {
  ANSWER_ALGORITHMS,
  connectorAudience,
  ORDER_SECONDS,
  ORDER_TYPE,
  type OrderAnswer,
  type OrderClaims,
  passSecretName,
  RENEW_SECONDS,
} from '../../api/connector.ts';
import { CLUSTER_ID_ANNOTATION } from '../../api/domain-keys.ts';
import { type ApiObject, apiVersionOf, fleetKey, storageKey } from '../../api/kind.ts';
import { type ConnectorStatus, connectorSpec, connectorStatus, isConnected } from '../../api/kinds/connector.ts';
import { ISSUED, orderStatus, tokenOrderKind } from '../../api/kinds/token-order.ts';
import type { BoundObjectReference } from '../../api/kinds/token-request.ts';
import { type ApiError, badGateway, conflict, forbidden, timeout, unavailable } from '../../api/status.ts';
import type { UpstreamAnswer } from '../../clusters/upstream/upstream-contract.ts';
import { defined } from '../../lib/json.ts';
import { firstWithin } from '../../lib/promises.ts';
import { cleanText } from '../../lib/text.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { Issuers } from '../../tokens/claims.ts';
import type { GrantedToken } from '../../tokens/forwarding/token-response.ts';
import type { LifetimeBounds } from '../../tokens/grant-lifetime.ts';
import { encodePayload } from '../../tokens/jws.ts';
import { type KeyRing, KeysAreExternal } from '../../tokens/keys/key-ring.ts';
import type { TrackedTokens } from '../../tokens/revocations/tracked-tokens.ts';
import type { ParsedTokenRequest } from './parse-token-request.ts';
import { bindingOf, type SignTokenParts } from './sign-token.ts';
import type { TokenGrant, TokenHolder } from './token-input.ts';

export interface OrderParts
  extends Pick<SignTokenParts, 'reader' | 'tracked' | 'requireRightClock' | 'now' | 'randomUUID'> {
  readonly catalog: Pick<Catalog, 'clusters' | 'connectors' | 'fleetRoleBindings' | 'tokenOrders'>;
  readonly writer: Pick<ObjectWriter, 'create' | 'update' | 'remove'>;
  readonly answers: OrderAnswers;
  readonly issuers: Pick<Issuers, 'issuerFor' | 'baseUrl'>;
  readonly keyRing: Pick<KeyRing, 'signing'>;
}

export interface AskedAccount {
  readonly namespace: string;
  readonly name: string;
  /** For whom it stands. `holder`: the object in the path. */
  readonly person?: {
    readonly name: string;
    readonly group: string;
    readonly holder: TokenHolder;
    readonly bounds: Pick<LifetimeBounds, 'sortSeconds' | 'credentialEndsAt'>;
  };
}

interface Ordered {
  readonly cluster: StoredObject;
  readonly tokenRequest: ParsedTokenRequest;
  readonly grant: TokenGrant;
  readonly account: AskedAccount;
}

/** In the audit log: the order, and the id of the record of the token. The cluster has its own id of the token. */
const ORDER_ANNOTATION = 'clusterpass.dev/order';

/** An order to the connector of a cluster for one token, see src/api/connector.ts. */
export function createTokenOrder(parts: OrderParts, { cluster, tokenRequest, grant, account }: Ordered) {
  const { catalog, reader, writer, answers, issuers, keyRing, requireRightClock, tracked, now } = parts;
  const { request, audiences } = tokenRequest;
  const { namespace, name, person } = account;
  const { boundObjectRef } = tokenRequest.sent.spec ?? {};
  const kind = catalog.tokenOrders;
  const id = parts.randomUUID();
  const key = { cluster: cluster.name, namespace: '', name: id };
  const connector = reader.find(catalog.connectors, fleetKey(cluster.name))?.object();
  const isOwn = connector !== undefined && connectorSpec(connector).clusterUID === cluster.uid;
  const status: ConnectorStatus = isOwn ? connectorStatus(connector) : {};
  const isRevocable = status.revocable === true && boundObjectRef === undefined;
  const secret = passSecretName(id);
  /** What the connector binds the token to, if the request does not say. */
  const boundTo: BoundObjectReference | undefined = isRevocable ? { kind: 'Secret', name: secret } : undefined;
  let record: ReturnType<TrackedTokens['requireRoom']> | undefined;

  /** Throws when the connector cannot be asked now. */
  function requireReady(): void {
    const { caller, work, warn } = request;
    if (!isConnected(status, now())) throw notConnected(cluster.name, status);
    requireRightClock();
    if (isRevocable) record = tracked.requireRoom(caller.impersonator ?? caller, true, work);
    if (boundObjectRef?.name === undefined) return;
    const bound = `${boundObjectRef.kind} "${boundObjectRef.name}"`;
    warn(`this token cannot be revoked here: it ends with ${bound}, or when it expires`);
  }

  /**
   * Creates the order, waits, and reads the answer of the cluster's API server. An order that is not kept is deleted:
   * then the connector ends what it has made for it.
   * @param accept throws for an answer that cannot be used
   */
  async function issue(expirationSeconds: number, accept: (answered: UpstreamAnswer) => GrantedToken) {
    let recordId: string | undefined;
    try {
      // A key for each order: later, no process can read the answers in the history of the store.
      const { publicKey, privateKey } = await generateKeyPair('ECDH-ES');
      const order = await signed(expirationSeconds, await exportJWK(publicKey));
      const spec = { order, expirationTimestamp: toTimestamp(now() + ORDER_SECONDS * 1000) };
      const object = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name: id }, spec };
      request.annotate(ORDER_ANNOTATION, id);
      const create = () => writer.create(kind, key, object, { dryRun: false });
      const sealed = await answers.of(storageKey(kind, key), request.signal, create);
      if (sealed === undefined) throw timeout(`${connectorOf(cluster.name)} has not answered in time`);
      const { refusal, status: code = 0, body = null } = await openAnswer(sealed, privateKey, id, cluster.name);
      if (refusal) throw refused(refusal);
      const granted = accept({ status: Number(code), headers: {}, body: Buffer.from(JSON.stringify(body)) });
      if (record !== undefined) recordId = await keep(granted);
      return { granted, recordId };
    } finally {
      // The sweep removes what could not be removed now.
      if (recordId === undefined) void writer.remove(kind, key, { dryRun: false }).catch(() => {});
    }
  }

  /** From here on the order stands for the token, and the record for the order. */
  async function keep({ audiences: aud, issuedAt: iat, expiresAt: exp, accountUid: uid }: GrantedToken) {
    const issued = (current: ApiObject): ApiObject => {
      // The answer is of no use any more.
      const { claimedBy, claimTime } = orderStatus(current);
      const expirationTimestamp = toTimestamp(exp * 1000);
      return { ...current, status: defined({ claimedBy, claimTime, phase: ISSUED, expirationTimestamp }) };
    };
    await writer.update(kind, key, issued, { dryRun: false, part: 'status' });
    const holder =
      person === undefined ? { 'kubernetes.io': { namespace, serviceaccount: { name, uid } } } : { sub: person.name };
    await record?.(cluster.name, { jti: id, aud, iat, exp, ...holder, secret }, bindingOf(parts, grant));
    return id;
  }

  function refused(refusal: NonNullable<OrderAnswer['refusal']>): ApiError {
    const [reason = '', message = ''] = [refusal.reason, refusal.message].map((text) => cleanText(String(text), 1024));
    const why = `${connectorOf(cluster.name)} refuses it: ${message}`;
    return forbidden(request.target, request.target.name, why, [{ reason, message }]);
  }

  async function signed(expirationSeconds: number, answerKey: OrderClaims['answerKey']): Promise<string> {
    const { name: user, groups } = request.caller.as(undefined);
    const iat = Math.floor(now() / 1000);
    const asked = { audiences, expirationSeconds };
    const identity = cluster.object().metadata.annotations?.[CLUSTER_ID_ANNOTATION];
    const claims: OrderClaims = {
      iss: issuers.issuerFor(cluster.name),
      aud: connectorAudience(issuers.baseUrl, cluster.name),
      ...{ iat, exp: iat + ORDER_SECONDS, jti: id, requester: { user, groups }, revocable: isRevocable, answerKey },
      cluster: { name: cluster.name, uid: cluster.uid, ...(identity === undefined ? {} : { id: identity }) },
      ...(person === undefined
        ? { request: defined({ namespace, serviceAccount: name, ...asked, boundObjectRef }) }
        : { person: { name: person.name, group: person.group, ...asked } }),
    };
    try {
      const { alg, kid, sign } = keyRing.signing();
      const input = `${encodePayload({ alg, kid, typ: ORDER_TYPE })}.${encodePayload(claims)}`;
      return `${input}.${await sign(input)}`;
    } catch (error) {
      if (!(error instanceof KeysAreExternal)) throw error;
      const why = 'its connector takes orders, which an external signer does not sign';
      throw conflict(catalog.clusters, cluster.name, why);
    }
  }

  return { isRevocable, boundTo, requireReady, issue };
}

export function notConnected(cluster: string, { renewTime }: ConnectorStatus = {}): ApiError {
  const since = renewTime === undefined ? '' : ` since ${renewTime}`;
  return unavailable(`${connectorOf(cluster)}, which issues its tokens, has not reported${since}`, RENEW_SECONDS);
}

/**
 * The orders that requests of this process wait for. Answers come with the watch of the store, so it does not matter
 * which replica or worker the connector has written to.
 */
export function createOrderAnswers(reader: Pick<ObjectReader, 'cache'>) {
  /** By the key of the order. */
  const waiting = new Map<string, (sealed: string | undefined) => void>();

  /**
   * Creates the order and waits for its answer; undefined when the order was deleted, when the signal is aborted, and
   * when there is none in time.
   */
  async function of(key: string, signal: AbortSignal, create: () => Promise<unknown>): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const leave = (): void => resolve(undefined);
    waiting.set(key, resolve);
    signal.addEventListener('abort', leave);
    try {
      await create();
      return signal.aborted ? undefined : await firstWithin(ORDER_SECONDS * 1000, promise);
    } finally {
      waiting.delete(key);
      signal.removeEventListener('abort', leave);
    }
  }

  function look(key: string, entry: StoredObject | undefined): void {
    const resolve = waiting.get(key);
    const answer = resolve && entry && orderStatus(entry.object()).answer;
    if (answer !== undefined || entry === undefined) resolve?.(answer);
  }

  const onEvent = ({ before, after }: Record<'before' | 'after', StoredObject | undefined>): void =>
    look((after ?? before)?.key ?? '', after);

  function onReset(): void {
    for (const key of waiting.keys()) {
      const entry = reader.cache(tokenOrderKind).get(key);
      // Some that are waited for may not be created yet.
      if (entry !== undefined) look(key, entry);
    }
  }

  return { of, onEvent, onReset };
}

export type OrderAnswers = ReturnType<typeof createOrderAnswers>;

const connectorOf = (cluster: string): string => `the connector of cluster ${goQuote(cluster)}`;

/** The answer to this order. @throws ApiError 502 for what only looks like one. */
export async function openAnswer(
  sealed: string,
  privateKey: CryptoKey,
  order: string,
  cluster: string,
): Promise<OrderAnswer> {
  try {
    const { plaintext } = await compactDecrypt(sealed, privateKey, {
      keyManagementAlgorithms: [ANSWER_ALGORITHMS.alg],
      contentEncryptionAlgorithms: [ANSWER_ALGORITHMS.enc],
    });
    const answer = JSON.parse(Buffer.from(plaintext).toString()) as OrderAnswer;
    if (answer.order !== order) throw new Error('it is one to another order');
    return answer;
  } catch (error) {
    throw badGateway(`the answer of ${connectorOf(cluster)} cannot be read`, error);
  }
}
