import type { Identity } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import type { ApiObject } from '../../api/kind.ts';
import type { ApiError } from '../../api/status.ts';
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
  /** The 403 of a creator who may not register this cluster. */
  readonly refuseJoin: (creator: Identity, cluster: ApiObject) => ApiError | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
}
