import type { AddressRules } from '../../api/address-rules.ts';
import type { Logger } from '../../observability/logger.ts';
import { createCredentials } from './credentials.ts';
import { createUpstream } from './upstream.ts';
import type { Upstream } from './upstream-contract.ts';

export interface OpenUpstreamOptions {
  readonly rules: AddressRules;
  readonly credentialsDir: string | undefined;
  readonly readSecret: (path: string) => Promise<Buffer | undefined>;
  readonly ownPort: number;
  readonly logger: Logger;
}

/** The desk's one way to its clusters, as a running program uses it. */
export function openUpstream({ rules, credentialsDir, readSecret, ownPort, logger }: OpenUpstreamOptions): Upstream {
  const credentials = createCredentials({
    dir: credentialsDir,
    readSecret,
    report: ({ message, error }) => logger.warn(error === undefined ? {} : { err: error }, message),
  });
  return createUpstream({ rules, credentials, ownPort });
}
