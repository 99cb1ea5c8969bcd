import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { HOST, PLATFORMS } from '../../scripts/artifacts/standalone.ts';
import { makeRelease } from '../../scripts/release.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const run = promisify(execFile);

/** The user of the image, which has no rights. */
export const USER = 65532;

/** Of the output of tar, in bytes. */
const MAX_LISTING = 64 * 1024 * 1024;

export const packageManifest = async (): Promise<{ version: string; dependencies: Record<string, string> }> =>
  JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));

/** For servers whose options name the port and the fleet of an installation. Variables override the file. */
export const onPort = (port: number | undefined): Record<string, string> => ({
  CLUSTERPASS_LISTEN: `127.0.0.1:${port}`,
  CLUSTERPASS_DEMO: 'true',
});

/** A release that was made for the tests. */
export class MadeRelease {
  readonly folder: string;
  readonly version: string;
  /** With the files of the release. */
  readonly output: string;
  /** The output of tar when it unpacked the archive of this platform, as with `--list`. */
  #unpacked = '';
  #deploy: Promise<string> | undefined;

  private constructor(folder: string, version: string) {
    this.folder = folder;
    this.version = version;
    this.output = join(folder, 'release');
  }

  static async make(): Promise<MadeRelease> {
    const folder = await mkdtemp(join(tmpdir(), 'clusterpass-release-'));
    // The programs below it run as users without rights, too.
    await chmod(folder, 0o755);
    const release = new MadeRelease(folder, (await packageManifest()).version);
    const { version, output } = release;
    const nodes = await otherNodes(folder);
    const changelog = `# Changelog\n\n## ${version}\n\n- a\n`;
    makeRelease({ version, output, nodes, level: 0, changelog });
    await mkdir(join(folder, 'opt'));
    const unpack = ['-xvvzf', release.archiveOf(HOST), '-C', join(folder, 'opt')];
    release.#unpacked = (await run('tar', unpack, { maxBuffer: MAX_LISTING })).stdout;
    return release;
  }

  get tarball(): string {
    return join(this.output, `clusterpass-${this.version}.tgz`);
  }

  archiveOf(platform: string): string {
    return join(this.output, `clusterpass-${this.version}-${platform}.tar.gz`);
  }

  /** The lines of `tar --list --verbose`. That of this platform has 190 MB and is read once only. */
  async listingOf(platform: string): Promise<string[]> {
    const list = async () => (await run('tar', ['-tvzf', this.archiveOf(platform)], { maxBuffer: MAX_LISTING })).stdout;
    return (platform === HOST ? this.#unpacked : await list()).trim().split('\n');
  }

  emptyFolder(name: string): Promise<string> {
    return mkdtemp(join(this.folder, `${name}-`));
  }

  /** The unpacked folder deploy/ of the release. */
  deployFolder(): Promise<string> {
    this.#deploy ??= (async () => {
      const unpacked = await this.emptyFolder('deploy');
      await run('tar', ['-xzf', join(this.output, `clusterpass-${this.version}-deploy.tar.gz`), '-C', unpacked]);
      return join(unpacked, 'deploy');
    })();
    return this.#deploy;
  }

  destroy(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }
}

/** Node for other platforms has 120 MB and cannot be run here: a file with its name stands for it. */
async function otherNodes(folder: string): Promise<Record<string, string>> {
  const path = join(folder, 'node');
  await writeFile(path, 'Node of another platform');
  const others = Object.keys(PLATFORMS).filter((platform) => platform !== HOST);
  return Object.fromEntries(others.map((platform) => [platform, path]));
}
