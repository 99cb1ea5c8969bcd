import type { ReasonOf } from '../../api/clusters/conditions.ts';

/** Why a probe failed. */
export type Fault =
  | 'network'
  | 'timeout'
  | 'tls'
  /** Our credential cannot be used, or the server refuses it. */
  | 'credential'
  /** The server says that it is not ready. */
  | 'unready'
  /** The answer is not one of an API server. */
  | 'answer'
  /** The cluster has no address, or one that Clusterpass does not connect to. */
  | 'address';

/** The result of one probe. */
export type Outcome =
  | {
      readonly ready: true;
      readonly version: string | undefined;
      /** Whether the API server has answered to tokens that no key verifies. Absent if none was to be sent. */
      readonly refreshed?: boolean;
    }
  | { readonly ready: false; readonly fault: Fault; readonly message: string };

/** `reason` of the condition for each fault. */
export const FAULT_REASONS = {
  network: 'ProbeNetworkFailed',
  timeout: 'ProbeTimedOut',
  tls: 'ProbeTLSFailed',
  credential: 'ProbeCredentialFailed',
  unready: 'ProbeServerNotReady',
  answer: 'ProbeAnswerUnexpected',
  address: 'ProbeAddressUnusable',
} as const satisfies Readonly<Record<Fault, ReasonOf<'Ready'>>>;
