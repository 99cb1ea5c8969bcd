import { rotateAdminToken } from '../authn/fixed-token-authenticator.ts';
import { loadDataDir, OptionsError } from '../config/load-options.ts';
import { fileProblem } from '../lib/file-problem.ts';
import { UnsafeFile } from '../lib/secret-file.ts';

const NO_FILE =
  'is --data-dir the data directory of the server? If the file was removed, the next start makes a new one';

/** `clusterpass admin-token rotate`. Exit codes: 0 success, 1 failure, 2 invalid options. */
export async function runAdminTokenRotate(flags: Readonly<Record<string, unknown>>): Promise<number> {
  const say = (text: string): void => void process.stderr.write(`clusterpass: ${text}\n`);
  try {
    const dataDir = loadDataDir({ flags, env: process.env, cwd: process.cwd() });
    const file = await rotateAdminToken(dataDir);
    say(`${file} holds a new admin token. A running server accepts it within 5 seconds, and refuses the old one then.`);
    say('Each other replica has another admin.token, which stays valid: rotate it in the data directory of each.');
    return 0;
  } catch (error) {
    if (error instanceof OptionsError) {
      for (const problem of error.problems) say(problem);
      return 2;
    }
    const { code, path } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') say(`there is no ${path}: ${NO_FILE}`);
    else if (error instanceof UnsafeFile) say(error.message);
    else if (path !== undefined) say(`cannot use ${path}: ${fileProblem(error)}`);
    else throw error;
    return 1;
  }
}
