/**
 * `npm run release -- VERSION`: makes every artefact of a release in build/release, with checksums and the section of
 * the changelog. The version must be that of package.json. The credential plugin in Go is made if `go` is on the PATH.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeGoPlugins } from './artifacts/go-plugin.mjs';
import { installProgram, pack } from './artifacts/program.mjs';
import { PLATFORMS, writeStandalones } from './artifacts/standalone.mjs';
import { fixedTar } from './artifacts/tar.mjs';
import { buildImage, imageName } from './image.mjs';
import { setUpPrograms, umoci } from './programs.mjs';
import { run } from './run-command.mjs';
import { ROOT } from './setup.mjs';

/**
 * The section of a version in the changelog, without its heading.
 * @param {string} changelog
 * @param {string} version
 */
function sectionOf(changelog, version) {
  const heading = new RegExp(`^## ${version.replaceAll('.', '\\.')}(?: .*)?$`, 'm').exec(changelog);
  if (heading === null) throw new Error(`CHANGELOG.md has no section "## ${version}": write what a user gets`);
  const rest = changelog.slice(heading.index + heading[0].length);
  const end = rest.search(/^## /m);
  return `${(end < 0 ? rest : rest.slice(0, end)).trim()}\n`;
}

/** @param {string} file */
const sha256 = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');

/**
 * Fills in a manifest of a package manager.
 * @param {string} template
 * @param {{ version: string, downloads: string, checksumOf: (file: string) => string | undefined }} facts
 */
export const fillIn = (template, { version, downloads, checksumOf }) =>
  template
    .replaceAll('{{version}}', version)
    .replaceAll('{{downloads}}', downloads)
    .replaceAll(/\{\{sha256 ([^}]+)\}\}/g, (_, file) => {
      const checksum = checksumOf(file);
      if (checksum === undefined) throw new Error(`${file} was not made`);
      return checksum;
    });

/**
 * The manifest of the package, and the notes of the release. Throws unless such a release can be made.
 * @param {string} version
 * @param {string} changelog
 */
function checkRelease(version, changelog) {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  if (version !== manifest.version)
    throw new Error(`package.json has version ${manifest.version}: run npm version ${version} first`);
  return { manifest, notes: sectionOf(changelog, version) };
}

/**
 * @param {object} options
 * @param {string} options.version
 * @param {string} options.output
 * @param {Readonly<Record<string, string>>} [options.nodes] Node's programs by platform; the others come from npm
 * @param {string} [options.go] the program of Go; without it the plugin in Go is left out
 * @param {number} [options.level] of gzip
 * @param {boolean} [options.typesChecked] the build does not check types again
 * @param {string} options.changelog its section of the version becomes the notes
 */
export function makeRelease({ version, output, nodes = {}, go, level = 6, typesChecked = false, changelog }) {
  const { manifest, notes } = checkRelease(version, changelog);
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  const program = join(output, 'program');
  installProgram(program, pack(output, { typesChecked }));
  const archives = Object.keys(PLATFORMS).map((platform) => [
    platform,
    join(output, `clusterpass-${version}-${platform}.tar.gz`),
  ]);
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

/** @param {string[]} args */
function main([version = '', ...more]) {
  if (version === '' || more.length > 0) throw new Error('expected one version: npm run release -- VERSION');
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
  checkRelease(version, changelog);
  setUpPrograms([umoci]);
  const output = join(ROOT, 'build/release');
  const go = spawnSync('go', ['version']).status === 0 ? 'go' : undefined;
  if (go === undefined) console.error('There is no Go on the PATH: clusterpass-credential is left out.');
  const options = { version, output, changelog, ...(go === undefined ? {} : { go }) };
  for (const file of makeRelease(options)) console.log(`build/release/${file}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    main(process.argv.slice(2));
  } catch (error) {
    console.error(`release: ${/** @type {Error} */ (error).message}`);
    process.exitCode = 1;
  }
}
