import type { TablesModule } from "@reins/store";
import { openChildChanges, openTokenChanges, openUserChanges } from "./changes.ts";
import { openQueries, Versions } from "./queries.ts";

/**
 * The tables of identity. Every change raises the version and stamps the rows it touches, so that the holder of a copy
 * asks for what is newer than its own. Removed users and revoked tokens stay as marks. There from the beginning: the
 * default tenant, the operator, and the key under which secrets are hashed.
 */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE identity_meta (version INTEGER NOT NULL, hash_key BLOB NOT NULL) STRICT;
   INSERT INTO identity_meta (version, hash_key) VALUES (1, randomblob(32));
   CREATE TABLE identity_tenants (
     id TEXT PRIMARY KEY, created TEXT NOT NULL, removed TEXT, changed INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE identity_users (
     tenant TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, email TEXT NOT NULL,
     roles TEXT NOT NULL, scopes TEXT NOT NULL,
     created TEXT NOT NULL, removed TEXT, changed INTEGER NOT NULL,
     PRIMARY KEY (tenant, id)
   ) STRICT;
   CREATE INDEX identity_users_changed ON identity_users (changed);
   CREATE TABLE identity_tokens (
     id TEXT PRIMARY KEY, tenant TEXT NOT NULL, user TEXT NOT NULL, kind TEXT NOT NULL, role TEXT,
     scopes TEXT NOT NULL, agents TEXT NOT NULL, started TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
     created TEXT NOT NULL, expires TEXT, revoked TEXT, changed INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX identity_tokens_changed ON identity_tokens (changed);
   CREATE INDEX identity_tokens_of ON identity_tokens (tenant, user);
   CREATE TABLE identity_children (
     session_id TEXT PRIMARY KEY, tenant TEXT NOT NULL, user TEXT NOT NULL, principal TEXT NOT NULL,
     parent TEXT NOT NULL, agent TEXT NOT NULL, chain TEXT NOT NULL, depth INTEGER NOT NULL,
     scopes TEXT NOT NULL, task TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
     created TEXT NOT NULL, expires TEXT NOT NULL, revoked TEXT, changed INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX identity_children_changed ON identity_children (changed);
   CREATE INDEX identity_children_expires ON identity_children (expires);
   CREATE INDEX identity_children_of ON identity_children (tenant, user);
   CREATE INDEX identity_children_by ON identity_children (principal, revoked, expires);
   CREATE INDEX identity_children_from ON identity_children (tenant, parent);
   INSERT INTO identity_tenants (id, created, changed)
     VALUES ('default', strftime('%Y-%m-%dT%H:%M:%fZ'), 1);
   INSERT INTO identity_users (tenant, id, name, email, roles, scopes, created, changed)
     VALUES ('default', 'operator', 'Operator', '', '["admin"]', '["*"]', strftime('%Y-%m-%dT%H:%M:%fZ'), 1)`,
  `ALTER TABLE identity_tokens ADD COLUMN origin TEXT;
   ALTER TABLE identity_tokens ADD COLUMN issued TEXT`,
];

/** Identity inside the store: loaded by the threads that own the database. */
const module: TablesModule = {
  migrations: MIGRATIONS,
  open(database) {
    const versions = new Versions(database);
    return {
      changes: {
        ...openUserChanges(database, versions),
        ...openTokenChanges(database, versions),
        ...openChildChanges(database, versions),
      },
      queries: openQueries(database, versions),
    };
  },
};

export default module;
