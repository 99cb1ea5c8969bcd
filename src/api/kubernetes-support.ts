/** When the support of each minor version of Kubernetes ends, by https://kubernetes.io/releases/. */
export const SUPPORT_ENDS: Readonly<Record<string, string>> = {
  '1.28': '2024-10-22',
  '1.29': '2025-02-28',
  '1.30': '2025-07-15',
  '1.31': '2025-11-11',
  '1.32': '2026-02-28',
  '1.33': '2026-06-28',
  '1.34': '2026-10-27',
  '1.35': '2027-02-28',
  '1.36': '2027-06-28',
  '1.37': '2027-10-28',
};
/** When the table was read. */
export const SUPPORT_READ = '2026-09-15';

/** `1.36` of `v1.36.4-eks-1`; `""` if it is no version of Kubernetes. */
export const minorOf = (version: string): string => /^v?(1\.\d{1,2})(?!\d)/.exec(version)?.[1] ?? '';

/** When the support of a minor version ends. Of one that is older than the table, it is the first day in it. */
export function supportEnd(minor: string): string | undefined {
  const [[oldest, first] = ['', '']] = Object.entries(SUPPORT_ENDS);
  const isOlder = minor !== '' && Number(minor.slice(2)) < Number(oldest.slice(2));
  return isOlder ? first : SUPPORT_ENDS[minor];
}

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
