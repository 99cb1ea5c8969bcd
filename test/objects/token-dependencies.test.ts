import { expect, onTestFinished, test } from 'vitest';
import { fleetKey, storageKey } from '../../src/api/kind.ts';
import { clusterScope } from '../../src/api/kinds/cluster.ts';
import { createIssuedTokenAuthenticator } from '../../src/authn/issued-token-authenticator.ts';
import { Client, WatchHarness } from '../../src/handlers/watch/watch.fixture.ts';
import { Secret } from '../../src/observability/secret.ts';
import { DEPENDENCIES, type DependencyRow } from '../../src/tokens/dependencies.ts';
import { ISSUERS, openFixture } from '../../src/tokens/tokens.fixture.ts';
import { createVerifier } from '../../src/tokens/verifier.ts';

/** The table of what a token depends on serves requests and open watches: a row that is added is followed by both. */

const KEY = storageKey(clusterScope, fleetKey('quarantine'));

const madeUp: DependencyRow = (cluster) => ({
  resource: 'clusters',
  key: KEY,
  problem: (found) => (found === undefined ? undefined : `cluster ${cluster} is in quarantine`),
});

test('A4: with a made-up dependency a request is refused, and an open watch ends', async () => {
  const fixture = await openFixture();
  onTestFinished(() => fixture.remove());
  const harness = new WatchHarness(60_000);
  const findLive = (resource: string, key: string) =>
    key === KEY ? harness.cache.get(key) : fixture.world.findLive(resource, key);
  const verifier = createVerifier({
    keyRing: fixture.ring,
    clusterOfIssuer: ISSUERS.clusterOfIssuer,
    findLive,
    now: () => fixture.clock.now,
    dependencies: [...DEPENDENCIES, madeUp],
  });
  const { authenticateToken } = createIssuedTokenAuthenticator({ verifier });
  const token = new Secret(await fixture.issue());
  const caller = await authenticateToken(token);
  if (caller === undefined) throw new Error('a token of another issuer');
  const [client, other] = [new Client(), new Client()];
  harness.watch(client, { caller }).startAfter(0);
  harness.watch(other).startAfter(0);

  harness.batch(() => harness.writeAll(['shown', 'quarantine']));

  await expect(Promise.try(() => authenticateToken(token))).rejects.toThrow('cluster alpha is in quarantine');
  expect(client.events).toEqual(['ADDED shown 1', 'ERROR 401']);
  expect(client.ending).toBe('ended');
  expect(other.events).toEqual(['ADDED shown 1', 'ADDED quarantine 2']);
});
