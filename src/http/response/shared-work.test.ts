import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { ListResponse } from '../../api/request.ts';
import { createFlowControl } from '../flow-control/flow-control.ts';
import { AMPLE, type Call, CLUSTERS_PATH, startFixture } from '../http.fixture.ts';

const YAML: Call = { path: CLUSTERS_PATH, headers: { accept: 'application/yaml' } };
const FORMS: Readonly<Record<string, Call>> = {
  YAML,
  indented: { path: `${CLUSTERS_PATH}?pretty=1` },
  compressed: { path: CLUSTERS_PATH, headers: { 'accept-encoding': 'gzip' } },
};

const item = Buffer.from(JSON.stringify({ metadata: { name: 'x', labels: { text: 'y'.repeat(2_000) } } }));

/** A list that tells when the last of its items is taken: once for its length, and when its bytes are made. */
function list(count: number, onLast: () => void = () => {}): ListResponse {
  const told = new Proxy(
    Array.from({ length: count }, () => item),
    {
      get(target, key) {
        if (key === String(count - 1)) onLast();
        return Reflect.get(target, key);
      },
    },
  );
  const metadata = { continue: '', resourceVersion: '1' };
  return {
    ...{ type: 'list', apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'ClusterList' },
    ...{ metadata, items: told, style: 'custom' },
  };
}

describe('the making of answers', () => {
  it('B15, FA-1: of one caller delays that of another by no more than its share', async () => {
    let [done, before] = [0, 0];
    const { send } = await startFixture(({ caller }) => {
      // A tick accepts one connection, so this one comes late.
      if (caller.key === 'other') before = done;
      return list(500);
    });
    await send(YAML);
    const many = Array.from({ length: 40 }, () => send(YAML).then(() => (done += 1)));
    await send({ ...YAML, token: 'other' });
    expect(before).toBeLessThan(40);
    expect(done - before).toBeLessThan(8);
    await Promise.all(many);
  });

  it.each(Object.entries(FORMS))('FA-2: has a seat until the last byte is made (%s)', async (_, call) => {
    const events: number[] = [];
    let handled = 0;
    const flowControl = createFlowControl({ ...AMPLE, readSeats: 1 });
    const handler = (): ListResponse => {
      const number = ++handled;
      return list(200, () => events.push(number));
    };
    const { send } = await startFixture(handler, { flowControl });
    await Promise.all(Array.from({ length: 3 }, () => send(call)));
    // No byte of a list is made before the one ahead of it is whole.
    expect(events).toEqual(events.toSorted());
    expect(new Set(events)).toEqual(new Set([1, 2, 3]));
    expect(flowControl.usage().reads.executing).toBe(0);
  });

  it('FA-2: that is ready waits for the client without a seat', async () => {
    const flowControl = createFlowControl({ ...AMPLE, readSeats: 1 });
    const { send, port, handled } = await startFixture(() => list(10_000), { flowControl });
    const slow = connect(port, '127.0.0.1').pause();
    slow.write(`GET ${CLUSTERS_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n`);
    await expect.poll(() => handled.length).toBe(1);
    expect(await send({ path: `${CLUSTERS_PATH}?n=2` })).toMatchObject({ code: 200 });
    expect(slow.bytesRead).toBe(0);
    slow.destroy();
  });
});
