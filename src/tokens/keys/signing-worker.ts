import { parentPort, workerData } from 'node:worker_threads';
import { signJws } from './algorithms.ts';
import { joinTexts, type SigningWorkerData, splitTexts } from './signing-messages.ts';

/** The entry of a signing thread: a message has the inputs of one batch, its reply their signatures in this order. */
const port = parentPort;
if (port !== null) {
  const { algorithm, key } = workerData as SigningWorkerData;
  port.on('message', (inputs: string) => {
    port.postMessage(joinTexts(splitTexts(inputs).map((input) => signJws(algorithm, key, input))));
  });
}
