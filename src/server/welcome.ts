import { relative } from 'node:path';
import { ADMIN_TOKEN_FILE } from '../authn/fixed-token-authenticator.ts';
import type { ServeOptions } from '../config/serve-options.ts';
import { shellWord } from '../lib/text.ts';
import { DEMO_USERS } from './demo-front.ts';

/** Printed after the start: the next commands, ready to copy. */
export function welcome(
  { dataDir, productName, demo, tls }: Pick<ServeOptions, 'dataDir' | 'productName' | 'demo' | 'tls'>,
  baseUrl: string,
  front?: { readonly url: string; readonly kubeconfig: string },
): string {
  const folder = fromHere(dataDir);
  // Trusts the certificate itself, so the command works with any CA and with a self-signed certificate.
  const curl = tls === undefined ? 'curl' : `curl --cacert ${shellWord(fromHere(tls.certFile))}`;
  const token = `${folder}/${ADMIN_TOKEN_FILE}`;
  const lines = [
    '',
    `Clusterpass serves ${baseUrl}`,
    `The admin token is in ${token}`,
    '',
    `Console: ${baseUrl}/console/`,
    '',
    'List the clusters:',
    `  ${curl} -H "Authorization: Bearer $(cat ${shellWord(token)})" ${baseUrl}/auth/v1/clusters`,
    '',
  ];
  if (demo) {
    const path = `${baseUrl}/${productName}/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token`;
    lines.push(
      'Issue a token:',
      `  ${curl} -H "Authorization: Bearer $(cat ${shellWord(token)})" -H 'Content-Type: application/json' \\`,
      `    -d '{"spec":{"audiences":["vault"]}}' ${path}`,
      '',
      `Tokens of the demo callers, each with different rights: ${DEMO_USERS.map(({ name }) => `${folder}/demo/${name}.token`).join(', ')}`,
      '',
    );
  }
  if (front !== undefined) {
    const kubectl = `kubectl --kubeconfig ${shellWord(fromHere(front.kubeconfig))}`;
    lines.push(
      `kubectl, at ${front.url}:`,
      `  ${kubectl} get clusters`,
      `  ${kubectl} --context carl get clusters`,
      '',
    );
  }
  return `${lines.join('\n')}\n`;
}

/** A path as short as it can be typed here. */
function fromHere(path: string): string {
  const relativePath = relative(process.cwd(), path) || '.';
  return relativePath.startsWith('..') ? path : relativePath;
}
