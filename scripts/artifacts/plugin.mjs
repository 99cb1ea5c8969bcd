import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { ROOT } from '../setup.mjs';

/**
 * Bundles `clusterpass credential`, which starts with every kubectl: a start that loads some thirty modules takes twice
 * as long. Packages stay where they are: only a login at an identity provider needs one. CommonJS, because `import` of
 * a module of Node reads its every export, and some load further modules: `node:fs` loads all streams.
 * @param {string} dist the folder of the built program
 */
export async function bundlePlugin(dist) {
  const bundle = await rolldown({
    input: { credential: join(ROOT, 'src/cli/credential-main.ts') },
    platform: 'node',
    logLevel: 'warn',
    external: (id) => !id.startsWith('.') && !id.startsWith('/'),
    // With this and `minify` the bundler removes calls that are made for the error they throw, e.g. decodeURIComponent.
    treeshake: false,
    // Modules that are shared with those loaded later stay in this file: each further file takes milliseconds to load.
    preserveEntrySignatures: 'allow-extension',
  });
  await bundle.write({
    dir: join(dist, 'plugin'),
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: 'chunks/[name]-[hash].cjs',
    minify: false,
  });
  await bundle.close();
}
