import { addressOf, type Exchange, formRouteOf } from '../exchange.ts';
import { checkFormType, Form, MAX_FORM_BYTES } from '../oauth/form.ts';
import { bodyLength, checkContentEncoding } from '../request/body.ts';
import { methodNotAllowed } from '../request/header-checks.ts';
import { PLAIN_JSON } from '../request/negotiate.ts';
import { receive } from './body-stages.ts';
import type { Stage } from './stage.ts';

/**
 * Receives the form of an OAuth endpoint, and turns it into a request of the API. It comes before authentication,
 * because the credential of a token exchange is in the form; so a form is short, and counts for the client's address.
 */
export const receiveForm: Stage = (x, parts) => {
  const { req } = x;
  if (x.headers.method !== 'POST') throw methodNotAllowed();
  checkContentEncoding(req);
  checkFormType(req.headers['content-type']);
  formRouteOf(x).checkAuthorization(req.headers.authorization);
  x.maxBodyBytes = MAX_FORM_BYTES;
  x.bodyLength = bodyLength(req, MAX_FORM_BYTES);
  return receive(x, parts, addressOf(x), readForm);
};

function readForm(x: Exchange, bytes: Uint8Array): void {
  x.hasWholeBody = true;
  const { cluster } = x.pathInfo;
  const { info, query, body, credential, actorCredential, annotations, render } = formRouteOf(x).read(new Form(bytes), {
    cluster,
    query: x.query,
  });
  x.requestInfo = info;
  x.query = query;
  x.body = body;
  x.credential = credential;
  x.actorCredential = actorCredential;
  x.render = render;
  x.negotiated = PLAIN_JSON;
  // RFC 6749 section 5.1
  x.successCode = 200;
  for (const [key, value] of annotations) x.annotate(key, value);
  // The form held a seat of the address. The request takes a seat of its caller instead.
  x.seat?.release();
}
