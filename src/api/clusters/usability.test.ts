import { describe, expect, it } from 'vitest';
import type { GrantedSubject } from '../kinds/grant-reviews.ts';
import type { Given } from '../reach.ts';
import { TOKEN_CHECKS_CHOICES } from './annotations.ts';
import { type UsabilityFacts, usabilitySteps } from './usability.ts';

const ISSUER = { 'clusterpass.dev/issuer': 'https://pass/orchestrator/a' };

const clusterWith = (annotations: Record<string, string>, ...conditions: object[]) => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'a', annotations },
  status: { conditions },
});
const subject = (name: string, ...actions: Given['action'][]): GrantedSubject => ({
  kind: 'Group',
  name,
  gives: actions.map((action) => ({ action })),
});
const ready = (status: string) => ({ type: 'Ready', status, reason: 'Why', message: 'because' });

/** What is done of each step. */
const doneOf = (facts: Partial<UsabilityFacts>) =>
  Object.fromEntries(
    usabilitySteps({ cluster: clusterWith(ISSUER), accounts: undefined, subjects: undefined, ...facts }).map(
      ({ id, done }) => [id, done],
    ),
  );

describe('the checklist of a registered cluster', () => {
  it('is unknown where Clusterpass or the caller cannot know', () => {
    expect(doneOf({})).toEqual({ reachable: undefined, trust: undefined, accounts: undefined, callers: undefined });
  });

  it('is reachable as its condition Ready says', () => {
    expect(
      ['True', 'False', 'Unknown'].map((status) => doneOf({ cluster: clusterWith({}, ready(status)) }).reachable),
    ).toEqual([true, false, undefined]);
    const [step] = usabilitySteps({ cluster: clusterWith({}, ready('False')), accounts: 0, subjects: [] });
    expect(step).toMatchObject({ note: 'Why: because', command: 'clusterpass register a --update --kubeconfig FILE' });
  });

  it('trusts Clusterpass if an operator has said so, or if it issues its tokens itself', () => {
    const trustIn = (...args: Parameters<typeof clusterWith>) => doneOf({ cluster: clusterWith(...args) }).trust;
    for (const checks of TOKEN_CHECKS_CHOICES) {
      expect(trustIn({ ...ISSUER, 'clusterpass.dev/token-checks': checks })).toBe(true);
    }
    // Ready does not say that it accepts passes.
    expect(trustIn(ISSUER, ready('True'))).toBeUndefined();
    expect(trustIn({}, ready('True'))).toBe(true);
    expect(trustIn({}, ready('True'), { type: 'CredentialUsable', status: 'False', message: '' })).toBe(false);
  });

  it('needs an account, or callers who get passes as themselves', () => {
    expect([0, 2].map((accounts) => doneOf({ accounts }).accounts)).toEqual([false, true]);
    expect(doneOf({ accounts: 0, subjects: [subject('devs', 'OwnPasses')] }).accounts).toBe(true);
  });

  it('needs a caller who sees it and gets passes: the administrator does not count, and another may see it', () => {
    const callersOf = (...subjects: GrantedSubject[]) => doneOf({ subjects }).callers;
    expect(callersOf(subject('system:masters', 'AccountPasses'), subject('devs', 'See', 'AskForAccess'))).toBe(false);
    for (const action of ['AccountPasses', 'ReviewedPasses', 'OwnPasses'] as const) {
      expect(callersOf(subject('devs', action), subject('devs', 'See'))).toBe(true);
    }
    expect(callersOf(subject('devs', 'AccountPasses'), subject('auditors', 'See'))).toBeUndefined();
  });
});
