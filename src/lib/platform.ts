/** The platform of this process in Go's words, as Kubernetes prints it. */
export const goPlatform = (): string => `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`;
