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
