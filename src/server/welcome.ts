import { relative } from 'node:path';
import { ADMIN_TOKEN_FILE } from '../authn/fixed-token-authenticator.ts';
import type { ServeOptions } from '../config/serve-options.ts';
import { DEMO_USERS } from './demo-users.ts';

/** Printed after the start: the next commands, ready to copy. */
export function welcome({ dataDir, productName, demo }: ServeOptions, baseUrl: string): string {
  const fromHere = relative(process.cwd(), dataDir) || '.';
  const folder = fromHere.startsWith('..') ? dataDir : fromHere;
  const token = `${folder}/${ADMIN_TOKEN_FILE}`;
  const lines = [
    '',
    `Clusterpass serves ${baseUrl}`,
    `The admin token is in ${token}`,
    '',
    `Console: ${baseUrl}/console/`,
    '',
    'List the clusters:',
    `  curl -H "Authorization: Bearer $(cat ${token})" ${baseUrl}/auth/v1/clusters`,
    '',
  ];
  if (demo) {
    const path = `${baseUrl}/${productName}/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token`;
    lines.push(
      'Issue a token:',
      `  curl -H "Authorization: Bearer $(cat ${token})" -H 'Content-Type: application/json' \\`,
      `    -d '{"spec":{"audiences":["vault"]}}' ${path}`,
      '',
      `Tokens of the demo callers, each with different rights: ${DEMO_USERS.map(({ name }) => `${folder}/demo/${name}.token`).join(', ')}`,
      '',
    );
  }
  return `${lines.join('\n')}\n`;
}
