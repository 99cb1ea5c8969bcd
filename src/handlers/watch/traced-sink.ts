import type { WatchSink } from '../../api/request.ts';
import type { Trace } from '../../observability/protocol-trace.ts';

/** The same sink. Each event of an object that is written to it is traced, as the client of this watch gets it. */
export function tracedSink(sink: WatchSink, trace: Trace, watch: number): WatchSink {
  const decoder = new TextDecoder();
  let rest = '';
  const read = (bytes: Uint8Array): true => {
    const lines = `${rest}${decoder.decode(bytes, { stream: true })}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { type, object } = JSON.parse(line);
      const { name = '', namespace = '', resourceVersion: revision } = object.metadata ?? {};
      if (revision !== undefined)
        trace('sent', { watch, type, object: `${namespace}/${name}`, revision: Number(revision) });
    }
    return true;
  };
  return {
    get pending() {
      return sink.pending;
    },
    write: (frames) => read(frames) && sink.write(frames),
    writeShared: (frames) => read(frames.bytes) && sink.writeShared(frames),
    writeOwn: (pieces) => pieces.every(read) && sink.writeOwn(pieces),
    onDrain: (listener) => sink.onDrain(listener),
    onClose: (listener) => sink.onClose(listener),
    end: () => sink.end(),
    destroy: () => sink.destroy(),
    fail: (error) => sink.fail(error),
  };
}
