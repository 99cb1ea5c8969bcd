import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Desk, patchSpec, startDesk } from './support/forwarding.ts';
import { ASK, createAccount, createCluster, createNamespace, issue, post, tokenPath } from './support/token-world.ts';

let desk: Desk;

beforeAll(async () => {
  desk = await startDesk({});
  await createCluster(desk.server, 'turning');
  await createNamespace(desk.server, 'ci', 'turning');
  await createAccount(desk.server, 'builder', 'ci', 'turning');
});
afterAll(() => desk.destroy());

it('from when a cluster issues its tokens itself nothing is signed for it here, and after that again', async () => {
  const { server } = desk;
  const path = tokenPath('builder', 'ci', 'turning');
  const controller = { kind: 'Secret', namespace: 'fleet', name: 'none' };
  for (let round = 0; round < 2; round++) {
    await issue(server, path);
    await issue(server, path);
    expect((await patchSpec(server, 'turning', { spec: { authInfo: { controller } } })).code).toBe(200);
    // Nobody has said how it is reached, so it can not be asked.
    for (let again = 0; again < 2; again++)
      expect((await post(server, ASK, { path })).code).toBeGreaterThanOrEqual(400);
    expect((await patchSpec(server, 'turning', { spec: { authInfo: null } })).code).toBe(200);
  }
  await issue(server, path);
});
