import { PROTOBUF_TYPE } from '../../api/codec/decode.ts';
import type { BodyType } from '../../api/kind.ts';
import type { Accepted } from '../../api/request.ts';

/** One format of the API: all that negotiation and its error messages know of it. */
export interface MediaType {
  readonly name: string;
  /** The styles of resources whose request bodies can be in it. */
  readonly reads: readonly BodyType['style'][];
  /** What the handlers see when it is negotiated for an answer; undefined when answers are never in it. */
  readonly writes: Accepted['mediaType'] | undefined;
  /** The media type of its stream of watch events; undefined when there is none. */
  readonly stream: string | undefined;
}

/** In order of preference: the first is used when a client names none (N-01). */
export const MEDIA_TYPES: readonly MediaType[] = [
  {
    name: 'application/json',
    reads: ['builtin', 'custom'],
    writes: 'application/json',
    stream: 'application/json;stream=watch',
  },
  { name: 'application/yaml', reads: ['builtin', 'custom'], writes: 'application/yaml', stream: undefined },
  // what kubectl and client-go send for built-in types. They accept JSON in return.
  { name: PROTOBUF_TYPE, reads: ['builtin'], writes: undefined, stream: undefined },
];

export const WRITABLE: readonly MediaType[] = MEDIA_TYPES.filter(({ writes }) => writes !== undefined);
export const WRITABLE_NAMES: readonly string[] = WRITABLE.map(({ name }) => name);
const readable = (style: BodyType['style']): readonly string[] =>
  MEDIA_TYPES.filter(({ reads }) => reads.includes(style)).map(({ name }) => name);
export const READABLE_NAMES: Readonly<Record<BodyType['style'], readonly string[]>> = {
  builtin: readable('builtin'),
  custom: readable('custom'),
};
export const STREAM_NAMES: readonly string[] = MEDIA_TYPES.flatMap(({ stream }) => stream ?? []);
