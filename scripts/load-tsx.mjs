import { readFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);

/**
 * Lets Node load the components of the console in tests: Node strips types, but does not compile JSX. Vitest gives this
 * file to its workers.
 */
registerHooks({
  load(url, context, next) {
    if (!url.endsWith('.tsx')) return next(url, context);
    // Few workers load a component, and the compiler takes longer than all the others.
    const { transformSync } = require('rolldown/utils');
    const file = fileURLToPath(url);
    const { code, errors } = transformSync(file, readFileSync(file, 'utf8'));
    if (errors.length > 0) throw errors[0];
    return { format: 'module', source: code, shortCircuit: true };
  },
});
