/**
 * Loaded into the program by `--import`: collects what is garbage when it gets SIGUSR2. V8 leaves tens of megabytes of it lying for
 * minutes; who wants to know what stays has to ask.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  process.on('SIGUSR2', () => collect());
}
