import { expect, it } from 'vitest';
import { readRules } from './configuration.ts';

const HEAD = 'apiVersion: clusterpass.dev/v1alpha1\nkind: ConnectorConfiguration\n';
const read = (text: string) => readRules(Buffer.from(`${HEAD}${text}`), 'clusterpass-connector');

it('A52: has what the owner of the cluster allows, and nothing by default', () => {
  expect(read('')).toEqual({
    orders: true,
    revocable: true,
    mirror: { accounts: true, pods: true },
    allow: [],
    people: [],
  });
  const text = `
orders: false
revocable: false
mirror: { accounts: false }
allow:
- { namespace: shop, accounts: [deployer, builder], maxSeconds: 600 }
- { namespace: ci, accounts: ["*"] }
people:
- { group: devs, maxSeconds: 900 }
`;
  expect(read(text)).toEqual({
    orders: false,
    revocable: false,
    mirror: { accounts: false, pods: true },
    allow: [
      { namespace: 'shop', accounts: ['deployer', 'builder'], maxSeconds: 600 },
      { namespace: 'ci', accounts: ['*'], maxSeconds: 3600 },
    ],
    people: [{ group: 'devs', maxSeconds: 900 }],
  });
});

it.each([
  ['alow: []', 'unknown field "alow"'],
  ['allow: [{ namespace: shop, account: deployer }]', 'unknown field "allow[0].account"'],
  ['allow: {}', 'allow'],
  ['revocable: "yes"', 'revocable'],
  [
    'allow: [{ namespace: clusterpass-connector, accounts: ["*"] }]',
    'allow[0].namespace: a token of the connector could do all that it may',
  ],
  [
    'allow: [{ namespace: clusterpass-people-devs, accounts: ["*"] }]',
    'allow[0].namespace: people are allowed by their group',
  ],
])('refuses %s', (text, problem) => {
  expect(() => read(text)).toThrow(problem);
});

it('refuses a file of another kind', () => {
  expect(() => readRules(Buffer.from('allow: []'), 'x')).toThrow();
  expect(() => readRules(Buffer.from('apiVersion: v1\nkind: ConfigMap\n'), 'x')).toThrow();
});
