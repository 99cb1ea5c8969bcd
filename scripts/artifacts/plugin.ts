import { join } from 'node:path';
import { build, type Plugin } from 'rolldown';
import { ROOT } from '../setup.mjs';

/**
 * The commands with a bundle each. `credential` starts with every kubectl: a start that loads some thirty modules takes
 * twice as long. Its packages stay where they are: only a login at an identity provider needs one. `connector` runs in
 * each cluster: modules, and the text of sources, take memory.
 */
const ALONE = {
  credential: { external: (id: string): boolean => !id.startsWith('.') && !id.startsWith('/'), minify: false },
  connector: { external: [], minify: { compress: false, mangle: true, codegen: { removeWhitespace: true } } },
};

const FILE_NAMES = { entryFileNames: '[name].cjs', chunkFileNames: 'chunks/[name]-[hash].cjs' };

const escaped = (text: string): string => `\\u${text.charCodeAt(0).toString(16).padStart(4, '0')}`;
/** V8 keeps a text with other characters in twice the memory. */
const ASCII: Plugin = {
  name: 'ascii',
  generateBundle: (_, files) => {
    for (const file of Object.values(files))
      if ('code' in file) file.code = file.code.replaceAll(/[^\0-\x7f]/g, escaped);
  },
};

/**
 * Bundles the commands that the launcher starts without the modules of the others. CommonJS, because `import` of a
 * module of Node reads its every export, and some load further modules: `node:fs` loads all streams. `dist` is the
 * folder of the built program.
 */
export async function bundleAlone(dist: string): Promise<void> {
  for (const [name, { external, minify }] of Object.entries(ALONE)) {
    await build({
      input: { [name]: join(ROOT, `src/cli/${name}-main.ts`) },
      platform: 'node',
      logLevel: 'warn',
      external,
      // With this and `compress` the bundler removes calls that are made for their error, e.g. decodeURIComponent.
      treeshake: false,
      // Modules shared with those loaded later stay in this file: each further file takes milliseconds to load.
      preserveEntrySignatures: 'allow-extension',
      plugins: [ASCII],
      output: { dir: join(dist, 'plugin'), format: 'cjs', minify, ...FILE_NAMES },
    });
  }
}
