import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { runCommand } from '../../e2e/support/run-command.ts';

/**
 * Runs commands of clusterpass for the shells of the tests, which send them to a Unix socket (see clusterpass.ts). A
 * request has texts that end in NUL: a folder for the output, the current directory, the number of arguments, the
 * arguments, the environment, an empty text; and the rest is standard input. The response is the exit code.
 */

const [socket = ''] = process.argv.slice(2);

async function serve(body: Buffer): Promise<number> {
  const texts = body.toString().split('\0');
  const [answer = '', cwd = '', count = ''] = texts.splice(0, 3);
  const args = texts.splice(0, Number(count));
  const variables = texts.splice(0, texts.indexOf(''));
  const env = Object.fromEntries(variables.map((text) => [text.split('=', 1)[0], text.slice(text.indexOf('=') + 1)]));
  const { code, stdout, stderr } = await runCommand(args, { env, cwd, stdin: texts.slice(1).join('\0') });
  writeFileSync(join(answer, 'stdout'), stdout);
  writeFileSync(join(answer, 'stderr'), stderr);
  return code ?? 0;
}

createServer(async (request, response) => {
  try {
    response.end(String(await serve(await buffer(request))));
  } catch (error) {
    console.error(error);
    response.destroy();
  }
}).listen(socket, () => process.send?.('listening'));
// The process of the tests has ended.
process.once('disconnect', () => process.exit());
