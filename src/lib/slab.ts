/** What several share. One that is kept keeps all of it, whatever became of the others: so it is small. */
const SHELF_BYTES = 4 * 1024;
/** What is longer has memory of its own. */
const SHARED_BYTES = 2 * 1024;

let shelf = Buffer.allocUnsafeSlow(SHELF_BYTES);
let used = 0;

/**
 * Memory for bytes that will be kept for long. Node gives small ones out of pieces of memory in which they lie beside those
 * of a moment, an answer, a header, and each holds its whole piece: it is kept several times over. Here those
 * that are kept lie side by side, and with memory of their own each the collector would have to look after every one of them.
 */
function takeBytes(length: number): Buffer {
  if (length > SHARED_BYTES) return Buffer.allocUnsafeSlow(length);
  if (used + length > SHELF_BYTES) {
    shelf = Buffer.allocUnsafeSlow(SHELF_BYTES);
    used = 0;
  }
  const taken = shelf.subarray(used, used + length);
  used += length;
  return taken;
}

/** The text in UTF-8. */
export function slabText(text: string): Buffer {
  const bytes = takeBytes(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

export function slabCopy(bytes: Uint8Array): Buffer {
  const copy = takeBytes(bytes.length);
  copy.set(bytes);
  return copy;
}
