/** `node scripts/setup-go.mjs`: downloads Go and the libraries of Helm's templates, for the tests of the chart. */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setUpProgram, testProgram } from './test-program.mjs';

export const go = testProgram({
  name: 'go',
  package: 'golang-go',
  inPackage: 'usr/lib/go/bin/go',
  versionArgs: ['version'],
  needsLibraries: true,
  withPackages: [
    'golang-github-masterminds-sprig-dev',
    // Helm reads and writes YAML with this one,
    'golang-k8s-sigs-yaml-dev',
    // and Helm 3 checks values.schema.json with this one.
    'golang-github-xeipuuv-gojsonschema-dev',
  ],
});

/** Variables for Go: it reads and writes only below the folder of the program. */
export function goEnvironment() {
  const folder = dirname(go.path);
  return {
    PATH: process.env.PATH,
    HOME: folder,
    GOROOT: join(folder, 'root/usr/lib/go'),
    GOPATH: join(folder, 'root/usr/share/gocode'),
    GOCACHE: join(folder, 'build'),
    // Debian's libraries lie in GOPATH, without modules.
    GO111MODULE: 'off',
    GOFLAGS: '',
    GOTOOLCHAIN: 'local',
    // The compiler runs for a second for each package. Without garbage collection it takes a quarter less CPU time.
    GOGC: 'off',
    GOPROXY: 'off',
    CGO_ENABLED: '0',
  };
}

export const setUpGo = () => setUpProgram(go);

if (process.argv[1] === fileURLToPath(import.meta.url)) setUpGo();
