/** Token requests to a service account of `--demo`. */
import { tokenOf } from '../../test/e2e/support/server.ts';

export const DEMO_TOKEN_PATH = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
export const DEMO_TOKEN_BODY = '{"spec":{"audiences":["bench"]}}';

/** The head of a token request of this user, for a body of so many bytes. */
export const demoTokenHead = (user: string, bodyBytes: number): string =>
  [
    `POST ${DEMO_TOKEN_PATH} HTTP/1.1`,
    'Host: bench',
    `Authorization: Bearer ${tokenOf(user)}`,
    'Content-Type: application/json',
    `Content-Length: ${bodyBytes}`,
    '\r\n',
  ].join('\r\n');

export const demoTokenRequest = (user: string): string =>
  `${demoTokenHead(user, DEMO_TOKEN_BODY.length)}${DEMO_TOKEN_BODY}`;
