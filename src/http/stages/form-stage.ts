import type { Exchange } from '../exchange.ts';
import { checkFormType, Form, MAX_FORM_BYTES } from '../oauth/form.ts';
import { bodyLength, checkContentEncoding } from '../request/body.ts';
import { methodNotAllowed } from '../request/header-checks.ts';
import { receive } from './body-stages.ts';
import { addressOf, type StageRun } from './stage.ts';

/**
 * Receives the form of an OAuth endpoint, and turns it into a request of the API. It comes before authentication,
 * because the credential of a token exchange is in the form; so a form is short, and counts for the client's address.
 */
export const receiveForm: StageRun = (x, parts) => {
  const { formRoute, req } = x;
  if (formRoute === undefined) return undefined;
  if (x.headers.method !== 'POST') throw methodNotAllowed();
  checkContentEncoding(req);
  checkFormType(req.headers['content-type']);
  formRoute.checkAuthorization(req.headers.authorization);
  x.maxBodyBytes = MAX_FORM_BYTES;
  x.bodyLength = bodyLength(req, MAX_FORM_BYTES);
  return receive(x, parts, addressOf(x), readForm);
};

function readForm(x: Exchange, bytes: Uint8Array): void {
  x.hasWholeBody = true;
  if (x.formRoute === undefined) throw new Error('not the route of a form');
  const cluster = x.info.type === 'path' ? x.info.cluster : undefined;
  const { info, query, body, credential, actorCredential, annotations, render } = x.formRoute.read(new Form(bytes), {
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
