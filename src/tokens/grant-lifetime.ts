import { exactDuration } from '../api/codec/go-text/human-duration.ts';

/** What a token lasts at most, in seconds, and until when, in epoch milliseconds. What is absent bounds nothing. */
export interface LifetimeBounds {
  /** `--service-account-max-token-expiration`. */
  readonly serverSeconds: number;
  /** The most for a token of this sort. */
  readonly sortSeconds?: number | undefined;
  readonly passEndsAt?: number | undefined;
  /** The end of the credential of the caller, for a token that stands for the caller. */
  readonly credentialEndsAt?: number | undefined;
  readonly permissionEndsAt?: number | undefined;
  /** The most that the permission allows. */
  readonly maxPassSeconds?: number | undefined;
}

export interface LifetimeQuestion extends LifetimeBounds {
  /** Seconds. */
  readonly requested: number;
  /** Epoch milliseconds. */
  readonly now: number;
  /** The cluster issues the token, as kube-apiserver does. */
  readonly byCluster?: boolean;
}

export interface Lifetime {
  readonly seconds: number;
  /** What bounds it; undefined when it is as requested. */
  readonly bound: keyof LifetimeBounds | undefined;
  /** No token can be issued for so short a time. */
  readonly isTooShort: boolean;
}

/** What kube-apiserver grants at least, and what it turns into a year, for its kubelets. No caller gets that here. */
const CLUSTER = { minSeconds: 600, yearSeconds: 3607 };

/**
 * The lifetime of every token (a pass, a list of passes, an exchange, a redeemed handle, a pass for a person), and of
 * what a dry run predicts: what was requested, unless something allows less.
 */
export function grantLifetime({ requested, now, byCluster = false, ...bounds }: LifetimeQuestion): Lifetime {
  // Whole seconds, as in the claims: a token that is issued now ends at the end or before it.
  const until = (end: number): number => Math.floor(end / 1000) - Math.floor(now / 1000);
  let seconds = requested;
  let bound: Lifetime['bound'];
  for (const name of Object.keys(bounds) as (keyof LifetimeBounds)[]) {
    const value = bounds[name];
    if (value === undefined) continue;
    const most = name.endsWith('EndsAt') ? until(value) : value;
    if (most < seconds) [seconds, bound] = [most, name];
  }
  if (byCluster && seconds === CLUSTER.yearSeconds) [seconds, bound] = [seconds - 1, bound ?? 'serverSeconds'];
  return { seconds, bound, isTooShort: seconds < (byCluster ? CLUSTER.minSeconds : 1) };
}

/** Why there is less, and what to do when that is too little. kube-apiserver has no reason for its own maximum. */
const REASONS: Readonly<Record<keyof LifetimeBounds, { readonly why: string; readonly hint: string }>> = {
  serverSeconds: { why: '', hint: '' },
  sortSeconds: { why: ': a pass for a person lasts no longer', hint: '' },
  passEndsAt: { why: ': the pass ends then', hint: ': ask for another pass' },
  credentialEndsAt: { why: ': the credential of the caller ends then', hint: ': log in again' },
  permissionEndsAt: { why: ': the permission ends then', hint: ': ask for one that lasts longer' },
  maxPassSeconds: { why: ': the permission allows no more', hint: ': ask for one that allows more' },
};

/** T-27: a token never expires earlier than requested without a warning. */
export const lifetimeWarning = (requested: number, { seconds, bound }: Pick<Lifetime, 'seconds' | 'bound'>): string =>
  `requested expiration of ${requested} seconds shortened to ${seconds} seconds${bound === undefined ? '' : REASONS[bound].why}`;

/** Why there is no token at all, and what to do. */
export function tooShort({ seconds, bound = 'serverSeconds' }: Lifetime): string {
  const { why, hint } = REASONS[bound];
  const cluster = seconds < 1 ? '' : `, and the cluster issues none for less than ${exactDuration(CLUSTER.minSeconds)}`;
  return `no token is issued for ${exactDuration(Math.max(0, seconds))}${why}${cluster}${hint}`;
}
