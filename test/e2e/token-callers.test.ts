import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import {
  ASK,
  asUser,
  bind,
  codeFor,
  create,
  createAccount,
  createCluster,
  createNamespace,
  createObjects,
  inNamespace,
  issue,
  MAY_CREATE_TOKENS,
  post,
  remove,
  tokenPath,
} from './support/objects.ts';
import { openSocket } from './support/open-socket.ts';
import { grant, may } from './support/rbac.ts';
import { tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

/** TokenRequest: credentials, permissions, and who the bearer of a token is. */

const server = sharedServer();

beforeAll(() => createObjects(server));

describe('credentials', () => {
  /** C-C: the credentials of a token request, and the response without them. */

  beforeAll(async () => {
    await bind(server, 'carl', { kind: 'User', name: 'carl' });
  });

  const send = (authorization: string | undefined, rest: Record<string, string> = {}) =>
    post(server, ASK, {
      token: null,
      headers: { ...rest, ...(authorization === undefined ? {} : { Authorization: authorization }) },
    });

  it('A8, C-C: the log has the reason, and not the token', async () => {
    const expected = [
      [undefined, 'no bearer token'],
      ['Bearer canary-0123456789', 'invalid bearer token: it is no static token, and no JWT'],
    ] as const;
    for (const [authorization, reason] of expected) {
      const ids: string[] = [];
      const line = () =>
        server.output.stderr
          .split('\n')
          .find((text) => text.includes('"code":401') && ids.some((id) => text.includes(`"auditId":"${id}"`)));
      // The server drops lines while its standard error is not read, on a busy machine, too.
      const askAgain = async () => {
        ids.push((await send(authorization)).headers.get('audit-id') ?? '');
        return line();
      };
      await expect.poll(askAgain).toBeDefined();
      expect(JSON.parse(line() ?? '')).toMatchObject({ msg: 'request', reason, address: '127.0.0.1' });
    }
    expect(server.output.stderr).not.toContain('canary');
  });
});

describe('permissions and identity', () => {
  /** Which callers may create a token, and which user the bearer of a token is. */

  beforeAll(async () => {
    await bind(
      server,
      'jess-builder',
      { kind: 'User', name: 'jess' },
      { ...MAY_CREATE_TOKENS, resourceNames: ['builder'] },
    );
    await bind(server, 'rob-prod', { kind: 'User', name: 'rob' }, MAY_CREATE_TOKENS, 'env=prod');
    await bind(
      server,
      'sid-accounts',
      { kind: 'User', name: 'sid' },
      { verbs: ['*'], apiGroups: [''], resources: ['serviceaccounts'] },
    );
    await create(server, inNamespace('rolebindings').replace('/orchestrator/alpha/api/v1', RBAC_V1), {
      metadata: { name: 'tess-in-ci', namespace: 'ci' },
      subjects: [{ kind: 'User', name: 'tess', apiGroup: 'rbac.authorization.k8s.io' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'clusterpass:token-creator' },
    });
    await createAccount(server, 'builder', 'shop');
  });

  const RBAC_V1 = '/apis/rbac.authorization.k8s.io/v1';

  const refusal = (user: string, account = 'builder', namespace = 'ci') => ({
    code: 403,
    reason: 'Forbidden',
    message: `serviceaccounts "${account}" is forbidden: User "${user}" cannot create resource "serviceaccounts/token" in API group "" in the namespace "${namespace}"`,
    details: { name: account, kind: 'serviceaccounts' },
  });

  describe('permissions (P-02, P-12, P-13, P-30)', () => {
    it('P-30, A-05: the refusal in full', async () => {
      const answer = await post(server, ASK, asUser('nora'));
      expectStatus(answer, refusal('nora'));
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    });
  });

  it('A6, A7, decision 12: a refusal says nothing about what exists: has the same headers', async () => {
    const here = await post(server, ASK, asUser('nora'));
    const gone = await post(server, ASK, { path: tokenPath('builder', 'ci', 'gone'), ...asUser('nora') });
    const comparable = (headers: Headers) => [...headers].filter(([name]) => name !== 'audit-id' && name !== 'date');
    expect(comparable(gone.headers)).toEqual(comparable(here.headers));
    expect(gone.text).toBe(here.text);
  });
});

describe('a body that comes late', () => {
  const BODY = '{"spec":{"audiences":["vault"]}}';

  /** Sends the head, waits until the server has accepted it, calls `meanwhile`, and then sends the body. */
  async function sendAround(token: string, meanwhile: () => Promise<void>): Promise<string> {
    const socket = await openSocket(server);
    socket.write(
      [
        `POST ${tokenPath()} HTTP/1.1`,
        'Host: clusterpass',
        'Connection: close',
        'Expect: 100-continue',
        `Authorization: Bearer ${token}`,
        'Content-Type: application/json',
        `Content-Length: ${BODY.length}`,
        '',
        '',
      ].join('\r\n'),
    );
    await socket.until('HTTP/1.1 100 Continue\r\n\r\n');
    await meanwhile();
    socket.write(BODY);
    return socket.rest();
  }

  it('a permission that is removed before the body arrives no longer counts', async () => {
    const revoke = await grant(server, { to: 'lara', rules: [may('create', 'serviceaccounts/token')] });
    expect(await sendAround(tokenOf('lara'), async () => {})).toContain('HTTP/1.1 201');
    expect(await sendAround(tokenOf('lara'), revoke)).toContain('HTTP/1.1 403');
  });

  it('nor does a credential that has expired', async () => {
    await createAccount(server, 'sender');
    const revoke = await grant(server, {
      to: 'system:serviceaccount:ci:sender',
      rules: [may('create', 'serviceaccounts/token')],
    });
    const token = await issue(server, tokenPath('sender'));
    expect(await sendAround(token, async () => {})).toContain('HTTP/1.1 201');
    const answer = await sendAround(token, () => remove(server, `${inNamespace('serviceaccounts')}/sender`));
    expect(answer).toContain('HTTP/1.1 401');
    await revoke();
  });
});

describe('an account that is deleted or changed', () => {
  /** Cached parts of a token request end with their object. The same request is sent repeatedly. */
  const ACCOUNT = `${inNamespace('serviceaccounts', 'ci', 'removed')}/builder`;
  const PATH = tokenPath('builder', 'ci', 'removed');

  beforeAll(async () => {
    for (const cluster of ['removed', 'removed-too']) {
      await createCluster(server, cluster);
      await createNamespace(server, 'ci', cluster);
      await createAccount(server, 'builder', 'ci', cluster);
    }
  });

  const uidIn = (token: string): unknown =>
    (decodeJwt(token)['kubernetes.io'] as { serviceaccount: { uid: string } }).serviceaccount.uid;

  it('A4: a deleted account gets no token, and its tokens are refused, also if another account has its name', async () => {
    const first = await issue(server, PATH);
    expect(uidIn(await issue(server, PATH))).toBe(uidIn(first));
    expect(await codeFor(server, first)).toBe(200);
    await remove(server, ACCOUNT);
    expect(await post(server, ASK, { path: PATH })).toMatchObject({
      code: 404,
      json: { message: 'serviceaccounts "builder" not found' },
    });
    expect(await codeFor(server, first)).toBe(401);
    const { metadata } = await createAccount(server, 'builder', 'ci', 'removed');
    const second = await issue(server, PATH);
    expect(uidIn(second)).toBe(metadata.uid);
    expect([await codeFor(server, first), await codeFor(server, second)]).toEqual([401, 200]);
  });
});
