import { createCatalog } from '../api/catalog.ts';
import type { ServeOptions } from '../config/serve-options.ts';
import { programFile } from '../lib/program-files.ts';
import { ManifestFolder, type ManifestFolderOptions } from '../manifests/manifest-folder.ts';

const DEMO_FOLDER = programFile('demo');
/** The product name in the demo manifests, whatever --product-name says. */
const DEMO_PRODUCT_NAME = 'orchestrator';
const POLL_MS = 1_000;

/** Applies the demo manifests and those of --manifests, and follows their changes. A part of `compose`. */
export async function openManifests(
  options: Pick<ServeOptions, 'demo' | 'manifests' | 'manifestsPrune'>,
  parts: Pick<ManifestFolderOptions, 'parts' | 'logger' | 'countConflicts'>,
): Promise<{ stop(): Promise<void> }> {
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
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}

function sourcesOf({
  demo,
  manifests,
  manifestsPrune: prune,
}: Pick<ServeOptions, 'demo' | 'manifests' | 'manifestsPrune'>): Pick<
  ManifestFolderOptions,
  'source' | 'path' | 'writtenFor' | 'prune'
>[] {
  const writtenFor = createCatalog({ productName: DEMO_PRODUCT_NAME });
  return [
    ...(demo ? [{ source: 'demo', path: DEMO_FOLDER, writtenFor }] : []),
    ...(manifests === undefined ? [] : [{ source: 'manifests', path: manifests, prune }]),
  ];
}
