/** Builds the console into console/dist, with compressed copies of each file. */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'vite';
import { ROOT } from './setup.mjs';
import { CONSOLE_DIST, SOURCES_NOTE, sourcesHash } from './setup-console.mjs';

const CONSOLE = join(ROOT, 'console');

function compressIn(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = readFileSync(path);
    writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  }
}

// Builds in a temporary folder and renames it: a server that starts meanwhile must not read an incomplete build.
const work = join(CONSOLE, `.dist-${process.pid}`);
const hash = sourcesHash();
// Vitest sets NODE_ENV to `test`, which would change the build.
process.env.NODE_ENV = 'production';
try {
  await build({
    root: CONSOLE,
    configFile: false,
    // Relative URLs, so that the console can be served below any path.
    base: './',
    logLevel: 'warn',
    build: {
      outDir: work,
      emptyOutDir: true,
      target: ['chrome123', 'firefox121', 'safari17.5'],
      // The content security policy forbids data: URLs and inline scripts.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      rolldownOptions: {
        output: {
          codeSplitting: {
            // A page loads its own script and one with what pages share, not one for each small module.
            groups: [
              // The first page of an administrator needs these, and not what the other pages share.
              { name: 'cards', test: /src\/components\/(?:loaded|section)\.tsx$/, priority: 2 },
              { name: 'index', tags: ['$initial'], priority: 1 },
              { name: 'pages', test: /^(?!.*node_modules)/, minShareCount: 2 },
            ],
          },
        },
      },
    },
  });
  compressIn(work);
  writeFileSync(join(work, SOURCES_NOTE), `${hash}\n`);
  const old = join(CONSOLE, `.dist-${process.pid}-old`);
  mkdirSync(CONSOLE_DIST, { recursive: true });
  renameSync(CONSOLE_DIST, old);
  renameSync(work, CONSOLE_DIST);
  rmSync(old, { recursive: true, force: true });
} finally {
  rmSync(work, { recursive: true, force: true });
}
