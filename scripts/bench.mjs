/** `npm run bench -- [NAME...] [OPTION...]`: see bench/main.ts. */
import { setUpProgram } from './setup-program.mjs';

// Studies start the program as tests do, from the bundle.
await setUpProgram();
await import('../bench/main.ts');
