/** An icon drawn with one line. There is a text beside each, so screen readers skip it. */
const icon =
  (path: string, size = 16) =>
  () => (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={path} />
    </svg>
  );

export const SearchIcon = icon('M2.5 7a4.5 4.5 0 1 0 9 0 4.5 4.5 0 1 0-9 0m8 3.5 3.5 3.5');
export const CloseIcon = icon('m3 3 10 10M13 3 3 13', 12);
export const CopyIcon = icon(
  'M7 5.5h5A1.5 1.5 0 0 1 13.5 7v5a1.5 1.5 0 0 1-1.5 1.5H7A1.5 1.5 0 0 1 5.5 12V7A1.5 1.5 0 0 1 7 5.5Zm3.5-2V3A1.5 1.5 0 0 0 9 1.500H4A1.5 1.5 0 0 0 2.5 3v6A1.5 1.5 0 0 0 4 10.500h.5',
  14,
);
export const CheckIcon = icon('m3 8.5 3.5 3.500L13 4.5', 14);
export const DownloadIcon = icon('M8 2v8m0 0 3-3m-3 3L5 7M2.5 13.500h11', 14);
export const BackIcon = icon('M13 8H3m0 0 4-4M3 8l4 4', 14);
export const MoonIcon = icon('M13.5 9.500A6 6 0 0 1 6.5 2.500a6 6 0 1 0 7 7Z');
export const SunIcon = icon(
  'M5 8a3 3 0 1 0 6 0 3 3 0 1 0-6 0m3-7v1.500M8 13.500V15M1 8h1.500M13.5 8H15M3 3l1.1 1.100M11.9 11.9 13 13M3 13l1.1-1.100M11.9 4.1 13 3',
);
export const EyeIcon = icon(
  'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8ZM6 8a2 2 0 1 0 4 0 2 2 0 1 0-4 0',
);
export const UpIcon = icon('m3 10 5-5 5 5', 10);
export const DownIcon = icon('m3 6 5 5 5-5', 10);

/** The logo of Clusterpass: a pass. */
export const Logo = ({ size = 22 }: { size?: number }) => (
  <svg className="logo" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
    <path d="M6 7h20a4 4 0 0 1 4 4v1.500a3.5 3.5 0 0 0 0 7V21a4 4 0 0 1-4 4H6a4 4 0 0 1-4-4v-1.500a3.5 3.5 0 0 0 0-7V11a4 4 0 0 1 4-4Z" />
    <path className="logo-bars" d="M11.5 12v8M16 12v8M20.5 12v8" />
  </svg>
);
