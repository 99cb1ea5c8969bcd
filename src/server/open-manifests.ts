import { originOf } from '../api/domain-keys.ts';
import { kindPrefix } from '../api/kind.ts';
import type { ServeOptions } from '../config/serve-options.ts';
import { programFile } from '../lib/program-files.ts';
import type { ApplyParts } from '../manifests/apply-manifests.ts';
import { ManifestFolder, type ManifestFolderOptions } from '../manifests/manifest-folder.ts';

/** The grants of the demo are in the store, and the demo is not served; the message is for the operator. */
export class DemoGrants extends Error {
  override readonly name = 'DemoGrants';
}

type ManifestOptions = Pick<ServeOptions, 'demo' | 'manifests' | 'manifestsPrune' | 'productName'>;

const DEMO = 'demo';
const DEMO_FOLDER = programFile('demo');
/** The field of the demo manifests that begins with the product name, whatever --product-name says. */
const ENDPOINTS = 'ApiEndpoints:';
const DEMO_ENDPOINTS = `orchestrator${ENDPOINTS}`;
const POLL_MS = 1_000;
/** Five minutes. What was changed in a demo stays until the next start. */
const REAPPLY_POLLS = 300;

/**
 * Applies the demo manifests and those of --manifests, and follows their changes. Without --demo it throws DemoGrants
 * if an earlier start has left the grants of the demo. A part of `compose`.
 */
export async function openManifests(
  options: ManifestOptions,
  parts: Pick<ManifestFolderOptions, 'parts' | 'logger'>,
): Promise<{ problems(): number; stop(): Promise<void> }> {
  const folders: ManifestFolder[] = [];
  const stop = async (): Promise<void> => {
    for (const folder of folders.toReversed()) await folder.stop();
  };
  try {
    for (const source of sourcesOf(options)) {
      const folder = new ManifestFolder({ ...source, ...parts, pollMs: POLL_MS });
      await folder.start();
      folders.push(folder);
    }
    if (!options.demo) requireNoDemoGrants(parts.parts);
  } catch (error) {
    await stop();
    throw error;
  }
  return { problems: () => folders.reduce((sum, folder) => sum + folder.problems, 0), stop };
}

function sourcesOf({
  demo,
  manifests,
  manifestsPrune: prune,
  productName,
}: ManifestOptions): Pick<ManifestFolderOptions, 'source' | 'path' | 'edit' | 'prune' | 'reapplyPolls'>[] {
  const edit = (text: string): string => text.replaceAll(DEMO_ENDPOINTS, `${productName}${ENDPOINTS}`);
  return [
    ...(demo ? [{ source: DEMO, path: DEMO_FOLDER, edit }] : []),
    ...(manifests === undefined ? [] : [{ source: 'manifests', path: manifests, prune, reapplyPolls: REAPPLY_POLLS }]),
  ];
}

/** The groups of the demo have names that an identity provider may use, too. */
function requireNoDemoGrants({ catalog, reader }: ApplyParts): void {
  const grants = [catalog.clusterRoleBindings, catalog.roleBindings, catalog.fleetRoleBindings].flatMap((kind) => {
    const names = [...reader.cache(kind).current.scan(kindPrefix(kind))]
      // One that waits for its finalizers grants nothing.
      .filter((entry) => entry.object().metadata.deletionTimestamp === undefined)
      .filter((entry) => originOf(entry.object().metadata)?.startsWith(`${DEMO}:`) === true)
      .map(({ namespace, name }) => (namespace === '' ? name : `${namespace}/${name}`));
    return names.length === 0 ? [] : [`${kind.resource} ${names.join(', ')}`];
  });
  if (grants.length === 0) return;
  throw new DemoGrants(
    `the store has grants of --demo, which would hold for real users: ${grants.join(' and ')}; ` +
      'use another --data-dir or --store, or start with --demo, delete them, and start without it',
  );
}
