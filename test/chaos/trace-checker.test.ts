import { appendFile, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkTraces, type Step } from './trace-checker.ts';

type Told = Omit<Step, 'at' | 'by'> & { readonly at?: number; readonly by?: string };

const CLUSTER = '/registry/clusters/a';
const ORDER = '/registry/tokenorders/a/o';

/** Steps of replicas `a` and `b`, a millisecond after each other unless they say when. */
async function problemsOf(...told: ['a' | 'b', Told][]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'clusterpass-trace-'));
  const files = { a: join(folder, 'a'), b: join(folder, 'b') };
  let now = 0;
  for (const [replica, { at = now + 1, ...step }] of told) {
    now = at;
    await appendFile(files[replica], `${JSON.stringify({ at, by: replica, ...step })}\n`);
  }
  for (const file of Object.values(files)) await appendFile(file, '{"half": ');
  return (await checkTraces(Object.values(files))).problems.map((text) => text.replace(/ \(\d+\): .*/, ''));
}

const acknowledged = (revision: number): Told => ({ step: 'acknowledged', revision });
const decides = (revision: number, more: Partial<Told> = {}): Told => ({ step: 'decides', revision, ...more });
const applied = (revision: number, more: Partial<Told> = {}): Told => ({
  step: 'applied',
  revision,
  key: CLUSTER,
  ...more,
});
const order = (revision: number, more: Partial<Told> = {}): Told => applied(revision, { key: ORDER, ...more });
const sent = (type: string, revision: number): Told => ({ step: 'sent', watch: 1, type, object: '/a', revision });
const watches: Told = { step: 'watches', watch: 1, resource: 'clusters' };
const leads = (epoch: number): Told => ({ step: 'leads', epoch, for: 5_000 });
const resigned = (epoch: number): Told => ({ step: 'resigned', epoch });
const made = (...states: string[]): ['a', Told][] => states.map((state) => ['a', { step: 'made', key: 'o', state }]);
const written = (createRevision: number, revision: number, ok = true): Told => ({
  step: 'written',
  createRevision,
  revision,
  ok,
});

describe('steps that the rules of the models allow', () => {
  it.each<[string, ...['a' | 'b', Told][]]>([
    ['a decision within a second at another replica', ['a', acknowledged(5)], ['b', decides(4, { at: 900 })]],
    ['without the store', ['a', acknowledged(5)], ['b', decides(4, { at: 9_000, isUnreachable: true })]],
    ['a read that was asked before', ['a', acknowledged(5)], ['b', { step: 'read', at: 9, took: 8.5, revision: 4 }]],
    [
      'caches that are refilled from the past',
      ['a', applied(4)],
      ['a', { step: 'filled', revision: 2 }],
      ['a', applied(4)],
    ],
    [
      'a watch',
      ['a', watches],
      ['a', sent('ADDED', 2)],
      ['a', sent('MODIFIED', 3)],
      ['a', sent('DELETED', 4)],
      ['a', sent('ADDED', 5)],
    ],
    ['a watch that resumes', ['a', { ...watches, after: 2 }], ['a', sent('DELETED', 3)], ['a', sent('ADDED', 4)]],
    [
      'an order',
      ['a', order(2)],
      ['a', order(3, { claimedBy: 'c' })],
      ['a', order(4, { claimedBy: 'c', answered: true })],
      ['a', order(5, { claimedBy: 'c', phase: 'Issued' })],
      ['a', order(6, { gone: true })],
    ],
    ['a token of a cluster', ...made('RECORD', 'SECRET', 'TOKEN', 'RECORD', '')],
    ['a Secret that comes late', ...made('RECORD', '', 'SECRET_ONLY', '')],
    [
      'leaders',
      ['a', leads(2)],
      ['a', written(2, 3)],
      ['a', leads(2)],
      ['a', resigned(2)],
      ['b', leads(4)],
      ['a', written(2, 5, false)],
      ['b', leads(4)],
      ['a', { ...leads(6), at: 99_000 }],
    ],
  ])('%s', async (_, ...steps) => {
    expect(await problemsOf(...steps)).toEqual([]);
  });
});

describe('planted violations', () => {
  it.each<[string, ...['a' | 'b', Told][]]>([
    [
      'a read lacks a write that was acknowledged before it',
      ['a', acknowledged(5)],
      ['b', { step: 'read', at: 9, took: 2, revision: 4 }],
    ],
    [
      'a decision lacks a write that its replica has acknowledged',
      ['a', acknowledged(5)],
      ['a', decides(4, { by: 'worker' })],
    ],
    [
      'a decision lacks a write that was acknowledged more than a second ago',
      ['a', acknowledged(5)],
      ['b', decides(4, { at: 1_100 })],
    ],
    ['an event is applied twice, or out of order', ['a', applied(4)], ['a', applied(4)]],
    ['two events have one revision', ['a', applied(4)], ['b', applied(4, { key: ORDER })]],
    [
      'an event is not applied',
      ['a', applied(4)],
      ['a', applied(5)],
      ['a', applied(6)],
      ['b', applied(4)],
      ['b', applied(6)],
    ],
    [
      'an event is shown by rules from before their last change',
      ['a', applied(4, { rules: true })],
      ['a', applied(5)],
      ['a', { step: 'shown', revision: 5, rules: 3 }],
    ],
    ['ADDED is sent to a client that has it', ['a', watches], ['a', sent('ADDED', 2)], ['a', sent('ADDED', 3)]],
    ['MODIFIED is sent to a client that lacks it', ['a', watches], ['a', sent('MODIFIED', 3)]],
    [
      'DELETED is sent to a client that lacks it',
      ['a', { ...watches, after: 1 }],
      ['a', sent('DELETED', 3)],
      ['a', sent('DELETED', 4)],
    ],
    ['an older version is sent', ['a', watches], ['a', sent('ADDED', 3)], ['a', sent('MODIFIED', 3)]],
    [
      'an event is not sent',
      ['a', watches],
      ['a', sent('ADDED', 2)],
      ['a', applied(3)],
      ['a', { ...sent('BOOKMARK', 4), object: '/' }],
    ],
    [
      'an event is not sent',
      ['a', watches],
      ['a', sent('ADDED', 2)],
      ['a', applied(3, { gone: true })],
      ['a', { ...sent('ADDED', 4), object: '/b' }],
    ],
    ['an order goes from CLAIMED to MADE', ['a', order(2)], ['a', order(3, { claimedBy: 'c' })], ['a', order(4)]],
    ['an order goes from GONE to ISSUED', ['a', order(2, { gone: true })], ['a', order(3, { phase: 'Issued' })]],
    ['a cluster goes from SECRET_ONLY to TOKEN for an order', ...made('RECORD', 'SECRET', 'SECRET_ONLY', 'TOKEN')],
    ['a cluster goes from TOKEN to SECRET_ONLY for an order', ...made('RECORD', 'SECRET', 'TOKEN', 'SECRET_ONLY')],
    [
      'an order is claimed twice',
      ['a', order(2, { claimedBy: 'c' })],
      ['a', order(3, { claimedBy: 'd', answered: true })],
    ],
    ['two processes lead at a time', ['a', leads(2)], ['b', leads(4)]],
    ['a term goes from ENDED to HELD', ['a', leads(2)], ['a', resigned(2)], ['a', leads(2)]],
    ['two processes have one term', ['a', leads(2)], ['b', leads(2)]],
    ['a term has an older epoch than the one before it', ['a', leads(4)], ['a', resigned(4)], ['b', leads(2)]],
    [
      'a write of a former leader has happened',
      ['a', leads(2)],
      ['b', { ...leads(4), at: 9_000 }],
      ['a', written(2, 5)],
    ],
    [
      'a write of a former leader has happened',
      ['a', leads(2)],
      ['a', { ...written(2, 5), at: 9_000 }],
      ['b', leads(4)],
    ],
  ])('%s', async (problem, ...steps) => {
    expect(await problemsOf(...steps)).toContain(problem);
  });
});
