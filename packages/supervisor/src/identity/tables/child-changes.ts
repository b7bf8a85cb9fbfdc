import { type Database, StoreError } from "@reins/store";
import { LOCAL } from "../principal.ts";
import { Row } from "./row.ts";
import { SESSION_AND_BELOW } from "./session-tree.ts";
import type { IdentityChanges } from "./tables.ts";
import type { Versions } from "./versions.ts";

/** The changes of child sessions. One is added only while everybody it stands on is there: user, token and parent. */
export function openChildChanges(
  database: Database,
  versions: Versions,
): Pick<IdentityChanges, "addChild" | "revokeSession"> {
  const standsOn = database.prepare(
    `SELECT 1 FROM identity_users u WHERE u.tenant = @tenant AND u.id = @user AND u.removed IS NULL
       AND (@principal = '${LOCAL}' OR EXISTS (
         SELECT 1 FROM identity_tokens t
         WHERE t.id = @principal AND t.tenant = @tenant AND t.user = @user AND t.revoked IS NULL))
       AND NOT EXISTS (
         SELECT 1 FROM identity_children p WHERE p.session_id = @parent AND p.revoked IS NOT NULL)`,
  );
  const count = database.prepare(
    `SELECT count(*) AS live FROM identity_children
     WHERE principal = @principal AND tenant = @tenant AND revoked IS NULL AND expires > @created`,
  );
  const forget = database.prepare("DELETE FROM identity_children WHERE expires <= @created");
  const add = database.prepare(
    `INSERT INTO identity_children
       (session_id, tenant, user, principal, parent, agent, chain, depth, scopes, task, hash, created, expires, changed)
     VALUES (@session_id, @tenant, @user, @principal, @parent, @agent, @chain, @depth, @scopes, @task, @hash,
       @created, @expires, @version)`,
  );
  const revoke = database.prepare(
    `${SESSION_AND_BELOW} UPDATE identity_children SET revoked = @at, changed = @version
     WHERE session_id IN (SELECT session_id FROM below) AND revoked IS NULL`,
  );
  return {
    addChild: ({ child, most }) =>
      versions.step((version) => {
        const { tenant, user, principal, parent, created } = child;
        if (!standsOn.get({ tenant, user, principal, parent }))
          throw new StoreError("conflict", "whoever the sub-agent was begun for was revoked meanwhile");
        forget.run({ created });
        if (new Row(count.get({ principal, tenant, created })).number("live") >= most)
          throw new StoreError("conflict", `there are ${most} sub-agents already; end some of them first`);
        const [chain, scopes] = [JSON.stringify(child.chain), JSON.stringify(child.scopes)];
        add.run({ ...child, chain, scopes, version });
      }),
    revokeSession: ({ tenant, session, principal = null, at }) =>
      versions.step((version) => {
        revoke.run({ tenant, session, principal, at, version });
      }),
  };
}
