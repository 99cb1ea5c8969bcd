import type { Command } from '../command.ts';
import { audience, cluster, dryRun, noHeaders, output } from './flags.ts';

const handle = [{ name: '<HANDLE...>', doc: 'Handles, the names of passes.' }];
const message = { '-m, --message <text>': 'A message to the requester.' };

/** Passes as handles: to ask for them, and to decide those of others. */
export const PASS_COMMANDS: readonly Command[] = [
  {
    path: ['pass', 'request'],
    summary: 'Ask for a pass of a service account, for a purpose and some minutes.',
    details:
      'Prints the handle of the pass, and writes a kubeconfig that redeems it: no token is stored before ' +
      'kubectl needs it. Needs `create` on `serviceaccounts/token` in the cluster; the binding that gives it ' +
      'decides whether an approval is needed. No token outlives the pass.',
    flags: {
      ...cluster('The cluster. Required.', { field: /spec\.cluster/ }),
      '--account <namespace/name>': { doc: 'Service account. Required.', field: /spec\.serviceAccount(?:\.\w+)?/ },
      '--purpose <text>': {
        doc: 'What for, in one line. Approvers and the audit log have it. Required.',
        field: /spec\.purpose/,
      },
      '--duration <duration>': {
        doc: 'How long the pass can be used: 10m to 15m. Defaults to 10m.',
        field: /spec\.durationSeconds/,
      },
      ...audience(),
      '--any-machine': 'The pass can be redeemed with your credential on every machine. Otherwise only on this one.',
      ...output('json', 'yaml', 'name'),
    },
    notRun: 'example names',
    examples: ["clusterpass pass request --cluster prod-eu-1 --account ci/builder --purpose 'INC-4711: read the logs'"],
  },
  {
    path: ['pass', 'list'],
    summary: 'List your passes, and those that you may review.',
    details:
      'With the permission to `list` `passes`, all of them. Expired passes are listed for an hour, denied ones for a day. ' +
      '`-o wide` has the message of a denial.',
    flags: {
      ...cluster('Only passes of this cluster.'),
      '--phase <Pending|Ready|Denied|Ended>': 'Only passes of this phase.',
      '--requester <user>': 'Only passes of this user.',
      ...noHeaders,
      ...output('wide', 'json', 'yaml', 'name'),
    },
    examples: ['clusterpass pass list', 'clusterpass pass list --phase Pending -o wide'],
  },
  {
    path: ['pass', 'show'],
    summary: 'Show passes: what they are for, what was decided, and the ids of their tokens.',
    details: 'As long as `pass list` has them, and not if they were revoked; the audit log has those.',
    arguments: handle,
    flags: { ...output('json', 'yaml') },
    notRun: 'example names',
    examples: ['clusterpass pass show pass_4e6xk2vqz7h3m5tcoywn2r4jdaglbuep'],
  },
  {
    path: ['pass', 'approve'],
    summary: 'Approve passes.',
    details: 'A `review` needs another person, who may `approve` `passes` in the cluster; a `confirm` the requester.',
    arguments: handle,
    flags: { ...message, ...dryRun },
    notRun: 'example names',
    examples: ['clusterpass pass approve pass_4e6xk2vqz7h3m5tcoywn2r4jdaglbuep'],
  },
  {
    path: ['pass', 'deny'],
    summary: 'Deny passes.',
    arguments: handle,
    flags: { ...message, ...dryRun },
    notRun: 'example names',
    examples: ["clusterpass pass deny pass_4e6xk2vqz7h3m5tcoywn2r4jdaglbuep -m 'use the staging cluster'"],
  },
  {
    path: ['pass', 'revoke'],
    summary: 'End passes, and revoke the tokens that were issued for them.',
    details:
      'Your own; with the permission to `delete` `passes`, all of them. Kubeconfig and cached tokens of a pass ' +
      'on this machine are deleted.',
    arguments: handle,
    notRun: 'example names',
    examples: ['clusterpass pass revoke pass_4e6xk2vqz7h3m5tcoywn2r4jdaglbuep'],
  },
];
