import { expect, it } from 'vitest';
import { type AccessRequest, toIssuePass, toViewCluster } from './access-review.ts';
import { requestCommand, requestLink } from './request-access.ts';

const other: AccessRequest = { cluster: 'prod-eu-1', verb: 'delete', group: '', resource: 'pods' };

it('links to the form for a cluster and for passes, which are all that the form can ask for', () => {
  expect(requestLink(toViewCluster('prod-eu-1'))).toBe('#/requests?cluster=prod-eu-1');
  expect(requestLink(toIssuePass('prod-eu-1', 'ci', 'builder'))).toBe(
    '#/requests?cluster=prod-eu-1&account=ci%2Fbuilder',
  );
  expect(requestLink(other)).toBeUndefined();
  expect(requestLink({ ...toIssuePass('prod-eu-1', 'ci', 'builder'), verb: 'get' })).toBeUndefined();
});

it.each<[Partial<AccessRequest>, string]>([
  [{}, 'delete pods --all-namespaces --cluster prod-eu-1'],
  [{ namespace: 'ci', name: 'x' }, 'delete pods x --namespace ci --cluster prod-eu-1'],
  [{ group: 'apps', resource: 'deployments' }, 'delete deployments.apps --all-namespaces --cluster prod-eu-1'],
  [{ subresource: 'log' }, 'delete pods --subresource log --all-namespaces --cluster prod-eu-1'],
  [{ name: "o'x; rm *" }, `delete pods 'o'\\''x; rm *' --all-namespaces --cluster prod-eu-1`],
])('asks for anything else with a command: %j', (part, words) => {
  expect(requestCommand({ ...other, ...part })).toBe(`clusterpass request create ${words} --reason REASON`);
});
