/** `npm run bench -- [NAME...] [OPTION...]`: see bench/main.ts. */
await import('../bench/main.ts');
