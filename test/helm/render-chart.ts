import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { go, goEnvironment } from '../../scripts/programs.ts';
import { DEPLOY, type Manifest, parseManifests } from './manifests.ts';

export const CHART = join(DEPLOY, 'helm/clusterpass');
const SOURCES = import.meta.dirname;

/** The arguments of `helm template`. */
export interface RenderOptions {
  /** Values files, as text; later ones win. */
  readonly values?: readonly string[];
  readonly chart?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly apiVersions?: readonly string[];
  /** The objects that `lookup` finds in the cluster. */
  readonly objects?: readonly Manifest[];
}

export interface Rendered {
  readonly manifests?: Readonly<Record<string, string>>;
  readonly notes?: string;
  readonly error?: string;
}

/** Built once for each state of its sources. The first build compiles Go's standard library, which takes a minute. */
export function buildRenderer(): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(SOURCES).filter((file) => file.endsWith('.go'))) {
    hash.update(readFileSync(join(SOURCES, name)));
  }
  const program = join(dirname(go.path), `helm-template-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(program)) return program;
  // One test process builds it, and the others wait: each build without a cache is twenty seconds of CPU.
  const build = '[ -e "$1" ] || { "$2" build -o "$1.new" . && mv "$1.new" "$1"; }';
  const args = [`${go.path}.lock`, 'sh', '-c', build, 'sh', program, go.path];
  execFileSync('flock', args, { cwd: SOURCES, env: goEnvironment(), stdio: 'pipe' });
  return program;
}

export function render(options: RenderOptions = {}): Rendered {
  const request = {
    chart: CHART,
    name: 'clusterpass',
    namespace: 'clusterpass',
    ...options,
  };
  return JSON.parse(execFileSync(buildRenderer(), { input: JSON.stringify(request), encoding: 'utf8' })) as Rendered;
}

/** The objects of the chart; throws what Helm would print. */
export function renderChart(options?: RenderOptions): Manifest[] {
  const { manifests, error } = render(options);
  if (manifests === undefined) throw new Error(error);
  return Object.values(manifests).flatMap(parseManifests);
}

export const chartValues = (name: string, chart = CHART): string =>
  readFileSync(join(chart, 'ci', `${name}-values.yaml`), 'utf8');
