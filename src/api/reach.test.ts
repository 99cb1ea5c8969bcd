import { expect, it } from 'vitest';
import { type Given, givesPassesOf, givesTexts } from './reach.ts';

const builder: Given = { action: 'AccountPasses', namespaces: ['ci', 'qa'], names: ['builder'] };

const ALL = ['See', 'AccountPasses', 'OwnPasses', 'AskForAccess', 'Approve', 'Change', 'Grant'] as const;
const everything: Given[] = [...ALL, ...(['ActAsUser', 'ActAsGroup', 'ActAsAccount'] as const)].map((action) => ({
  action,
}));

it.each<[string, Parameters<typeof givesTexts>[0]]>([
  ['sees it; changes it', { gives: [{ action: 'See' }, { action: 'Change' }] }],
  ['passes of ci/builder, qa/builder', { gives: [builder] }],
  ['passes of every account in every namespace', { gives: [{ action: 'AccountPasses' }] }],
  ['passes of every account in ci', { gives: [{ action: 'AccountPasses', namespaces: ['ci'] }] }],
  ['passes of builder in every namespace', { gives: [{ action: 'AccountPasses', names: ['builder'] }] }],
  ['after an approval, passes of every account in ci', { gives: [{ action: 'ReviewedPasses', namespaces: ['ci'] }] }],
  [
    'passes as a person; may ask for access in ci',
    { gives: [{ action: 'OwnPasses' }, { action: 'AskForAccess', namespaces: ['ci'] }] },
  ],
  [
    'acts as jane; acts as the group of its choice',
    { gives: [{ action: 'ActAsUser', names: ['jane'] }, { action: 'ActAsGroup' }] },
  ],
  ['approves requests; writes roles and bindings', { gives: [{ action: 'Approve' }, { action: 'Grant' }] }],
  [
    'passes of ci/builder, qa/builder; passes of 15m at most; agents too, each after an approval',
    { gives: [builder], maxPassSeconds: 900, agents: 'Allow', approval: 'Approver' },
  ],
  ['everything; passes of 1m at most', { gives: everything, maxPassSeconds: 60 }],
  ['sees it', { gives: [{ action: 'See' }], maxPassSeconds: 900, agents: 'Allow' }],
])('says what a binding gives: %s', (text, granted) => {
  expect(givesTexts(granted).join('; ')).toBe(text);
});

it('is not everything if one part is missing or restricted', () => {
  for (const part of everything) {
    const others = everything.filter((each) => each !== part);
    expect(givesTexts({ gives: others })).toHaveLength(9);
    expect(givesTexts({ gives: [...others, { ...part, names: ['a'] }] })).toHaveLength(10);
    expect(givesTexts({ gives: [...others, { ...part, namespaces: ['a'] }] })).toHaveLength(10);
  }
});

it('knows the accounts whose passes are given', () => {
  expect(givesPassesOf({ namespace: 'qa', name: 'builder' }, builder)).toBe(true);
  expect(givesPassesOf({ namespace: 'qa', name: 'other' }, builder)).toBe(false);
  expect(givesPassesOf({ namespace: 'shop', name: 'builder' }, builder)).toBe(false);
  expect(givesPassesOf({ namespace: 'ci', name: '' }, builder)).toBe(false);
  expect(givesPassesOf({ namespace: 'ci', name: '' }, { action: 'ReviewedPasses' })).toBe(true);
  expect(givesPassesOf({ namespace: 'ci', name: 'builder' }, { action: 'See' })).toBe(false);
});
