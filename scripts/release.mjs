/**
 * `npm run release -- VERSION`: makes every artefact of a release in build/release, with checksums and the section of
 * the changelog. The version must be that of package.json. `--platforms linux-amd64,...` makes only these archives, and
 * the manifest of krew has only these. The credential plugin in Go is made if `go` is on the PATH.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeGoPlugins } from './artifacts/go-plugin.mjs';
import { installProgram, pack } from './artifacts/program.mjs';
import { PLATFORMS, writeStandalones } from './artifacts/standalone.mjs';
import { fixedTar } from './artifacts/tar.mjs';
import { buildImage, imageName } from './image.mjs';
import { setUpPrograms, umoci } from './programs.mjs';
import { run } from './run-command.mjs';
import { ROOT } from './setup.mjs';

export class ReleaseError extends Error {}

/**
 * The section of a version in the changelog, without its heading.
 * @param {string} changelog
 * @param {string} version
 */
export function sectionOf(changelog, version) {
  const heading = new RegExp(`^## ${version.replaceAll('.', '\\.')}(?: .*)?$`, 'm').exec(changelog);
  if (heading === null) throw new ReleaseError(`CHANGELOG.md has no section "## ${version}": write what a user gets`);
  const rest = changelog.slice(heading.index + heading[0].length);
  const end = rest.search(/^## /m);
  return `${(end < 0 ? rest : rest.slice(0, end)).trim()}\n`;
}

/** @param {string} file */
const sha256 = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');

const CHECKSUM = /\{\{sha256 ([^}]+)\}\}/g;
/** An entry of the platforms of krew. */
const PLATFORM_ENTRY = /^ {4}- selector:.*\n(?: {6}.*\n)+/gm;

/**
 * Fills in a manifest of a package manager. Platforms whose archive was not made are left out.
 * @param {string} template
 * @param {{ version: string, downloads: string, checksumOf: (file: string) => string | undefined }} facts
 */
export function fillIn(template, { version, downloads, checksumOf }) {
  const named = template.replaceAll('{{version}}', version).replaceAll('{{downloads}}', downloads);
  const isMade = (/** @type {string} */ entry) =>
    [...entry.matchAll(CHECKSUM)].every(([, file = '']) => checksumOf(file) !== undefined);
  const made = named.replaceAll(PLATFORM_ENTRY, (entry) => (isMade(entry) ? entry : ''));
  return made.replaceAll(CHECKSUM, (_, file) => {
    const checksum = checksumOf(file);
    if (checksum === undefined) throw new ReleaseError(`${file} was not made`);
    return checksum;
  });
}

/**
 * Throws ReleaseError unless such a release can be made.
 * @param {string} version
 * @param {readonly string[]} platforms
 * @param {string} changelog
 * @returns the manifest of the package and the notes of the release
 */
function checkRelease(version, platforms, changelog) {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  if (version !== manifest.version) {
    throw new ReleaseError(`package.json has version ${manifest.version}: run npm version ${version} first`);
  }
  const unknown = platforms.find((platform) => !(platform in PLATFORMS));
  if (unknown !== undefined) {
    throw new ReleaseError(`unknown platform "${unknown}": expected ${Object.keys(PLATFORMS).join(', ')}`);
  }
  return { manifest, notes: sectionOf(changelog, version) };
}

/**
 * @param {object} options
 * @param {string} options.version
 * @param {string} options.output
 * @param {readonly string[]} options.platforms
 * @param {Readonly<Record<string, string>>} [options.nodes] Node's programs by platform; the others come from npm
 * @param {string} [options.go] the program of Go; without it the plugin in Go is left out
 * @param {number} [options.level] of gzip
 * @param {boolean} [options.typesChecked] the build does not check types again
 * @param {string} options.changelog its section of the version becomes the notes
 */
export function makeRelease({
  version,
  output,
  platforms,
  nodes = {},
  go,
  level = 6,
  typesChecked = false,
  changelog,
}) {
  const { manifest, notes } = checkRelease(version, platforms, changelog);
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  const program = join(output, 'program');
  installProgram(program, pack(output, { typesChecked }));
  const archives = platforms.map((platform) => [platform, join(output, `clusterpass-${version}-${platform}.tar.gz`)]);
  writeStandalones({ program, archives: Object.fromEntries(archives), nodes, level });
  const layout = join(output, imageName(version));
  buildImage({ program, output: layout });
  rmSync(program, { recursive: true });
  run('tar', [...fixedTar(), '-C', layout, '-cf', `${layout}.oci.tar`, '.']);
  rmSync(layout, { recursive: true });
  run('tar', [...fixedTar(), '-C', ROOT, '-czf', join(output, `clusterpass-${version}-deploy.tar.gz`), 'deploy']);

  if (go !== undefined) writeGoPlugins({ go, version, output });

  const downloads = `${manifest.repository.url.replace(/^git\+|\.git$/g, '')}/releases/download/v${version}`;
  const sums = new Map(readdirSync(output).map((file) => [file, sha256(join(output, file))]));
  /** @param {string} file */
  const checksumOf = (file) => sums.get(file);
  for (const path of ['deploy/krew/clusterpass.yaml', 'deploy/homebrew/clusterpass.rb']) {
    const filled = fillIn(readFileSync(join(ROOT, path), 'utf8'), { version, downloads, checksumOf });
    const name = path.startsWith('deploy/krew') ? 'krew-clusterpass.yaml' : basename(path);
    writeFileSync(join(output, name), filled);
  }
  copyFileSync(join(ROOT, 'deploy/systemd/clusterpass.service'), join(output, 'clusterpass.service'));
  writeFileSync(join(output, 'RELEASE-NOTES.md'), notes);
  const files = readdirSync(output).sort();
  const lines = files.map((file) => `${sums.get(file) ?? sha256(join(output, file))}  ${file}\n`);
  writeFileSync(join(output, 'SHA256SUMS'), lines.join(''));
  return [...files, 'SHA256SUMS'];
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { platforms: { type: 'string', default: Object.keys(PLATFORMS).join(',') } },
    });
  } catch (error) {
    // Node's sentences about an option.
    throw new ReleaseError(/** @type {Error} */ (error).message);
  }
}

function main() {
  const { values, positionals } = readArguments();
  const [version, ...more] = positionals;
  if (version === undefined) throw new ReleaseError('which version? npm run release -- VERSION');
  if (more.length > 0) throw new ReleaseError(`one version only, not ${positionals.join(' and ')}`);
  const platforms = values.platforms.split(',');
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
  checkRelease(version, platforms, changelog);
  setUpPrograms([umoci]);
  const output = join(ROOT, 'build/release');
  const go = spawnSync('go', ['version']).status === 0 ? 'go' : undefined;
  if (go === undefined) console.error('There is no Go on the PATH: clusterpass-credential is left out.');
  const options = { version, output, platforms, changelog, ...(go === undefined ? {} : { go }) };
  for (const file of makeRelease(options)) {
    console.log(`build/release/${file}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    main();
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    console.error(`release: ${error.message}`);
    process.exitCode = 1;
  }
}
