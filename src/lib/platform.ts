const OS: Readonly<Record<string, string>> = { win32: 'windows' };
const ARCH: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** The platform of this process in Go's words, as Kubernetes prints it. */
export const goPlatform = ({ platform, arch }: Pick<NodeJS.Process, 'platform' | 'arch'> = process): string =>
  `${OS[platform] ?? platform}/${ARCH[arch] ?? arch}`;
