import type { ObjectMeta } from '../kind.ts';

/** Annotations of a cluster that its public view has, also for the console. The others are in ../domain-keys.ts. */

/**
 * `webhook`: the API server of the cluster asks for each token whether it is accepted, so that a revocation reaches it.
 * `keys`: it verifies tokens by the key set of its issuer, and does not notice a revocation.
 * Set by the operator, with the verb `CONFIRM_VERB`. The command line and the console derive from it when a revocation
 * takes effect.
 */
export const TOKEN_CHECKS_ANNOTATION = 'clusterpass.dev/token-checks';
export const TOKEN_CHECKS_CHOICES = ['keys', 'webhook'];

/** Annotations that describe a cluster and its tokens; computed for each view, never stored. */
export const COMPUTED_ANNOTATIONS = {
  /** `true` if a caller with the verb `CONFIRM_VERB` has confirmed the endpoints in force; else absent. */
  confirmed: 'clusterpass.dev/endpoints-confirmed',
  issuer: 'clusterpass.dev/issuer',
  audience: 'clusterpass.dev/audience',
  maxExpiration: 'clusterpass.dev/max-expiration-seconds',
} as const;

/** On a cluster: whether the prober writes its Ready condition. Without it, the prober yields to another writer. */
export const PROBE_ANNOTATION = 'clusterpass.dev/probe';

export const PROBE_CHOICES = ['enabled', 'disabled'] as const;

export const probeChoice = ({ annotations }: ObjectMeta): (typeof PROBE_CHOICES)[number] | undefined =>
  PROBE_CHOICES.find((choice) => choice === annotations?.[PROBE_ANNOTATION]);
