import { describe, expect, it } from 'vitest';
import { PASS_APPROVAL_LABEL } from '../../src/api/kinds/pass-spec.ts';
import { EVENTS, type EventType, type Notification } from '../../src/api/notification.ts';
import { lonelyWork } from '../../src/lib/work-queue.fixture.ts';
import type { NotifyConfiguration } from '../../src/notify/configuration.ts';
import { startNotifier } from '../../src/notify/notifier.ts';
import { toStoredBytes } from '../../src/objects/stored-object.ts';
import { newDatabase } from '../../src/storage/sqlite/test-store.fixture.ts';
import { at, catalog, type Objects, object, openObjects } from './object-store.ts';

/** What is told, over a real store, with the clock and the receivers of the test. */

const START = Date.UTC(2026, 10, 16, 12);
const HOUR = 3_600_000;
const ALL = Object.keys(EVENTS) as EventType[];
const ONE: NotifyConfiguration = {
  receivers: [{ name: 'ops' }],
  routes: [{ events: ALL, clusters: undefined, receivers: ['ops'] }],
};

type Fields = { readonly labels?: Record<string, string>; readonly spec?: object; readonly status?: object };

interface World extends Objects {
  readonly clock: { now: number };
  readonly keyEnds: [string, number][];
  /** Names of receivers that fail. */
  readonly failing: Set<string>;
  /** As `ops request.waiting: text`, in order. */
  readonly told: string[];
  readonly sent: Notification[];
  readonly logged: object[];
  put(kind: 'accessRequests' | 'passes' | 'clusters', name: string, fields: Fields): Promise<unknown>;
  setStatus(kind: 'accessRequests' | 'passes' | 'clusters', name: string, status: object): Promise<unknown>;
  replica(): Replica;
}

interface Replica {
  leads: boolean;
  /** A round after so many milliseconds; settles when its messages were sent. */
  tick(ms?: number): Promise<void>;
  failingSince(): readonly number[];
}

async function openWorld(configuration = ONE): Promise<World> {
  const clock = { now: START };
  const objects = await openObjects(newDatabase(), undefined, () => clock.now);
  const { reader, writer, store } = objects;
  const failing = new Set<string>();
  const [told, sent, logged]: [string[], Notification[], object[]] = [[], [], []];
  const keyEnds: [string, number][] = [];
  const replica = (): Replica => {
    let act = (): void => {};
    const state = { leads: true };
    const notifier = startNotifier({
      catalog,
      reader,
      store,
      configuration: () => configuration,
      leadership: { leads: () => state.leads },
      send: async (receiver, message) => {
        if (failing.has(receiver.name)) throw new Error('answered with 503');
        sent.push(message);
        for (const { text } of message.items) told.push(`${receiver.name} ${message.type}: ${text}`);
      },
      keyEnds: () => keyEnds,
      every: (_, task) => {
        act = task;
        return () => {};
      },
      baseUrl: 'https://c.example',
      productName: 'orchestrator',
      now: () => clock.now,
      work: lonelyWork(),
      logger: { warn: (fields) => logged.push(fields) },
    });
    return Object.assign(state, {
      failingSince: notifier.failingSince,
      tick: async (ms = 5_000) => {
        clock.now += ms;
        await reader.catchUp();
        act();
        await notifier.stop();
        await new Promise(setImmediate);
      },
    });
  };
  return {
    ...objects,
    ...{ clock, keyEnds, failing, told, sent, logged, replica },
    put: (kind, name, { labels = {}, spec = {}, status = {} }) => {
      const derive = (prepared: ReturnType<typeof object>) => ({
        ...prepared,
        metadata: { ...prepared.metadata, labels },
        status,
      });
      return writer.create(catalog[kind], at('', '', name), { ...object({ name }), spec }, { dryRun: false, derive });
    },
    setStatus: (kind, name, status) =>
      writer.update(catalog[kind], at('', '', name), (current) => ({ ...current, status }), {
        dryRun: false,
        part: 'status',
      }),
  };
}

const ready = (status: string, reason = 'ProbeTimedOut') => ({ conditions: [{ type: 'Ready', status, reason }] });
const REQUEST = {
  cluster: 'a',
  serviceAccount: { namespace: 'ci', name: 'builder' },
  reason: 'INC-1: it hangs',
  durationSeconds: 3_600,
  requestedBy: { username: 'jane' },
};

describe('approvers are told', () => {
  it('of a request that waits, with its page, and of the decision; once, also after another replica leads', async () => {
    const { put, setStatus, replica, told, sent } = await openWorld();
    const first = replica();
    await first.tick();
    await put('accessRequests', 'jane-1', { spec: REQUEST, status: { phase: 'Pending' } });
    await first.tick();
    expect(told).toEqual([
      'ops request.waiting: jane: see the cluster, passes of ci/builder in a, asked for. Reason: INC-1: it hangs',
    ]);
    expect(sent[0]?.items[0]).toMatchObject({ cluster: 'a', url: 'https://c.example/console/#/requests/jane-1' });
    expect(sent[0]?.id).toMatch(/^msg_[0-9a-f-]{36}$/);
    await first.tick();
    first.leads = false;
    const next = replica();
    await next.tick();
    expect(told).toHaveLength(1);
    await setStatus('accessRequests', 'jane-1', { phase: 'Approved', decidedBy: { username: 'lee' }, next: 'x y' });
    await first.tick();
    expect(told).toHaveLength(1);
    await next.tick();
    await setStatus('accessRequests', 'jane-1', { phase: 'Expired' });
    await next.tick();
    expect(told.slice(1)).toEqual([
      'ops request.decided: jane: see the cluster, passes of ci/builder in a, approved by lee (next: x y). Reason: INC-1: it hangs',
    ]);
    await put('accessRequests', 'jane-2', { spec: REQUEST, status: { phase: 'Pending' } });
    await next.tick();
    const conditions = [{ type: 'Denied', status: 'True', message: 'use staging' }];
    await setStatus('accessRequests', 'jane-2', { phase: 'Denied', decidedBy: { username: 'lee' }, conditions });
    await next.tick();
    expect(told.at(-1)).toMatch(/, denied by lee \(use staging\)\. Reason: INC-1: it hangs$/);
  });

  it('of a pass that needs another person, and of no other', async () => {
    const { put, replica, told, sent } = await openWorld();
    const { tick } = replica();
    const spec = { ...REQUEST, reason: undefined, purpose: 'to look at logs' };
    const name = (letter: string) => `pass_${letter.repeat(32)}`;
    for (const [letter, approval] of [
      ['a', 'review'],
      ['b', 'confirm'],
    ] as const) {
      const labels = { [PASS_APPROVAL_LABEL]: approval };
      await put('passes', name(letter), { labels, spec, status: { phase: 'Pending' } });
    }
    await tick();
    expect(told).toEqual(['ops pass.waiting: jane: a pass of ci/builder in a, asked for. Reason: to look at logs']);
    expect(sent[0]?.items[0]?.url).toBe(`https://c.example/console/#/passes/${name('a')}`);
  });

  it('no token, and no character that hides or reverses text', async () => {
    const { put, replica, sent } = await openWorld();
    const token = `eyJ${'aB1'.repeat(20)}`;
    const requestedBy = { username: 'e\u202eve\nBcc: x@example.com' };
    const spec = { ...REQUEST, reason: `use ${token}`, requestedBy };
    await put('accessRequests', 'e-1', { spec, status: { phase: 'Pending' } });
    await replica().tick();
    const text = sent[0]?.items[0]?.text;
    expect(text).toBe(
      'e[U+202E]ve Bcc: x@example.com: see the cluster, passes of ci/builder in a, asked for. Reason: use <redacted>',
    );
  });
});

describe('operators are told', () => {
  it('of clusters that fail together in one message, and when they are back', async () => {
    const { put, setStatus, replica, sent, told } = await openWorld();
    const { tick } = replica();
    for (const name of ['a', 'b', 'c']) await put('clusters', name, { status: ready('True') });
    await tick();
    await setStatus('clusters', 'a', ready('False'));
    await tick();
    await setStatus('clusters', 'b', ready('False', 'ProbeTLSFailed'));
    await setStatus('clusters', 'c', ready('False'));
    await tick();
    expect(told).toEqual([]);
    // It is back before that was told.
    await setStatus('clusters', 'c', ready('True'));
    await tick(45_000);
    expect(told).toEqual(['ops cluster.not-ready: a: ProbeTimedOut', 'ops cluster.not-ready: b: ProbeTLSFailed']);
    expect(sent).toHaveLength(1);
    expect(sent[0]?.items[0]?.url).toBe('https://c.example/console/#/clusters/a');
    await setStatus('clusters', 'a', ready('Unknown'));
    await tick();
    await setStatus('clusters', 'a', ready('False'));
    await setStatus('clusters', 'b', ready('True'));
    await tick(60_000);
    await tick(60_000);
    expect(told.slice(2)).toEqual(['ops cluster.ready: b: ready']);
    // It fails again.
    await setStatus('clusters', 'b', ready('False'));
    await tick();
    await tick(45_000);
    expect(told.slice(3)).toEqual(['ops cluster.not-ready: b: ProbeTimedOut']);
  });

  it('of an address or a CA that waits for confirmation, and of another one', async () => {
    const { put, reader, store, replica, told } = await openWorld();
    const { tick } = replica();
    const endpoints = (host: string) => ({ serverEndpoints: [{ serverAddress: `https://${host}:6443` }] });
    await put('clusters', 'a', { spec: { orchestratorApiEndpoints: endpoints('10.0.0.1') } });
    await tick();
    /** As a write with --confirm-endpoints leaves it. */
    const change = async (host: string) => {
      const entry = reader.find(catalog.clusters, at('', '', 'a'));
      const spec = { orchestratorApiEndpoints: endpoints(host), confirmedEndpoints: endpoints('10.0.0.1') };
      const value = toStoredBytes(catalog.clusters, { ...object({ ...entry?.object().metadata }), spec });
      await store.write({ key: entry?.key ?? '', value, expect: { modRevision: entry?.revision ?? 0 } });
    };
    for (const host of ['10.0.0.2', '10.0.0.3']) {
      await change(host);
      await tick();
      await tick();
    }
    const line = 'ops endpoints.waiting: a: check the change, then run: clusterpass confirm a';
    expect(told).toEqual([line, line]);
  });
});

describe('a receiver that fails', () => {
  const two: NotifyConfiguration = {
    receivers: [{ name: 'ops' }, { name: 'leads' }],
    routes: [{ events: ALL, clusters: undefined, receivers: ['ops', 'leads'] }],
  };
  it('does not keep the others waiting, and gets the message later, from the next leader as well', async () => {
    const { put, replica, failing, told, sent, logged } = await openWorld(two);
    const first = replica();
    await first.tick();
    failing.add('ops');
    await put('accessRequests', 'j', { spec: REQUEST, status: { phase: 'Pending' } });
    await first.tick();
    await first.tick(1);
    expect(told.map((line) => line.split(' ')[0])).toEqual(['leads']);
    expect(logged).toEqual([{ receiver: 'ops', problem: 'answered with 503' }]);
    expect(first.failingSince()).toHaveLength(1);
    first.leads = false;
    failing.clear();
    const next = replica();
    await next.tick();
    await next.tick();
    expect(told.map((line) => line.split(' ')[0])).toEqual(['leads', 'ops']);
    expect(new Set(sent.map(({ id }) => id)).size).toBe(2);
    expect(next.failingSince()).toEqual([]);
  });

  it('is tried again ever more rarely, for a day', async () => {
    const { put, replica, failing, told, clock, store } = await openWorld();
    const { tick, failingSince } = replica();
    await tick();
    failing.add('ops');
    await put('accessRequests', 'j', { spec: REQUEST, status: { phase: 'Pending' } });
    await tick();
    expect(failingSince()).toEqual([START + 10_000]);
    // The longest pause is ten minutes.
    for (let minutes = 0; minutes < 60; minutes += 10) await tick(600_000);
    failing.clear();
    clock.now = START + 10_000;
    await tick(0);
    expect(told).toEqual([]);
    failing.add('ops');
    await tick(25 * HOUR);
    const stored = Buffer.from((await store.get('/internal/notifications'))?.value ?? '').toString();
    expect(JSON.parse(stored)).toMatchObject({ waiting: [] });
  });
});
