import { expect, it } from 'vitest';
import { actionOf, addEvents, NO_EVENTS, passesOf, resultOf } from './event-feed.ts';

const event = (auditID: string, time: string) => ({ auditID, stage: 'ResponseComplete', time });

it('adds events once, in the order of their times, also of several processes', () => {
  const first = addEvents(NO_EVENTS, { events: [event('b', '2'), event('a', '1')], instance: 'x', sequence: 2 });
  const second = addEvents(first, { events: [event('d', '4'), event('b', '2'), event('c', '1.5')], instance: 'y' });
  expect(second.events.map(({ auditID }) => auditID)).toEqual(['d', 'b', 'c', 'a']);
  expect([second.instance, second.sequence]).toEqual(['y', 0]);
  expect(addEvents(second, { events: [event('d', '4')] }).events).toBe(second.events);
});

it('keeps a bounded number of events', () => {
  const many = Array.from({ length: 700 }, (_, index) => event(`${index}`, String(index).padStart(4, '0')));
  const { events, isIncomplete } = addEvents(NO_EVENTS, { events: many });
  expect(events).toHaveLength(500);
  expect(events[0]?.auditID).toBe('699');
  expect(isIncomplete).toBe(true);
});

it('has no gap: an answer with the newest of its events only replaces the events before them', () => {
  const first = addEvents(NO_EVENTS, { events: [event('b', '2'), event('a', '1')] });
  expect(first.isIncomplete).toBe(false);
  const second = addEvents(first, { events: [event('g', '7'), event('f', '6')], incomplete: true });
  expect(second.events.map(({ auditID }) => auditID)).toEqual(['g', 'f']);
  const third = addEvents(second, { events: [event('h', '8')], incomplete: false });
  expect(third.events.map(({ auditID }) => auditID)).toEqual(['h', 'g', 'f']);
  expect(third.isIncomplete).toBe(true);
});

it.each([
  [
    { verb: 'create', resource: 'serviceaccounts/token', namespace: 'ci', name: 'builder' },
    'create serviceaccounts/token ci/builder',
  ],
  [{ verb: 'list', resource: 'clusters' }, 'list clusters'],
  [{ verb: 'get', path: '/metrics' }, 'get /metrics'],
  [{ verb: 'patch', resource: 'clusters', name: 'a', dryRun: true }, 'patch clusters a (dry run)'],
  [{ verb: 'watch', resource: 'clusters', stage: 'ResponseStarted' }, 'watch clusters (started)'],
])('describes %j', (summary, text) => expect(actionOf(summary)).toBe(text));

it.each([
  [{ code: 201 }, '201'],
  [{ code: 403, reason: 'Forbidden' }, '403 Forbidden'],
  [{}, ''],
])('gives the result of %j', (summary, text) => expect(resultOf(summary)).toBe(text));

it('names the passes of an event by their use', () => {
  expect(passesOf({ credentialID: 'a', issuedCredentialID: 'b' })).toEqual([
    { use: 'issued', id: 'b' },
    { use: 'used', id: 'a' },
  ]);
});
