import type { TablesModule } from "@reins/store";
import type { SkillChanges, SkillGrant, SkillQueries } from "./tables.ts";

const module: TablesModule = {
  migrations: [
    `CREATE TABLE skill_grants (
       tenant TEXT NOT NULL, user TEXT NOT NULL, digest TEXT NOT NULL, skill TEXT NOT NULL,
       layer TEXT NOT NULL, granted_by TEXT NOT NULL, granted_at TEXT NOT NULL,
       PRIMARY KEY (tenant, digest, user, skill, layer)
     ) STRICT, WITHOUT ROWID`,
  ],
  open(database) {
    const put = database.prepare(
      `INSERT INTO skill_grants (tenant, user, digest, skill, layer, granted_by, granted_at) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (tenant, digest, user, skill, layer)
       DO UPDATE SET granted_by = excluded.granted_by, granted_at = excluded.granted_at`,
    );
    const remove = database.prepare("DELETE FROM skill_grants WHERE tenant = ? AND user = ? AND digest = ?");
    const list = database.prepare<SkillGrant>(
      `SELECT tenant, user, digest, skill, layer, granted_by AS "by", granted_at AS at
       FROM skill_grants WHERE tenant = ? AND user IN ('', ?)`,
    );
    return {
      changes: {
        grant({
          tenant,
          user,
          digest,
          skill,
          layer,
          by,
          at,
        }: Parameters<SkillChanges["grant"]>[0]): undefined {
          put.run(tenant, user, digest, skill, layer, by, at);
        },
        revoke: ({ tenant, user, digest }: Parameters<SkillChanges["revoke"]>[0]): boolean =>
          remove.run(tenant, user, digest).changes > 0,
      },
      queries: {
        grants: ({ tenant, user }: Parameters<SkillQueries["grants"]>[0]): SkillGrant[] =>
          list.all(tenant, user),
      },
    };
  },
};

export default module;
