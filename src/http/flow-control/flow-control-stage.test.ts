import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { tokenRequestListType as LIST_TYPE } from '../../api/kinds/token-request.ts';
import type { ApiResponse } from '../../api/request.ts';
import { AMPLE, type Call, CLUSTERS_PATH, CREATE, startFixture, TOKEN_PATH } from '../http.fixture.ts';
import { createFlowControl, priorityLevelOf, publicLevelOf } from './flow-control.ts';

const TOKEN: Call = { ...CREATE, path: TOKEN_PATH };
const LIST: Call = { path: CLUSTERS_PATH };
const WATCH: Call = { path: `${CLUSTERS_PATH}?watch=1` };

/** A server whose handlers answer when the test calls `finish`. */
async function startBusy(limits: Partial<typeof AMPLE>) {
  const flowControl = createFlowControl({ ...AMPLE, seatPercentPerFlow: 50, queueLengthPerFlow: 0, ...limits });
  const answers: ((response: ApiResponse) => void)[] = [];
  const fixture = await startFixture(() => new Promise((resolve) => answers.push(resolve)), { flowControl });
  const underWay = (count: number): Promise<void> => expect.poll(() => answers.length).toBe(count) as Promise<void>;
  const finish = (): void => {
    for (const answer of answers.splice(0)) answer({ type: 'value', code: 200, value: {} });
  };
  return { ...fixture, flowControl, underWay, finish };
}

describe('B15, C-13: a caller past its share', () => {
  it.each([
    ['tokens', TOKEN, 'tokenSeats'],
    ['reads', LIST, 'readSeats'],
    ['writes', CREATE, 'writeSeats'],
  ] as const)(
    'of %s is rejected with 429; other callers are not, nor is its work at other levels',
    async (level, call, seats) => {
      const { send, underWay, finish, handled } = await startBusy({ [seats]: 2 });
      const first = send(call);
      await underWay(1);
      const refused = await send(call);
      expect(refused.code).toBe(429);
      expect(refused.headers['retry-after']).toBe('1');
      expect(refused.json()).toEqual({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: `too many requests at once (${level}), please try again later`,
        reason: 'TooManyRequests',
        details: { retryAfterSeconds: 1 },
        code: 429,
      });
      expect(handled).toHaveLength(1);
      const others = [TOKEN, LIST, CREATE].filter((one) => one !== call);
      const going = [send({ ...call, token: 'other' }), ...others.map((one) => send(one))];
      await underWay(4);
      expect((await send({ path: '/livez', token: '' })).code).toBe(200);
      finish();
      for (const { code } of await Promise.all([first, ...going])) expect(code).toBe(200);
      const again = send(call);
      await underWay(1);
      finish();
      expect((await again).code).toBe(200);
    },
  );

  it('is rejected before its body is read', async () => {
    const { raw, send, underWay, finish } = await startBusy({ tokenSeats: 2 });
    const first = send(TOKEN);
    await underWay(1);
    const head = `POST ${TOKEN_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nContent-Type: text/nonsense\r\n`;
    const answer = await raw(`${head}Content-Length: 1000\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 429 /);
    finish();
    expect((await first).code).toBe(200);
  });

  it('of watches is rejected until one of them ends', async () => {
    const flowControl = createFlowControl({ ...AMPLE, watchSeatsPerFlow: 1 });
    const ends: (() => void)[] = [];
    const start = (sink: { end: () => void }): void => void ends.push(() => sink.end());
    const { send } = await startFixture(() => ({ type: 'watch', start }), { flowControl });
    const first = send(WATCH);
    await expect.poll(() => ends.length).toBe(1);
    const refused = await send(WATCH);
    expect([refused.code, refused.headers['retry-after']]).toEqual([429, '5']);
    expect(flowControl.usage().watches).toMatchObject({ executing: 1, inQueue: 0 });
    ends[0]?.();
    expect((await first).code).toBe(200);
    await expect.poll(() => flowControl.usage().watches.executing).toBe(0);
  });

  it('FA-8: that may see no cluster has few watches, which count apart from those of others', async () => {
    const flowControl = createFlowControl({ ...AMPLE, watchSeats: 30, watchSeatsWithoutPermission: 2 });
    const { send } = await startFixture(() => ({ type: 'watch', start: () => {} }), { flowControl });
    const bare: Call = { ...WATCH, token: 'nobody' };
    const open = [bare, bare, WATCH].map((call) => send(call).catch(() => {}));
    const executing = (level: 'watches' | 'watches-without-permission') => flowControl.usage()[level].executing;
    await expect.poll(() => [executing('watches'), executing('watches-without-permission')]).toEqual([1, 2]);
    const refused = await send(bare);
    expect([refused.code, refused.headers['retry-after']]).toEqual([429, '5']);
    expect(refused.text).toContain('too many requests at once (watches-without-permission)');
    void open;
  });

  it('waits in its queue if that is not full', async () => {
    const { send, flowControl, underWay, finish } = await startBusy({ readSeats: 2, queueLengthPerFlow: 1 });
    const first = send(LIST);
    await underWay(1);
    const second = send(LIST);
    await expect.poll(() => flowControl.usage().reads).toMatchObject({ executing: 1, inQueue: 1 });
    expect((await send(LIST)).code).toBe(429);
    finish();
    expect((await first).code).toBe(200);
    await underWay(1);
    finish();
    expect((await second).code).toBe(200);
    expect(flowControl.usage().reads).toMatchObject({ executing: 0, inQueue: 0 });
  });

  it('is rejected also if each of its requests is done at once: requests of one tick count together', async () => {
    const flowControl = createFlowControl({ ...AMPLE, readSeats: 4, seatPercentPerFlow: 50, queueLengthPerFlow: 1 });
    const { port } = await startFixture(() => ({ type: 'value', code: 200, value: {} }), { flowControl });
    // Many, so that some of them are read in the same tick, whatever the system does.
    const sockets = Array.from({ length: 60 }, () => connect(port, '127.0.0.1').setEncoding('latin1'));
    const ask = async (socket: Socket): Promise<string> => {
      socket.write(`GET ${CLUSTERS_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n`);
      const [answer] = (await once(socket, 'data')) as [string];
      return answer.slice(9, 12);
    };
    // One by one at first: a connection must have been accepted before it is read.
    for (const socket of sockets) expect(await ask(socket)).toBe('200');
    const codes = await Promise.all(sockets.map(ask));
    for (const socket of sockets) socket.destroy();
    const count = (code: string): number => codes.filter((one) => one === code).length;
    expect(count('429')).toBeGreaterThan(0);
    expect(count('200') + count('429')).toBe(60);
    expect(flowControl.usage().reads).toMatchObject({
      dispatched: 60 + count('200'),
      rejected: { 'queue-full': count('429') },
    });
  });

  it('gives its seat back when its client leaves', async () => {
    const { port, flowControl, underWay } = await startBusy({ readSeats: 2, queueLengthPerFlow: 5 });
    const ask = () => {
      const socket = connect(port, '127.0.0.1');
      socket.write(`GET ${CLUSTERS_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n`);
      return socket;
    };
    const sockets = [ask(), ask()];
    await underWay(1);
    await expect.poll(() => flowControl.usage().reads).toMatchObject({ executing: 1, inQueue: 1 });
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => flowControl.usage().reads).toMatchObject({ executing: 0, inQueue: 0 });
  });
});

describe('the priority level of a request', () => {
  const resource = (verb: string, subresource = '', group = '', name = 'things', alwaysPublic = false) =>
    ({ type: 'resource', target: { verb, subresource, group, resource: name, alwaysPublic } }) as Parameters<
      typeof priorityLevelOf
    >[0];
  const path = (text: string) => ({ type: 'path', path: text }) as Parameters<typeof publicLevelOf>[0];
  it.each([
    ['tokens', priorityLevelOf(resource('create', 'token'))],
    ['tokens', priorityLevelOf(resource('create', '', LIST_TYPE.group, LIST_TYPE.resource, true))],
    ['reads', priorityLevelOf(resource('create', '', 'authentication.k8s.io'))],
    ['reads', priorityLevelOf(resource('create', '', 'clusterpass.dev', 'resourceaccessreviews'))],
    ['writes', priorityLevelOf(resource('create', '', 'clusterpass.dev', 'signingkeys'))],
    ['reads', priorityLevelOf(resource('list'))],
    ['writes', priorityLevelOf(resource('deletecollection'))],
    ['watches', priorityLevelOf(resource('watch'))],
    ['health', publicLevelOf(path('/readyz/storage'))],
    ['public', publicLevelOf(path('/version'))],
    ['public', publicLevelOf(path('/livezebra'))],
    ['reads', priorityLevelOf(path('/apis'))],
  ])('%s', (expected, level) => {
    expect(level).toBe(expected);
  });
});
