/** What can be wrong between us and a cluster. */
export type Fault =
  | 'network'
  | 'timeout'
  | 'tls'
  /** Our credential cannot be used, or the server does not take us for someone who may ask. */
  | 'credential'
  /** The server says that it is not ready. */
  | 'unready'
  /** Something answers, but not as an API server does. */
  | 'answer'
  /** The address is missing, or one that is not connected to. */
  | 'address';

/** What one look at a cluster found. */
export type Outcome =
  | { readonly ready: true; readonly version: string | undefined }
  | { readonly ready: false; readonly fault: Fault; readonly message: string };

/** Every reason of the prober starts with this word: it is how its conditions are told from those of others. */
const MARK = 'Probe';

export const isOurReason = (reason: string | undefined): boolean => reason?.startsWith(MARK) === true;

/** One word for each fault, for `reason`: programs may rely on them. docs/operations.md lists them. */
export const FAULT_REASONS: Readonly<Record<Fault, string>> = {
  network: 'ProbeNetworkFailed',
  timeout: 'ProbeTimedOut',
  tls: 'ProbeTLSFailed',
  credential: 'ProbeCredentialFailed',
  unready: 'ProbeServerNotReady',
  answer: 'ProbeAnswerUnexpected',
  address: 'ProbeAddressUnusable',
};

export const SUCCESS_REASON = 'ProbeSucceeded';
/** Nobody has managed to look for so long that what was known says nothing any more. */
export const SILENCE_REASON = 'ProbeMissing';
/** An administrator said that nobody should look. */
export const DISABLED_REASON = 'ProbeDisabled';
