import type { Identity } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import type { ApiObject } from '../../api/kind.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { PublicView } from '../../objects/stored-object.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { Views } from '../views.ts';

/** What the handlers of bootstrap tokens share. */
export interface JoinParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly writer: ObjectWriter;
  readonly views: Views;
  readonly publicView: PublicView;
  readonly productName: string;
  /** @throws ApiError 403 for a creator who may not register this cluster. */
  readonly checkJoin: (creator: Identity, cluster: ApiObject) => void;
  /** Throws while the clock is known to be wrong: a bootstrap token says when it expires. */
  readonly requireRightClock: () => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}
