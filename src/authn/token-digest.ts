import { hash } from 'node:crypto';

/**
 * What known tokens are kept and looked up by. A lookup that gives up at the first difference tells nothing about
 * a token through its hash, equal lengths are given, and a dump of the memory holds no token.
 */
export const tokenDigest = (token: string): string => hash('sha256', token, 'base64');
