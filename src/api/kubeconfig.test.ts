import { describe, expect, it } from 'vitest';
import { currentAddress, kubeconfigOf, parseKubeconfig, passContext } from './kubeconfig.ts';

it('reads what it writes', () => {
  const account = { namespace: 'ci', name: 'builder' };
  const facts = { cluster: 'alpha', server: 'https://x', caBundle: 'Q0E=', baseUrl: 'https://clusterpass', account };
  const written = JSON.stringify(kubeconfigOf([passContext(facts)]));
  expect(currentAddress(written)).toEqual({ server: 'https://x', caBundle: 'Q0E=' });
  expect(parseKubeconfig(written)).toMatchObject({ current: 'alpha', users: [{ name: 'ci:builder@alpha' }] });
  expect(parseKubeconfig(written, { withoutUsers: true })?.users).toEqual([]);
});

describe('CP-91: the kubeconfig of a cluster', () => {
  const text = (users: string) => `
current-context: c
contexts: [{name: other, context: {cluster: y}}, {name: c, context: {cluster: x, user: admin}}]
clusters: [{name: y, cluster: {server: no}}, {name: x, cluster: {server: 'https://x', certificate-authority-data: Q0E=}}]
users: ${users}
`;
  it('has address and CA, and its users are not read', () => {
    const expected = { server: 'https://x', caBundle: 'Q0E=' };
    expect(currentAddress(text('[{name: admin, user: {client-key-data: c2VjcmV0}}]'))).toEqual(expected);
    expect(currentAddress(text('nothing of this is understood'))).toEqual(expected);
  });

  it('is read as kubectl does: the first document, and the last of two keys', () => {
    const twice = `${text('[]').replace('context: c', 'context: other')}current-context: c\n---\n[`;
    expect(currentAddress(twice)).toEqual({ server: 'https://x', caBundle: 'Q0E=' });
  });

  it('has none if it is an alias bomb', () => {
    const lines = Array.from({ length: 9 }, (_, at) => `a${at + 1}: &a${at + 1} [${Array(10).fill(`*a${at}`).join()}]`);
    expect(currentAddress(`a0: &a0 [x]\n${lines.join('\n')}\n${text('[]')}`)).toBeUndefined();
  });

  it.each([
    '',
    '[',
    'a: b',
    'contexts: 1',
    'null',
    'contexts: [null]\nclusters: [null]',
    'users: &a [x]\nclusters: *a',
    text('[]').replace("'https://x'", "''"),
  ])('%j has none', (broken) => {
    expect(currentAddress(broken)).toBeUndefined();
  });
});
