import { capi } from './capi.ts';
import { clusterprofile } from './cluster-profile.ts';
import type { ImportSource } from './import-source.ts';
import { ocm } from './ocm.ts';

export type ImportFrom = 'capi' | 'ocm' | 'clusterprofile';

export const SOURCES: Readonly<Record<ImportFrom, ImportSource>> = { capi, ocm, clusterprofile };
