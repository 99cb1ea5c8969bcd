import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * The files of the program beside this module: those of a clone, of the published package, or of a bundle. A bundle
 * moves modules, so no other module finds files by its own URL.
 */

function root(): string {
  const manifest = findPackageJSON(import.meta.url);
  if (manifest === undefined) throw new Error(`no package.json above ${import.meta.url}: install Clusterpass again`);
  return dirname(manifest);
}

/** In a clone Node strips the types of the sources. */
const IS_SOURCE = import.meta.url.endsWith('.ts');

/** @param path from the root of the package, e.g. `console/dist` */
export const programFile = (path: string): string => join(root(), path);

/** The entry of a worker thread. @param path from `src/`, without extension */
export const workerEntry = (path: string): URL =>
  pathToFileURL(programFile(IS_SOURCE ? join('src', `${path}.ts`) : join('dist', `${path}.js`)));

const OS: Readonly<Record<string, string>> = { win32: 'windows' };
const ARCH: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** The platform of this process in Go's words, as Kubernetes prints it. */
export const goPlatform = ({ platform, arch }: Pick<NodeJS.Process, 'platform' | 'arch'> = process): string =>
  `${OS[platform] ?? platform}/${ARCH[arch] ?? arch}`;
