import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JWS_ALGORITHMS } from '../../lib/jws-algorithms.ts';
import type { Algorithm } from './algorithms.ts';
import {
  createRingChanges,
  currentOf,
  type KeyRecord,
  MAX_KEYS,
  type MakeKey,
  nextOf,
  PUBLISHED_MS,
  type RingRules,
  type RingState,
  TooManyKeys,
} from './ring-state.ts';

/** A ring through random rotations, revocations and changes of the options. Names stand for keys. */

type Step =
  | { readonly op: 'wait'; readonly ms: number }
  | { readonly op: 'rotate'; readonly at: number; readonly force: boolean }
  | { readonly op: 'revoke'; readonly at: number }
  | { readonly op: 'configure'; readonly algorithms: readonly Algorithm[]; readonly lifetimeSeconds: number };

const HOUR = 3_600_000;
const index = fc.nat({ max: 40 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ op: fc.constant('wait' as const), ms: fc.constantFrom(0, 1, HOUR, PUBLISHED_MS, 5 * HOUR, 60 * HOUR) }),
  fc.record({ op: fc.constant('rotate' as const), at: index, force: fc.boolean() }),
  fc.record({ op: fc.constant('revoke' as const), at: index }),
  fc.record({
    op: fc.constant('configure' as const),
    // In any order, since the first is the default. None: an external signer.
    algorithms: fc.shuffledSubarray([...JWS_ALGORITHMS]),
    lifetimeSeconds: fc.constantFrom(600, 3600, 86_400),
  }),
);

class Simulation {
  now = Date.UTC(2026, 0, 1);
  ring: RingState = { keys: [] };
  rules: RingRules = { algorithms: ['ES256'], lifetimeSeconds: 3600, rotationMs: 24 * HOUR };
  /** Of each key that signed: when its last token expires. */
  readonly tokens = new Map<string, number>();
  #count = 0;

  get changes() {
    const makeKey: MakeKey = async (algorithm, created) => {
      const kid = `${algorithm}-${++this.#count}`;
      return { kid, algorithm, created, publicKey: kid, privateKey: kid };
    };
    return createRingChanges(this.rules, makeKey);
  }

  current(): readonly KeyRecord[] {
    return this.ring.keys.filter(({ state }) => state === 'current');
  }

  /** Every current key signs, up to the moment of the next change. */
  sign(): void {
    const expires = this.now + this.rules.lifetimeSeconds * 1000;
    for (const { kid } of this.current()) this.tokens.set(kid, Math.max(this.tokens.get(kid) ?? 0, expires));
  }

  async apply(done: Step): Promise<void> {
    const { changes, ring, now } = this;
    switch (done.op) {
      case 'wait':
        this.ring = await changes.advance(ring, now);
        return;
      case 'rotate': {
        const algorithm = this.rules.algorithms[done.at % Math.max(1, this.rules.algorithms.length)];
        if (algorithm === undefined) return;
        this.ring = await changes.rotate(ring, now, { algorithm, force: done.force });
        return;
      }
      case 'revoke': {
        const kid = ring.keys[done.at % Math.max(1, ring.keys.length)]?.kid;
        if (kid === undefined) return;
        this.ring = await changes.revoke(ring, now, kid);
        this.tokens.delete(kid);
        return;
      }
      case 'configure':
        this.rules = { ...this.rules, algorithms: done.algorithms, lifetimeSeconds: done.lifetimeSeconds };
        // As a replica does before it signs its first token.
        this.ring = this.changes.cover(ring);
        this.ring = await this.changes.advance(this.ring, now);
    }
  }
}

/** Whether the step lets a key sign that some verifier may not have. */
function allowsEarly(done: Step, key: KeyRecord, before: readonly KeyRecord[], after: RingState): boolean {
  const isLeft = ({ kid }: KeyRecord): boolean => after.keys.some((one) => one.kid === kid);
  if (done.op === 'rotate' && done.force) return true;
  if (done.op === 'revoke' && before.some((one) => one.algorithm === key.algorithm && !isLeft(one))) return true;
  // No key signed: at the first start, after an external signer, or because the only one was revoked.
  return before.filter(isLeft).length === 0;
}

test('B9: of each algorithm one key signs and one is next, and tokens verify until they expire', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 24 }), async (steps) => {
      const world = new Simulation();
      for (const done of [{ op: 'wait', ms: 0 } as const, ...steps]) {
        if (done.op === 'wait') world.now += done.ms;
        world.sign();
        const before = world.current();
        let isFull = false;
        try {
          await world.apply(done);
        } catch (error) {
          if (!(error instanceof TooManyKeys)) throw error;
          isFull = true;
        }
        world.sign();
        const { ring, rules, now } = world;
        for (const algorithm of JWS_ALGORITHMS) {
          for (const state of ['current', 'next']) {
            const found = ring.keys.filter((key) => key.algorithm === algorithm && key.state === state);
            expect(found.length).toBeLessThanOrEqual(1);
          }
        }
        expect(ring.keys.length).toBeLessThanOrEqual(MAX_KEYS);
        for (const { state, privateKey } of ring.keys) expect(privateKey === undefined).toBe(state === 'retired');
        for (const key of world.current()) {
          if (before.some(({ kid }) => kid === key.kid) || now - key.created >= PUBLISHED_MS) continue;
          expect(allowsEarly(done, key, before, ring), `${key.kid} by ${JSON.stringify(done)}`).toBe(true);
        }
        for (const [kid, expires] of world.tokens) {
          if (expires > now) expect(ring.keys.map((key) => key.kid)).toContain(kid);
        }
        if (isFull) continue;
        for (const algorithm of rules.algorithms) expect(nextOf(ring, algorithm)).toBeDefined();
        expect(world.current().length > 0).toBe(rules.algorithms.length > 0);
        const [byDefault] = rules.algorithms;
        if (byDefault !== undefined && currentOf(ring, byDefault) !== undefined) {
          expect(world.current().filter(({ algorithm }) => !rules.algorithms.includes(algorithm))).toEqual([]);
        }
        expect(await world.changes.advance(ring, now)).toStrictEqual(ring);
      }
    }),
    { numRuns: 200 },
  );
});
