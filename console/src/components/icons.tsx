import type { ReactNode } from 'react';

/** Every icon has a text beside it, so screen readers skip the icon. */
function Icon({ children, size = 16 }: { children: ReactNode; size?: number }) {
  return (
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
      {children}
    </svg>
  );
}

export const SearchIcon = () => (
  <Icon>
    <circle cx="7" cy="7" r="4.5" />
    <path d="m10.5 10.5 3.5 3.5" />
  </Icon>
);
export const CloseIcon = () => (
  <Icon size={12}>
    <path d="m3 3 10 10M13 3 3 13" />
  </Icon>
);
export const CopyIcon = () => (
  <Icon size={14}>
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
    <path d="M10.5 3.500V3A1.5 1.5 0 0 0 9 1.500H4A1.5 1.5 0 0 0 2.5 3v6A1.5 1.5 0 0 0 4 10.500h.5" />
  </Icon>
);
export const CheckIcon = () => (
  <Icon size={14}>
    <path d="m3 8.5 3.5 3.500L13 4.5" />
  </Icon>
);
export const DownloadIcon = () => (
  <Icon size={14}>
    <path d="M8 2v8m0 0 3-3m-3 3L5 7M2.5 13.500h11" />
  </Icon>
);
export const BackIcon = () => (
  <Icon size={14}>
    <path d="M13 8H3m0 0 4-4M3 8l4 4" />
  </Icon>
);
export const MoonIcon = () => (
  <Icon>
    <path d="M13.5 9.500A6 6 0 0 1 6.5 2.500a6 6 0 1 0 7 7Z" />
  </Icon>
);
export const SunIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="3" />
    <path d="M8 1v1.500M8 13.500V15M1 8h1.500M13.5 8H15M3 3l1.1 1.100M11.9 11.9 13 13M3 13l1.1-1.100M11.9 4.1 13 3" />
  </Icon>
);
export const EyeIcon = () => (
  <Icon>
    <path d="M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8Z" />
    <circle cx="8" cy="8" r="2" />
  </Icon>
);
export const ArrowIcon = ({ up }: { up: boolean }) => (
  <Icon size={10}>
    <path d={up ? 'm3 10 5-5 5 5' : 'm3 6 5 5 5-5'} />
  </Icon>
);

/** The logo of Clusterpass: a pass. */
export const Logo = ({ size = 22 }: { size?: number }) => (
  <svg className="logo" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
    <path d="M6 7h20a4 4 0 0 1 4 4v1.500a3.5 3.5 0 0 0 0 7V21a4 4 0 0 1-4 4H6a4 4 0 0 1-4-4v-1.500a3.5 3.5 0 0 0 0-7V11a4 4 0 0 1 4-4Z" />
    <path className="logo-bars" d="M11.5 12v8M16 12v8M20.5 12v8" />
  </svg>
);
