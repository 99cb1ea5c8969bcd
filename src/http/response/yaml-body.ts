import { toYaml } from '../../api/codec/to-yaml.ts';

/**
 * The YAML library needs 10 microseconds for each part of a value, so a large object would block the event loop for
 * half a second. An object of a fleet has a hundred parts; this many take 10 ms, and 30 the first time.
 */
const MAX_PARTS = 1_000;
const MAX_BYTES = 64 * 1024;

/** One object as YAML. A large one stays JSON, which is YAML too (YAML 1.2, section 1.3). */
export function yamlBody(json: Uint8Array): string {
  const text = Buffer.from(json.buffer, json.byteOffset, json.length).toString();
  if (json.length > MAX_BYTES) return `${text}\n`;
  const value: unknown = JSON.parse(text);
  return partsOf(value, MAX_PARTS) > MAX_PARTS ? `${text}\n` : toYaml(value);
}

/** The number of values and keys; counting stops soon after `limit`. */
function partsOf(value: unknown, limit: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  let parts = 1;
  for (const inner of Object.values(value)) {
    parts += partsOf(inner, limit - parts) + (Array.isArray(value) ? 0 : 1);
    if (parts > limit) break;
  }
  return parts;
}
