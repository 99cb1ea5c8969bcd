/**
 * `npm run release -- VERSION`: makes every artefact of a release in build/release, with checksums and the section of
 * the changelog. The version must be that of package.json. The credential plugin in Go is made if `go` is on the PATH.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeGoPlugins } from './artifacts/go-plugin.ts';
import { installProgram, pack } from './artifacts/program.ts';
import { writeStandalones } from './artifacts/standalone.ts';
import { fixedTar } from './artifacts/tar.ts';
import { buildImage, imageName } from './image.ts';
import { setUpPrograms, umoci } from './programs.ts';
import { run } from './run-command.ts';
import { ROOT } from './setup.mjs';

const sourceOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** The section of a version in the changelog, without its heading. */
function sectionOf(changelog: string, version: string): string {
  const [, ...sections] = changelog.split(/^## /m);
  const section = sections.find((text) => text.split(/\s/, 1)[0] === version);
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}": write what a user gets`);
  return `${section.slice(section.indexOf('\n')).trim()}\n`;
}

interface Downloads {
  readonly version: string;
  readonly downloads: string;
  readonly checksumOf: (file: string) => string | undefined;
}

/** Fills in a manifest of a package manager. */
export const fillIn = (template: string, { version, downloads, checksumOf }: Downloads): string =>
  template
    .replaceAll('{{version}}', version)
    .replaceAll('{{downloads}}', downloads)
    .replaceAll(/\{\{sha256 ([^}]+)\}\}/g, (_, file) => {
      const checksum = checksumOf(file);
      if (checksum === undefined) throw new Error(`${file} was not made`);
      return checksum;
    });

interface Release {
  readonly version: string;
  readonly output: string;
  /** Node's programs by platform; the others come from npm. */
  readonly nodes?: Readonly<Record<string, string>>;
  /** The program of Go; without it the plugin in Go is left out. */
  readonly go?: string | undefined;
  /** Of gzip. */
  readonly level?: number;
  /** Its section of the version becomes the notes. */
  readonly changelog: string;
}

/** Returns the names of the files. */
export function makeRelease({ version, output, nodes = {}, go, level = 6, changelog }: Release): string[] {
  const manifest = JSON.parse(sourceOf('package.json'));
  if (version !== manifest.version)
    throw new Error(`package.json has version ${manifest.version}: run npm version ${version} first`);
  const notes = sectionOf(changelog, version);
  setUpPrograms([umoci]);
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  const program = join(output, 'program');
  installProgram(program, pack(output));
  const archiveOf = (name: string): string => join(output, `clusterpass-${version}-${name}.tar.gz`);
  writeStandalones({ program, archiveOf, nodes, level });
  const layout = join(output, imageName(version));
  buildImage({ program, output: layout });
  for (const folder of [program, layout]) rmSync(folder, { recursive: true });
  run('tar', [...fixedTar(), '-C', ROOT, '-czf', archiveOf('deploy'), 'deploy']);
  if (go !== undefined) writeGoPlugins({ go, version, output });

  const sha256 = (files: readonly string[]): string => run('sha256sum', files, { cwd: output });
  const made = readdirSync(output).sort();
  const sums = sha256(made);
  const checksums = new Map(sums.split('\n').map((line) => [line.slice(66), line.slice(0, 64)]));
  const downloads = `${manifest.repository.url.replace(/^git\+|\.git$/g, '')}/releases/download/v${version}`;
  const filledIn = (file: string): string =>
    fillIn(sourceOf(file), { version, downloads, checksumOf: (name) => checksums.get(name) });
  const texts = {
    'RELEASE-NOTES.md': notes,
    'clusterpass.rb': filledIn('deploy/homebrew/clusterpass.rb'),
    'clusterpass.service': sourceOf('deploy/systemd/clusterpass.service'),
    'krew-clusterpass.yaml': filledIn('deploy/krew/clusterpass.yaml'),
  };
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(output, name), text);
  writeFileSync(join(output, 'SHA256SUMS'), sums + sha256(Object.keys(texts)));
  return [...made, ...Object.keys(texts), 'SHA256SUMS'];
}

function main([version = '', ...more]: readonly string[]): void {
  if (version === '' || more.length > 0) throw new Error('expected one version: npm run release -- VERSION');
  const output = join(ROOT, 'build/release');
  const go = spawnSync('go', ['version']).status === 0 ? 'go' : undefined;
  const files = makeRelease({ version, output, changelog: sourceOf('CHANGELOG.md'), go });
  for (const file of files) console.log(`build/release/${file}`);
  if (go === undefined) console.error('There is no Go on the PATH: clusterpass-credential is left out.');
}

if (import.meta.main) {
  try {
    main(process.argv.slice(2));
  } catch (error) {
    console.error(`release: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
