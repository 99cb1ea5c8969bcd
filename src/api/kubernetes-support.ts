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

const MINORS = Object.keys(SUPPORT_ENDS);

/** `1.36` of `v1.36.4-eks-1`; `""` if it is no version of Kubernetes. */
export const minorOf = (version: string): string => /^v?(1\.\d{1,2})(?!\d)/.exec(version)?.[1] ?? '';

/** Of a minor version: the day when its support ends, or why the table does not have it. */
export function supportOf(minor: string): { readonly ends: string } | 'older' | 'newer' | 'unknown' {
  const ends = SUPPORT_ENDS[minor];
  if (ends !== undefined) return { ends };
  if (minor === '') return 'unknown';
  return Number(minor.slice(2)) < Number(MINORS[0]?.slice(2)) ? 'older' : 'newer';
}
