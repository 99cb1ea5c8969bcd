/** Distributions put their names into the version: `v1.36.4-eks-1a2b3c`, `v1.36.4+k3s1`. */
const DISTRIBUTIONS: readonly (readonly [RegExp, string])[] = [
  [/-eks-/, 'EKS'],
  [/-gke\./, 'GKE'],
  [/\+k3s/, 'k3s'],
  [/\+rke2/, 'RKE2'],
];

/** The type of a cluster whose version names no distribution. */
export const PLAIN_KUBERNETES = 'Kubernetes';

/** The distribution that a version names, for `status.type`. */
export const distributionOf = (version: string): string =>
  DISTRIBUTIONS.find(([pattern]) => pattern.test(version))?.[1] ?? PLAIN_KUBERNETES;
