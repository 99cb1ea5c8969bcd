import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Writes the components of the image in CycloneDX: npm's packages, Node and Debian's packages. Without a serial number
 * and a time: the same components give the same file.
 * @param {string} program the folder of the installed package
 * @param {{ packages: import('./root.mjs').DebianPackage[], node: string }} others
 */
export function writeSbom(program, { packages, node }) {
  const flags = ['sbom', '--sbom-format', 'cyclonedx'];
  const { status, stdout, stderr } = spawnSync('npm', flags, {
    cwd: program,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`npm sbom failed:\n${stderr}`);
  const { serialNumber: _, metadata, components, ...sbom } = JSON.parse(stdout);
  const { timestamp: __, ...described } = metadata;
  const added = [
    { type: 'application', name: 'node', version: node, purl: `pkg:generic/node@${node}` },
    ...packages.map(({ name, version, architecture }) => ({
      type: 'library',
      name,
      version,
      purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`,
    })),
  ].map((component) => ({ 'bom-ref': component.purl, ...component }));
  const whole = { ...sbom, metadata: described, components: [...components, ...added] };
  writeFileSync(join(program, 'sbom.cdx.json'), `${JSON.stringify(whole, undefined, 2)}\n`);
}
