import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The imports of declarations in a folder from files without declarations. */
export function missingDeclarations(folder: string): string[] {
  const declared = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.d.ts'));
  if (declared.length === 0) throw new Error(`there are no declarations in ${folder}`);
  return declared.flatMap((name) => {
    const text = readFileSync(join(folder, name), 'utf8');
    return [...text.matchAll(/(?:from |import\()['"](\.[^'"]+)\.[jt]s['"]/g)]
      .filter(([, path = '']) => !existsSync(join(folder, dirname(name), `${path}.d.ts`)))
      .map(([imported]) => `${name}: ${imported}`);
  });
}

/** The packages and modules of Node that a declaration imports, also by way of other declarations. */
export function packagesOf(declaration: string, seen = new Set<string>()): Set<string> {
  const found = new Set<string>();
  if (seen.has(declaration)) return found;
  seen.add(declaration);
  for (const [, name = ''] of readFileSync(declaration, 'utf8').matchAll(/(?:from |import\()['"]([^'"]+)['"]/g)) {
    if (!name.startsWith('.')) found.add(name);
    else {
      const imported = join(dirname(declaration), name.replace(/\.[jt]s$/, '.d.ts'));
      for (const other of packagesOf(imported, seen)) found.add(other);
    }
  }
  return found;
}
