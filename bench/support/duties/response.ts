import type { ServerResponse } from 'node:http';

/** A request that is not served. */
export class Refusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The headers that a response of the API has besides those of any response. */
export function startAudited(res: ServerResponse, code: number, length: number, auditId: string): void {
  res.writeHead(code, {
    'Audit-Id': auditId,
    'Cache-Control': 'no-cache, private',
    'Content-Type': 'application/json',
    'Strict-Transport-Security': 'max-age=31536000',
    'Content-Length': length,
  });
}

export function respondAudited(
  res: ServerResponse,
  code: number,
  body: Buffer,
  auditId: string,
  onSent?: () => void,
): void {
  startAudited(res, code, body.length, auditId);
  res.end(body, onSent);
}

/** Runs one step of a request. A `Refusal` becomes its response; other errors end the server. */
export function answering(res: ServerResponse, onRefusal: (code: number) => void, step: () => void): void {
  try {
    step();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const body = Buffer.from(JSON.stringify({ kind: 'Status', code: error.code, message: error.message }));
    res.writeHead(error.code, { 'Content-Type': 'application/json', 'Content-Length': body.length });
    res.end(body);
    onRefusal(error.code);
  }
}
