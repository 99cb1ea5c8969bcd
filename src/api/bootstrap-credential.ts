import { hash } from 'node:crypto';

/** The text of a bootstrap token, and the user that it authenticates. */

/** As in Kubernetes. Not in `system:authenticated`: what every caller may do is not for a cluster that is unknown. */
export const bootstrapUserName = (id: string): string => `system:bootstrap:${id}`;
export const BOOTSTRAPPERS = 'system:bootstrappers';

/** `cpbt_<name of the object>_<32 random bytes>`. The prefix lets scanners find tokens that were committed. */
const TOKEN = /^cpbt_([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)_[A-Za-z0-9_-]{43}$/;

export const bootstrapToken = (id: string, secret: Buffer): string => `cpbt_${id}_${secret.toString('base64url')}`;

/** The name of the object of a token; undefined for any other text. */
export const bootstrapTokenId = (token: string): string | undefined => TOKEN.exec(token)?.[1];

export const bootstrapTokenDigest = (token: string): string => `sha256:${hash('sha256', token, 'hex')}`;
