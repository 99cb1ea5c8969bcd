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
    mirror: { accounts: false, pods: false },
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
  ['allow: [{ accounts: [a] }]', 'allow[0].namespace: Invalid value: ""'],
  ['allow: [{ namespace: "*", accounts: [a] }]', 'allow[0].namespace: Invalid value: "*"'],
  ['allow: [{ namespace: shop }]', 'allow[0].accounts: Required value: names of service accounts, or "*" for all'],
  ['allow: [{ namespace: shop, accounts: ["a*"] }]', 'allow[0].accounts[0]: Invalid value: "a*"'],
  [
    'allow: [{ namespace: shop, accounts: [a] }, { namespace: shop, accounts: [b] }]',
    'allow[1].namespace: Forbidden: is in the list already',
  ],
  [
    'allow: [{ namespace: clusterpass-connector, accounts: ["*"] }]',
    'allow[0].namespace: Forbidden: a token of the connector could do all that it may',
  ],
  [
    'allow: [{ namespace: clusterpass-people-devs, accounts: ["*"] }]',
    'allow[0].namespace: Forbidden: people are allowed by their group',
  ],
  [
    'allow: [{ namespace: shop, accounts: [a], maxSeconds: 599 }]',
    'allow[0].maxSeconds: Invalid value: 599: must be from 600 to 604800',
  ],
  ['people: [{ group: "Team A" }]', 'people[0].group: Invalid value: "Team A"'],
  ['people: [{}]', 'people[0].group: Invalid value: ""'],
  ['people: [{ group: devs, maxSeconds: 604801 }]', 'people[0].maxSeconds: Invalid value: 604801'],
  ['people: [{ group: devs }, { group: devs }]', 'people[1].group: Forbidden: is in the list already'],
  ['mirror: { accounts: false, pods: true }', 'mirror.pods: Forbidden: a copy of a Pod needs that of its account'],
])('refuses %s', (text, problem) => {
  expect(() => read(text)).toThrow(problem);
});

it('refuses a file of another kind', () => {
  expect(() => readRules(Buffer.from('allow: []'), 'x')).toThrow();
  expect(() => readRules(Buffer.from('apiVersion: v1\nkind: ConfigMap\n'), 'x')).toThrow();
});
