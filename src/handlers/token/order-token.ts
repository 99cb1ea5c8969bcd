import { exportJWK, generateKeyPair } from 'jose';
import type { Catalog } from '../../api/catalog.ts';
import {
  connectorAudience,
  ORDER_SECONDS,
  ORDER_TYPE,
  type OrderClaims,
  passSecretName,
  RENEW_SECONDS,
} from '../../api/connector.ts';
import { CLUSTER_ID_ANNOTATION } from '../../api/domain-keys.ts';
import { apiVersionOf } from '../../api/kind.ts';
import { type ConnectorStatus, connectorSpec, connectorStatus, isConnected } from '../../api/kinds/connector.ts';
import { ISSUED, orderStatus } from '../../api/kinds/token-order.ts';
import type { BoundObjectReference } from '../../api/kinds/token-request.ts';
import { fleetKey, storageKey } from '../../api/object-key.ts';
import { type ApiError, conflict, forbidden, timeout, unavailable } from '../../api/status.ts';
import type { UpstreamAnswer } from '../../clusters/upstream/upstream-contract.ts';
import { defined } from '../../lib/json.ts';
import { cleanText } from '../../lib/text.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { Issuers } from '../../tokens/claims.ts';
import type { GrantedToken } from '../../tokens/forwarding/token-response.ts';
import type { LifetimeBounds } from '../../tokens/grant-lifetime.ts';
import { encodePayload } from '../../tokens/jws.ts';
import { type KeyRing, KeysAreExternal } from '../../tokens/keys/key-ring.ts';
import type { TrackedTokens } from '../../tokens/revocations/tracked-tokens.ts';
import type { TokenHolder } from './answer-token-request.ts';
import { connectorOf, type OrderAnswers, openAnswer } from './order-answers.ts';
import type { ParsedTokenRequest } from './parse-token-request.ts';
import { bindingOf, type SignTokenParts } from './sign-token.ts';
import type { TokenGrant } from './token-input.ts';

export interface OrderParts extends Pick<SignTokenParts, 'reader' | 'tracked' | 'now' | 'randomUUID'> {
  readonly catalog: Pick<Catalog, 'clusters' | 'connectors' | 'fleetRoleBindings' | 'tokenOrders'>;
  readonly writer: Pick<ObjectWriter, 'create' | 'update' | 'remove'>;
  readonly answers: OrderAnswers;
  readonly issuers: Pick<Issuers, 'issuerFor' | 'baseUrl'>;
  readonly keyRing: Pick<KeyRing, 'signing'>;
  /** Throws while the clock is known to be wrong: an order would expire too early or too late. */
  readonly requireRightClock: () => void;
  readonly observe: (result: OrderResult, seconds: number) => void;
}

/** What became of an order, as the label of a metric. */
type OrderResult = 'issued' | 'refused' | 'unanswered' | 'failed';

/** The account whose token is asked for. */
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
export class TokenOrder {
  readonly #parts: OrderParts;
  readonly #ordered: Ordered;
  readonly #name: string;
  readonly #status: ConnectorStatus | undefined;
  #record: ReturnType<TrackedTokens['requireRoom']> | undefined;
  #startedAt: number | undefined;
  #isKept = false;
  #result: OrderResult = 'failed';
  readonly isRevocable: boolean;

  constructor(parts: OrderParts, ordered: Ordered) {
    const { cluster, tokenRequest } = ordered;
    const connector = parts.reader.find(parts.catalog.connectors, fleetKey(cluster.name))?.object();
    const isOwn = connector !== undefined && connectorSpec(connector).clusterUID === cluster.uid;
    this.#parts = parts;
    this.#ordered = ordered;
    this.#name = parts.randomUUID();
    this.#status = isOwn ? connectorStatus(connector) : undefined;
    this.isRevocable = this.#status?.revocable === true && tokenRequest.sent.spec?.boundObjectRef === undefined;
  }

  /** What the connector binds the token to, if the request does not say. */
  get boundTo(): BoundObjectReference | undefined {
    return this.isRevocable ? { kind: 'Secret', name: passSecretName(this.#name) } : undefined;
  }

  /** Throws when the connector cannot be asked now. */
  requireReady(): void {
    const { now, requireRightClock, tracked } = this.#parts;
    const { cluster, tokenRequest } = this.#ordered;
    const { caller, work, warn } = tokenRequest.request;
    if (!isConnected(this.#status ?? {}, now())) throw notConnected(cluster.name, this.#status);
    requireRightClock();
    if (this.isRevocable) this.#record = tracked.requireRoom(caller.impersonator ?? caller, true, work);
    const { kind, name } = tokenRequest.sent.spec?.boundObjectRef ?? {};
    if (name !== undefined)
      warn(`this token cannot be revoked here: it ends with ${kind} "${name}", or when it expires`);
  }

  /** Creates the order and waits: the answer of the cluster's API server. */
  async place(expirationSeconds: number): Promise<UpstreamAnswer> {
    const { catalog, writer, answers, now } = this.#parts;
    const { cluster, tokenRequest } = this.#ordered;
    const { request } = tokenRequest;
    const kind = catalog.tokenOrders;
    // A key for each order: later, no process can read the answers in the history of the store.
    const { publicKey, privateKey } = await generateKeyPair('ECDH-ES');
    this.#startedAt = now();
    const expirationTimestamp = toTimestamp(this.#startedAt + ORDER_SECONDS * 1000);
    const order = await this.#sign(expirationSeconds, await exportJWK(publicKey));
    const metadata = { name: this.#name };
    const object = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata, spec: { order, expirationTimestamp } };
    request.annotate(ORDER_ANNOTATION, this.#name);
    const sealed = await answers.of(storageKey(kind, this.#key), request.signal, () =>
      writer.create(kind, this.#key, object, { dryRun: false }),
    );
    if (sealed === undefined) {
      this.#result = 'unanswered';
      throw timeout(`${connectorOf(cluster.name)} has not answered in time`);
    }
    const { refusal, status = 0, bytes } = await openAnswer(sealed, privateKey, this.#name, cluster.name);
    if (!refusal) return { status: Number(status), headers: {}, body: bytes };
    this.#result = 'refused';
    const [reason = '', message = ''] = [refusal.reason, refusal.message].map((text) => cleanText(String(text), 1024));
    const why = `${connectorOf(cluster.name)} refuses it: ${message}`;
    throw forbidden(request.target, request.target.name, why, [{ reason, message }]);
  }

  /** From here on the order stands for the token, and the record for the order. Its id; undefined without one. */
  async keep({ audiences: aud, issuedAt: iat, expiresAt: exp, accountUid: uid }: GrantedToken) {
    const { catalog, writer } = this.#parts;
    const { cluster, account, grant } = this.#ordered;
    this.#result = 'issued';
    if (this.#record === undefined) return undefined;
    await writer.update(
      catalog.tokenOrders,
      this.#key,
      (current) => {
        // The answer is of no use any more.
        const { claimedBy, claimTime } = orderStatus(current);
        const issued = { phase: ISSUED, expirationTimestamp: toTimestamp(exp * 1000) };
        return { ...current, status: defined({ claimedBy, claimTime, ...issued }) };
      },
      { dryRun: false, part: 'status' },
    );
    const { namespace, name, person } = account;
    const holder =
      person === undefined ? { 'kubernetes.io': { namespace, serviceaccount: { name, uid } } } : { sub: person.name };
    await this.#record(
      cluster.name,
      { jti: this.#name, aud, iat, exp, ...holder, secret: passSecretName(this.#name) },
      bindingOf(this.#parts, grant),
    );
    this.#isKept = true;
    return this.#name;
  }

  /** Deletes an order that is not kept: then the connector ends what it has made for it. */
  end(): void {
    const { catalog, writer, observe, now } = this.#parts;
    if (this.#startedAt === undefined) return;
    observe(this.#result, (now() - this.#startedAt) / 1000);
    // The sweep removes what could not be removed now.
    if (!this.#isKept) void writer.remove(catalog.tokenOrders, this.#key, { dryRun: false }).catch(() => {});
  }

  get #key() {
    return { cluster: this.#ordered.cluster.name, namespace: '', name: this.#name };
  }

  async #sign(expirationSeconds: number, answerKey: OrderClaims['answerKey']): Promise<string> {
    const { catalog, issuers, keyRing, now } = this.#parts;
    const { cluster, tokenRequest, account } = this.#ordered;
    const { name, uid } = cluster;
    const { name: user, groups } = tokenRequest.request.caller.as(undefined);
    const iat = Math.floor(now() / 1000);
    const asked = { audiences: tokenRequest.audiences, expirationSeconds };
    const { person, namespace } = account;
    const { boundObjectRef } = tokenRequest.sent.spec ?? {};
    const id = cluster.object().metadata.annotations?.[CLUSTER_ID_ANNOTATION];
    const claims: OrderClaims = {
      iss: issuers.issuerFor(name),
      aud: connectorAudience(issuers.baseUrl, name),
      iat,
      exp: iat + ORDER_SECONDS,
      jti: this.#name,
      cluster: { name, uid, ...(id === undefined ? {} : { id }) },
      requester: { user, groups },
      ...(person === undefined
        ? { request: defined({ namespace, serviceAccount: account.name, ...asked, boundObjectRef }) }
        : { person: { name: person.name, group: person.group, ...asked } }),
      revocable: this.isRevocable,
      answerKey,
    };
    try {
      const { alg, kid, sign } = keyRing.signing();
      const input = `${encodePayload({ alg, kid, typ: ORDER_TYPE })}.${encodePayload(claims)}`;
      return `${input}.${await sign(input)}`;
    } catch (error) {
      if (!(error instanceof KeysAreExternal)) throw error;
      throw conflict(catalog.clusters, name, 'its connector takes orders, which an external signer does not sign');
    }
  }
}

export function notConnected(cluster: string, { renewTime }: ConnectorStatus = {}): ApiError {
  const since = renewTime === undefined ? '' : ` since ${renewTime}`;
  return unavailable(`${connectorOf(cluster)}, which issues its tokens, has not reported${since}`, RENEW_SECONDS);
}
