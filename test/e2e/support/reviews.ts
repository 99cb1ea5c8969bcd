import { expect } from 'vitest';
import type { Server } from './server.ts';

/** Reviews of access and of tokens, at the paths of the fleet and of a cluster. */

export const WHO = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
export const MAY = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
export const RULES = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
export const TOKEN = '/apis/authentication.k8s.io/v1/tokenreviews';

export const inCluster = (path: string, cluster = 'alpha'): string => `/orchestrator/${cluster}${path}`;

/** The status of a review. The test fails if the server refuses the request. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export async function review(server: Server, path: string, body: unknown, token: string): Promise<any> {
  const answer = await server.call('POST', path, { body, token });
  expect(answer.code, answer.text).toBe(201);
  return answer.json.status;
}
