import { JOIN_SUBRESOURCE } from './kinds/bootstrap-token.ts';
import { USERPASS } from './kinds/token-request.ts';

/** All subresources, and '' for the object itself. */
export const SUBRESOURCES = [
  '',
  'status',
  'token',
  USERPASS,
  'kubeconfig',
  'accounts',
  'approval',
  JOIN_SUBRESOURCE,
] as const;
