import { serveStarter } from '../../lib/worker-rpc.ts';
import { signJws } from './algorithms.ts';
import { joinTexts, type SigningMethods, type SigningWorkerData, splitTexts } from './signing-messages.ts';

/** The entry of a signing thread. */
serveStarter<SigningWorkerData>(
  ({ algorithm, key }): SigningMethods => ({
    sign: (inputs) => joinTexts(splitTexts(inputs).map((input) => signJws(algorithm, key, input))),
  }),
  { schedule: (flush) => flush() },
);
