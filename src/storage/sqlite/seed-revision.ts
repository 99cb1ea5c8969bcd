import type { Revision } from '../contract.ts';
import { inTransaction, openDatabase, removePid } from './database.ts';

/**
 * Makes every later revision of a database that holds nothing yet greater than this one, and what came before
 * unreadable. The database must not be open anywhere.
 */
export function seedSqliteRevision(file: string, revision: Revision): void {
  const db = openDatabase(file);
  try {
    inTransaction(db, () => {
      db.prepare("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'log'").run(revision + 1);
      db.exec("UPDATE meta SET value = (SELECT seq FROM sqlite_sequence WHERE name = 'log') WHERE name = 'oldest'");
    });
  } finally {
    removePid(file);
    db.close();
  }
}
