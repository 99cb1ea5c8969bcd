import type { Exchange } from './exchange.ts';
import { checkFormType, Form, MAX_FORM_BYTES } from './oauth/form.ts';
import type { FormRoute } from './oauth/form-route.ts';
import { arrivedBody, bodyLength, checkContentEncoding } from './request/body.ts';
import { methodNotAllowed } from './request/header-checks.ts';
import { addressOf, reject, type StageParts, type StageRun } from './stages.ts';

/**
 * Receives the form of an OAuth endpoint, and turns it into a request of the API. It comes before authentication,
 * because the credential of a token exchange is in the form; so a form is short, and counts for the client's address.
 */
export const receiveForm: StageRun = (x, parts) => {
  const { formRoute: route, req } = x;
  if (route === undefined) return undefined;
  if (x.headers.method !== 'POST') throw methodNotAllowed();
  checkContentEncoding(req);
  checkFormType(req.headers['content-type']);
  route.checkAuthorization(req.headers.authorization);
  const length = bodyLength(req, MAX_FORM_BYTES);
  if (x.arrival.expectsContinue === true && length !== 0 && !req.complete) x.res.writeContinue();
  const arrived = arrivedBody(req, length, MAX_FORM_BYTES);
  return arrived === undefined ? waitForForm(x, parts, route, length) : readForm(x, route, arrived);
};

async function waitForForm(
  x: Exchange,
  { flowControl, bodies }: StageParts,
  route: FormRoute,
  length: number | undefined,
): Promise<void> {
  // Node hands out a request before it has parsed a body in the same packet, and parses it after this yields.
  await undefined;
  const arrived = arrivedBody(x.req, length, MAX_FORM_BYTES);
  if (arrived !== undefined) return readForm(x, route, arrived);
  x.seat?.release();
  const address = addressOf(x);
  const seat = flowControl.startReceiving(address, address);
  if (seat === undefined) {
    return reject(x, flowControl.delayRejection('receiving', address), flowControl.rejection('receiving'));
  }
  x.bodySeat = seat;
  const bytes = await bodies.read(
    x.req,
    (stop) => {
      x.stopReading = stop;
    },
    MAX_FORM_BYTES,
  );
  x.stopReading = undefined;
  seat.release();
  return readForm(x, route, bytes);
}

function readForm(x: Exchange, route: FormRoute, bytes: Uint8Array): void {
  x.hasWholeBody = true;
  const cluster = x.info.type === 'path' ? x.info.cluster : undefined;
  const { info, query, body, credential, actorCredential, annotations, render } = route.read(new Form(bytes), {
    cluster,
    query: x.query,
  });
  x.requestInfo = info;
  x.query = query;
  x.body = body;
  x.credential = credential;
  x.actorCredential = actorCredential;
  x.render = render;
  for (const [key, value] of annotations) x.annotate(key, value);
  // The form held a seat of the address. The request takes a seat of its caller instead.
  x.seat?.release();
}
