import { parseGoUint64 } from '../../api/codec/go-text/go-parse.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import type { Query } from '../../api/request.ts';
import { badRequest, type FieldError, forbiddenField, invalid, unsupportedValue } from '../../api/status.ts';
import { Cache } from '../../lib/cache.ts';
import { type FieldSelector, parseFieldSelector } from '../../objects/selectors/field-selector.ts';
import { SelectorSyntaxError } from '../../objects/selectors/label-requirement.ts';
import { type LabelSelector, parseLabelSelector } from '../../objects/selectors/label-selector.ts';
import { booleanParameter, countParameter, META_GROUP } from './query-parameters.ts';

export interface ListOptions {
  readonly labelSelector: LabelSelector;
  /** Not yet checked against the fields that the kind offers. */
  readonly fieldSelector: FieldSelector;
  readonly watch: boolean;
  readonly allowWatchBookmarks: boolean;
  /** Undefined: as fresh as the store. 0: any state of the cache. Clamped to 2^53 - 1, which is in the future. */
  readonly resourceVersion: number | undefined;
  readonly resourceVersionMatch: '' | 'Exact' | 'NotOlderThan';
  /** 0: the server chooses. */
  readonly timeoutSeconds: number;
  /** 0: no limit. */
  readonly limit: number;
  readonly continue: string;
  readonly sendInitialEvents: boolean | undefined;
}

interface RawOptions extends Omit<ListOptions, 'resourceVersion' | 'resourceVersionMatch'> {
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
}

/**
 * The options of list and watch. L-22: values that cannot be parsed (400) are reported before values that cannot be
 * combined (422), and those before values that the storage would refuse (400).
 */
export function parseListOptions(query: Query): ListOptions {
  const options = withDefaults(read(query));
  const errors = options.watch ? watchErrors(options) : listErrors(options);
  if (errors.length > 0) throw invalid({ group: META_GROUP, kind: 'ListOptions' }, '', errors);
  // L-32: the token names the version of its page.
  if (!options.watch && options.continue !== '' && !isAny(options.resourceVersion)) {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  return {
    ...options,
    resourceVersion: parseResourceVersion(options.resourceVersion),
    // The validation above refuses every other text.
    resourceVersionMatch: options.resourceVersionMatch as ListOptions['resourceVersionMatch'],
  };
}

/**
 * The last label selectors by what they say, which watches keep for as long as they last: many watches with one long
 * selector, in whatever order, have it once.
 */
const canonical = new Cache<string, LabelSelector>({ maxEntries: 64 });
const shared = (selector: LabelSelector): LabelSelector => canonical.getOrCompute(String(selector), () => selector);

function read(query: Query): RawOptions {
  const timeoutSeconds = countParameter(query, 'timeoutSeconds') ?? 0;
  const limit = countParameter(query, 'limit') ?? 0;
  return {
    timeoutSeconds,
    limit,
    labelSelector: requireSelector(() => shared(parseLabelSelector(query.get('labelSelector') ?? ''))),
    fieldSelector: requireSelector(() => parseFieldSelector(query.get('fieldSelector') ?? '')),
    watch: booleanParameter(query, 'watch') ?? false,
    allowWatchBookmarks: booleanParameter(query, 'allowWatchBookmarks') ?? false,
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    continue: query.get('continue') ?? '',
    sendInitialEvents: booleanParameter(query, 'sendInitialEvents'),
  };
}

/** @throws ApiError 400 in place of a SelectorSyntaxError. */
export function requireSelector<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof SelectorSyntaxError) throw badRequest(error.message);
    throw error;
  }
}

/** Zero may have any number of digits. */
const isZero = (version: string): boolean => /^0+$/.test(version);
const isAny = (version: string): boolean => version === '' || isZero(version);

/** L-24: a watch without a resourceVersion, or from 0, starts with the present state. */
function withDefaults(options: RawOptions): RawOptions {
  const unset = options.sendInitialEvents === undefined && options.resourceVersionMatch === '';
  if (!options.watch || !unset || !isAny(options.resourceVersion)) return options;
  return { ...options, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
}

const MATCH = 'resourceVersionMatch';

function listErrors(options: RawOptions): FieldError[] {
  const { resourceVersion: version, resourceVersionMatch: match } = options;
  const errors: FieldError[] = [];
  if (match !== '') {
    if (version === '') errors.push(forbiddenField(MATCH, `${MATCH} is forbidden unless resourceVersion is provided`));
    if (options.continue !== '') errors.push(forbiddenField(MATCH, `${MATCH} is forbidden when continue is provided`));
    if (match !== 'Exact' && match !== 'NotOlderThan') {
      errors.push(unsupportedValue(MATCH, match, ['Exact', 'NotOlderThan', '']));
    }
    if (match === 'Exact' && isZero(version)) {
      errors.push(forbiddenField(MATCH, `${MATCH} "exact" is forbidden for resourceVersion "0"`));
    }
  }
  if (options.sendInitialEvents !== undefined) {
    errors.push(forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  return errors;
}

function watchErrors({ resourceVersionMatch: match, sendInitialEvents, ...options }: RawOptions): FieldError[] {
  const errors: FieldError[] = [];
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    errors.push(forbiddenField(MATCH, `sendInitialEvents requires setting ${MATCH} to NotOlderThan`));
  }
  if (match !== '') {
    if (sendInitialEvents === undefined) {
      errors.push(forbiddenField(MATCH, `${MATCH} is forbidden for watch unless sendInitialEvents is provided`));
    }
    if (match !== 'NotOlderThan') errors.push(unsupportedValue(MATCH, match, ['NotOlderThan']));
    if (options.continue !== '') errors.push(forbiddenField(MATCH, `${MATCH} is forbidden when continue is provided`));
  }
  return errors;
}

/** L-25, also for watches: kube-apiserver answers those with a 500, but the mistake is the caller's. */
export function parseResourceVersion(text: string): number | undefined {
  if (text === '') return undefined;
  const parsed = parseGoUint64(text);
  if (!parsed.ok) {
    throw badRequest(`invalid resource version: resourceVersion: Invalid value: ${goQuote(text)}: ${parsed.message}`);
  }
  return parsed.value;
}
