import { beforeAll, describe, expect, it } from 'vitest';
import { asUser, bind, createObjects, post, tokenPath } from './support/objects.ts';
import { grant, may } from './support/rbac.ts';
import type { Answer } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

/** A token of one cluster with the audience of another cluster of the fleet. */

const server = sharedServer();

beforeAll(async () => {
  await createObjects(server);
  const TOKEN = may('create', 'serviceaccounts/token');
  await bind(server, 'prod', { kind: 'User', name: 'prod' }, undefined, 'env=prod');
  await bind(server, 'fleet', { kind: 'User', name: 'fleet' });
  await grant(server, { to: 'named', rules: [TOKEN], clusters: 'kubernetes.io/metadata.name in (alpha,beta)' });
  await grant(server, { to: 'other', rules: [TOKEN], clusters: 'env=prod' });
  await grant(server, {
    to: 'other',
    rules: [may('create', 'serviceaccounts/token', '', ['another'])],
    clusters: 'env=dev',
  });
});

const issuerOf = (cluster: string): string => `${server.url}/orchestrator/${cluster}`;
const ask = (who: string, audiences: string[], query = ''): Promise<Answer> =>
  post(server, { spec: { audiences } }, { path: `${tokenPath()}${query}`, ...asUser(who) });

describe('A3: the audience of another cluster of the fleet', () => {
  it.each(['beta', 'absent'])('%s is refused to a caller who may not create tokens there', async (cluster) => {
    for (const query of ['', '?dryRun=All']) {
      const answer = await ask('prod', ['vault', issuerOf(cluster)], query);
      expect([answer.code, answer.json.details?.causes]).toEqual([
        422,
        [
          {
            reason: 'FieldValueInvalid',
            message: `Invalid value: "${issuerOf(cluster)}": is the audience of cluster "${cluster}", where you may not create tokens of "ci/builder"`,
            field: 'spec.audiences[1]',
          },
        ],
      ]);
    }
  });

  it('is refused to a caller who may create tokens there for another account only', async () => {
    expect((await ask('other', [issuerOf('beta')])).code).toBe(422);
  });

  it('is granted to a caller who may create tokens there', async () => {
    for (const who of ['fleet', 'named']) {
      const answer = await ask(who, [issuerOf('alpha'), issuerOf('beta')]);
      expect([who, answer.code]).toEqual([who, 201]);
      expect(answer.json.spec.audiences).toEqual([issuerOf('alpha'), issuerOf('beta')]);
    }
  });

  it('the audience of the cluster itself, audiences of services, and other texts are granted', async () => {
    const audiences = [issuerOf('alpha'), 'vault', `${issuerOf('beta')}/`, 'https://other.example/orchestrator/beta'];
    expect((await ask('prod', audiences)).json.spec.audiences).toEqual(audiences);
  });
});
