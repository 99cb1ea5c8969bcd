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

/** `reason` of the condition for each fault: programs may rely on them. docs/operations.md lists them. */
export const FAULT_REASONS: Readonly<Record<Fault, string>> = {
  network: 'ProbeNetworkFailed',
  timeout: 'ProbeTimedOut',
  tls: 'ProbeTLSFailed',
  credential: 'ProbeCredentialFailed',
  unready: 'ProbeServerNotReady',
  answer: 'ProbeAnswerUnexpected',
  address: 'ProbeAddressUnusable',
};

/** Every fault of a cluster that was never ready at its present endpoints. */
export const NOT_YET_REASON = 'ProbeNotYetSucceeded';
export const SUCCESS_REASON = 'ProbeSucceeded';
/** No probe has finished for so long that the last result means nothing any more. */
export const MISSING_REASON = 'ProbeMissing';
/** An annotation disables probing. */
export const DISABLED_REASON = 'ProbeDisabled';
