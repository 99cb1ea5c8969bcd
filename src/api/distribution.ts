/** Distributions put their names into the version: `v1.36.4-eks-1a2b3c`, `v1.36.4+k3s1`. */
const DISTRIBUTIONS: readonly (readonly [RegExp, string])[] = [
  [/-eks-/, 'EKS'],
  [/-gke\./, 'GKE'],
  [/\+k3s/, 'k3s'],
  [/\+rke2/, 'RKE2'],
];

/** What most clusters are, when nothing says more. */
export const PLAIN_KUBERNETES = 'Kubernetes';

/** The distribution that a version tells, for `status.type`. */
export const distributionOf = (version: string): string =>
  DISTRIBUTIONS.find(([pattern]) => pattern.test(version))?.[1] ?? PLAIN_KUBERNETES;
