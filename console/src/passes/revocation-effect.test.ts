import { expect, it } from 'vitest';
import type { Cluster } from '../../../src/client/index.ts';
import { formatTime } from '../components/time.tsx';
import { describeEffects, revocationEffect } from './revocation-effect.ts';

const cluster = (name: string, checks?: string): Cluster => ({
  apiVersion: 'a/v1',
  kind: 'Cluster',
  metadata: {
    name,
    annotations: {
      'clusterpass.dev/audience': `https://c/orchestrator/${name}`,
      ...(checks === undefined ? {} : { 'clusterpass.dev/token-checks': checks }),
    },
  },
});
const fleet = new Map([
  ['asks', cluster('asks', 'webhook')],
  ['verifies', cluster('verifies')],
  ['people', cluster('people', 'webhook')],
]);
const effectOf = (audiences: readonly string[], expiresAt = 5_000) =>
  revocationEffect({ audiences, expiresAt }, (name) => fleet.get(name));

it('tells clusters that ask from those that verify with the key set, and from services', () => {
  expect(
    effectOf(['https://c/orchestrator/asks', 'https://c/orchestrator/verifies', 'vault', 'https://other/asks']),
  ).toEqual({
    asking: ['The cluster asks'],
    accepting: ['The cluster verifies', 'vault', 'https://other/asks'],
    until: 5_000,
  });
});

it('knows passes for people, also in a cluster of that name', () => {
  const audiences = ['https://c/orchestrator/asks/people', 'https://c/orchestrator/verifies/people'];
  expect(effectOf(audiences)).toMatchObject({ asking: ['The cluster asks'], accepting: ['The cluster verifies'] });
  const people = ['https://c/orchestrator/people', 'https://c/orchestrator/people/people'];
  expect(effectOf(people).asking).toEqual(['The cluster people', 'The cluster people']);
});

it('a cluster that the user cannot see counts as one that does not ask', () => {
  expect(effectOf(['https://c/orchestrator/hidden']).accepting).toEqual(['https://c/orchestrator/hidden']);
});

it('describes several revocations together, with the latest time', () => {
  const effects = [effectOf(['vault'], 1_000), effectOf(['vault'], 9_000), effectOf(['https://c/orchestrator/asks'])];
  expect(describeEffects(effects)).toEqual([
    'The cluster asks asks Clusterpass, and refuses it within about 15 seconds.',
    `vault does not notice: it accepts its passes until ${formatTime(9_000)}.`,
  ]);
  expect(describeEffects([effectOf(['vault'])])[0]).toContain('it accepts the pass until');
});
