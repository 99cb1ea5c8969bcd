import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ListedPass, passesText, readPasses } from './listed-passes.ts';

const ID = 'authentication.kubernetes.io/issued-credential-id';
const CLUSTER = 'clusterpass.dev/cluster';

it('D6: has all passes, and says what is equal once', () => {
  const pass = (cluster: string, jti: string, name?: string): ListedPass => ({
    code: 201,
    cluster,
    account: name === undefined ? undefined : { namespace: 'ci', name },
    annotations: { 'authorization.k8s.io/reason': 'allowed by x', [CLUSTER]: cluster, [ID]: `JTI=${jti}` },
  });
  const refused = { code: 403, reason: 'Forbidden', cluster: 'c', account: { namespace: '', name: '' } };
  const text = passesText([pass('a', '1', 'x'), { ...refused, annotations: {} }, pass('b', '2', 'x'), pass('b', '3')]);
  expect(JSON.parse(text)).toEqual([
    {
      code: 201,
      annotations: { 'authorization.k8s.io/reason': 'allowed by x' },
      passes: ' a/ci/x=1 b/ci/x=2 b/userpass=3',
    },
    { code: 403, reason: 'Forbidden', annotations: {}, passes: ' c//' },
  ]);
});

it('is read as it was written, whatever the names of refused passes are', () => {
  const name = fc.string({ unit: 'binary', maxLength: 20 });
  const passes = fc.array(
    fc.record({
      code: fc.constantFrom(201, 403, 404),
      cluster: name,
      account: fc.option(fc.record({ namespace: name, name }), { nil: undefined }),
      annotations: fc.dictionary(fc.constantFrom('a', '__proto__', 'c'), fc.string()),
    }),
    { minLength: 1, maxLength: 6 },
  );
  const textOfEach = (all: readonly ListedPass[]): string[] => all.map((pass) => JSON.stringify(pass)).sort();
  fc.assert(
    fc.property(passes, (all) => {
      const read = readPasses(passesText(all));
      const expected = all.map(({ code, cluster, account, annotations }) => ({
        code,
        cluster,
        ...(account === undefined ? {} : { account }),
        annotations: { ...annotations, [CLUSTER]: cluster },
      }));
      expect(textOfEach(read)).toEqual(textOfEach(expected as ListedPass[]));
    }),
  );
});
