import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JWK } from 'jose';
import { toTimestamp } from '../../../src/lib/utc-second.ts';
import { SigningThreads } from '../../../src/tokens/keys/signing-threads.ts';
import { encodeSegment, type Handler, readBody, respond } from '../floor-http.ts';
import { type TokenFleetSize, tokenFleet } from '../token-fleet.ts';
import { AuditLines, auditLine } from './audit-lines.ts';
import { Authentication, type User, userIn } from './authentication.ts';
import { FleetIndex } from './fleet-index.ts';
import { begun, RequestMetrics } from './request-metrics.ts';
import { answering, Refusal, respondAudited } from './response.ts';
import { fieldsOf, listOf, parseStrictly, textOf } from './strict-json.ts';

/** What a server of tokens may not skip, in the order in which the rows of the study take it on. */
export const TOKEN_DUTIES = {
  asked: 'the token and the response say what was asked for',
  authentication: 'caller authenticated: SHA-256 of its token, look-up, expiry',
  body: 'body parsed strictly and validated, payload read back',
  permission: 'cluster, namespace and account looked up, permission decided',
  audit: 'audit event durable before the response, Audit-Id',
  metrics: 'metrics and a deadline',
  // Not a duty. The plain floor signs in the thread pool, and so would cost more than it must.
  thread: 'signatures of a tick in one message to a thread, as in Clusterpass',
} as const;

type TokenDuty = keyof typeof TOKEN_DUTIES;

export interface TokenFloorSettings {
  readonly duties: readonly TokenDuty[];
  readonly fleet: TokenFleetSize;
  /** Address and public keys of the Clusterpass that issued the tokens of callers. */
  readonly url: string;
  readonly keys: readonly JWK[];
  readonly auditFile: string;
}

interface Asked {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly audiences: readonly string[];
  readonly seconds: number;
}

const QUESTION = 'create /serviceaccounts/token';
const NO_USER: User = { name: '', groups: [], subjects: [] };

/** A floor that signs a token for each request, with these duties. */
export function tokenFloor({ duties, fleet, url, keys, auditFile }: TokenFloorSettings): Handler {
  const does = (duty: TokenDuty): boolean => duties.includes(duty);
  const issuerPrefix = `${url}/orchestrator/`;
  const { callers, objects } = tokenFleet(fleet);
  const authentication = does('authentication') ? new Authentication({ callers, keys, issuerPrefix }) : undefined;
  const index = does('permission') ? new FleetIndex(objects()) : undefined;
  const audit = does('audit') ? new AuditLines(auditFile) : undefined;
  const metrics = does('metrics') ? new RequestMetrics() : undefined;
  const validates = does('body');

  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = randomUUID();
  const header = encodeSegment({ alg: 'ES256', kid });
  const jwks = Buffer.from(JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256' }] }));
  const unknownUid = randomUUID();

  const threads = does('thread') ? new SigningThreads('ES256', privateKey) : undefined;

  function signText(input: string, onSigned: (signature: string) => void): void {
    if (threads !== undefined) return void threads.sign(input).then(onSigned);
    sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }, (error, signature) => {
      if (error !== null) throw error;
      onSigned(signature.toString('base64url'));
    });
  }

  const get = (path: string | undefined, res: ServerResponse): void =>
    respond(res, 200, path === '/metrics' ? Buffer.from(JSON.stringify(metrics?.snapshot)) : jwks);

  return (req, res) => {
    if (req.method === 'GET') return get(req.url, res);
    const received = Date.now();
    const [, , cluster = '', , , , namespace = '', , name = ''] = (req.url ?? '').split('/');
    const end = begun(metrics, res, cluster);
    answering(res, end, () => {
      const caller = authentication?.callerOf(req);
      const user = caller === undefined ? NO_USER : userIn(caller, cluster);
      const reason = index?.reasonFor(user, QUESTION, cluster);
      if (index !== undefined && reason === undefined) throw new Refusal(403, 'forbidden');
      readBody(req, (body) =>
        answering(res, end, () => {
          const { audiences, seconds } = validates ? validated(body, namespace, name) : parsed(body);
          const account = index === undefined ? { name, uid: unknownUid } : index.account(cluster, namespace, name);
          if (account === undefined) throw new Refusal(404, 'not found');
          const asked = { cluster, namespace, name, uid: account.uid, audiences, seconds };
          issue({ req, res, received, user, reason, end }, asked);
        }),
      );
    });
  };

  interface Request {
    readonly req: IncomingMessage;
    readonly res: ServerResponse;
    readonly received: number;
    readonly user: User;
    readonly reason: string | undefined;
    readonly end: (code: number) => void;
  }

  function issue({ req, res, received, user, reason, end }: Request, asked: Asked): void {
    const { cluster, namespace, name } = asked;
    const claims = claimsOf(asked, issuerPrefix);
    const payload = encodeSegment(claims);
    const input = `${header}.${payload}`;
    let signature: string | undefined;
    let isDurable = audit === undefined;
    let auditId = '';
    const release = (): void => {
      if (signature === undefined || !isDurable) return;
      if (validates) readBack(payload, claims);
      const token = `${input}.${signature}`;
      const body = Buffer.from(JSON.stringify(responseOf(asked, claims, token)));
      if (audit === undefined) respond(res, 201, body);
      else respondAudited(res, 201, body, auditId);
      end(201);
    };
    signText(input, (signed) => {
      signature = signed;
      release();
    });
    if (audit === undefined) return;
    auditId = randomUUID();
    const objectRef = { resource: 'serviceaccounts', namespace, name, apiVersion: 'v1', subresource: 'token' };
    const annotations = {
      'authorization.k8s.io/decision': 'allow',
      'authorization.k8s.io/reason': reason,
      'clusterpass.dev/cluster': cluster,
      'authentication.kubernetes.io/issued-credential-id': `JTI=${claims.jti}`,
    };
    // While the signature is made.
    audit.commit(auditLine({ auditId, req, user, objectRef, received, annotations }), () => {
      isDurable = true;
      release();
    });
  }
}

function parsed(body: Buffer): Pick<Asked, 'audiences' | 'seconds'> {
  const { spec } = JSON.parse(body.toString()) as { spec: { audiences: string[]; expirationSeconds: number } };
  return { audiences: spec.audiences, seconds: spec.expirationSeconds };
}

const BODY: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'spec', 'status']);
const METADATA: ReadonlySet<string> = new Set(['name', 'namespace']);
const SPEC: ReadonlySet<string> = new Set(['audiences', 'expirationSeconds']);
const CONTROL = /\p{Cc}/u;

/** Duty: only known fields, and values in their limits. */
function validated(body: Buffer, namespace: string, name: string): Pick<Asked, 'audiences' | 'seconds'> {
  const { metadata = {}, spec } = fieldsOf(parseStrictly(body), BODY);
  const { name: sentName, namespace: sentNamespace } = fieldsOf(metadata, METADATA);
  if (![name, ''].includes(textOf(sentName)) || ![namespace, ''].includes(textOf(sentNamespace))) {
    throw new Refusal(400, 'the body names another account');
  }
  const { audiences: sent, expirationSeconds: seconds = 3600 } = fieldsOf(spec, SPEC);
  const audiences = listOf(sent).map(textOf);
  const isAudience = (text: string): boolean => text !== '' && text.length <= 1024 && !CONTROL.test(text);
  if (audiences.length === 0 || audiences.length > 32 || !audiences.every(isAudience)) {
    throw new Refusal(422, 'audiences are not valid');
  }
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 600 || seconds > 2 ** 32) {
    throw new Refusal(422, 'the lifetime is not valid');
  }
  return { audiences, seconds };
}

type Claims = ReturnType<typeof claimsOf>;

function claimsOf({ cluster, namespace, name, uid, audiences, seconds }: Asked, issuerPrefix: string) {
  const now = Math.floor(Date.now() / 1000);
  return {
    aud: audiences,
    exp: now + seconds,
    iat: now,
    iss: issuerPrefix + cluster,
    jti: randomUUID(),
    'kubernetes.io': { namespace, serviceaccount: { name, uid } },
    nbf: now,
    sub: `system:serviceaccount:${namespace}:${name}`,
  };
}

/** Duty: a token whose claims differ from the grant is not sent. */
function readBack(payload: string, claims: Claims): void {
  const read = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims;
  const [inRead, inClaims] = [read['kubernetes.io'], claims['kubernetes.io']];
  const isSame =
    read.iss === claims.iss &&
    read.sub === claims.sub &&
    read.jti === claims.jti &&
    read.exp === claims.exp &&
    read.iat === claims.iat &&
    read.nbf === claims.nbf &&
    read.aud.length === claims.aud.length &&
    read.aud.every((audience, at) => audience === claims.aud[at]) &&
    inRead.namespace === inClaims.namespace &&
    inRead.serviceaccount.name === inClaims.serviceaccount.name &&
    inRead.serviceaccount.uid === inClaims.serviceaccount.uid;
  if (!isSame) throw new Error('the token does not say what was granted');
}

const responseOf = (
  { namespace, name, uid, audiences, seconds }: Asked,
  { iat, exp }: Claims,
  token: string,
): object => ({
  kind: 'TokenRequest',
  apiVersion: 'authentication.k8s.io/v1',
  metadata: { name, namespace, uid, creationTimestamp: toTimestamp(iat * 1000) },
  spec: { audiences, expirationSeconds: seconds, boundObjectRef: null },
  status: { token, expirationTimestamp: toTimestamp(exp * 1000) },
});
