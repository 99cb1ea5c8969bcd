import { parseGoDuration, toGoInt64 } from '../../api/codec/go-text/go-parse.ts';
import { badRequest } from '../../api/status.ts';
import type { Exchange } from '../exchange.ts';
import { negotiateAccept } from '../request/negotiate.ts';
import type { Stage } from './stage.ts';

/** The stages that act on what classification has read: how long the request may take, and the form of its answer. */

/** C-07: a bad `timeout` is reported before authentication. A watch ends by itself (V-17). */
export const applyTimeout: Stage = (x) => {
  if (x.info.type === 'resource' && x.info.target.verb === 'watch') {
    x.deadline.setUnbounded();
    return;
  }
  const wanted = timeoutOf(x);
  if (wanted !== undefined) x.deadline.shorten(wanted);
};

function timeoutOf(x: Exchange): number | undefined {
  const text = x.query.get('timeout');
  if (text === null || text === '') return listTimeout(x);
  const wanted = parseGoDuration(text);
  if (!wanted.ok) throw badRequest(`invalid timeout specified in the request URL - ${wanted.message}`);
  return wanted.milliseconds;
}

/** `timeoutSeconds` of a list. Its handler reports a bad one. */
function listTimeout({ info, query }: Exchange): number | undefined {
  if (info.type !== 'resource' || info.target.verb !== 'list') return undefined;
  const seconds = toGoInt64(query.get('timeoutSeconds') ?? '');
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

export const negotiate: Stage = (x) => {
  const { style, offers } = x.route;
  x.negotiated = negotiateAccept(x.headers.accept, { style, offers, verb: x.target.verb });
};
