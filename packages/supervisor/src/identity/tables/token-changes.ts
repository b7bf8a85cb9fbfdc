import { type Database, StoreError } from "@reins/store";
import type { IdentityChanges } from "./tables.ts";
import type { Versions } from "./versions.ts";

/** The changes of tokens. */
export function openTokenChanges(
  database: Database,
  versions: Versions,
): Pick<IdentityChanges, "addToken" | "revokeToken"> {
  const findUser = database.prepare(
    "SELECT 1 FROM identity_users WHERE tenant = @tenant AND id = @user AND removed IS NULL",
  );
  const add = database.prepare(
    `INSERT INTO identity_tokens
       (id, tenant, user, kind, role, scopes, agents, started, hash, created, expires, changed)
     VALUES (@id, @tenant, @user, @kind, @role, @scopes, @agents, @started, @hash, @created, @expires, @version)`,
  );
  const revoke = database.prepare(
    `UPDATE identity_tokens SET revoked = @at, changed = @version
     WHERE tenant = @tenant AND id = @id AND revoked IS NULL`,
  );
  const revokeChildren = database.prepare(
    `UPDATE identity_children SET revoked = @at, changed = @version
     WHERE tenant = @tenant AND principal = @id AND revoked IS NULL`,
  );
  return {
    addToken: ({ token }) =>
      versions.step((version) => {
        const { tenant, user, role = null, expires = null } = token;
        if (!findUser.get({ tenant, user }))
          throw new StoreError("conflict", `the user "${user}" was removed by somebody else meanwhile`);
        const [scopes, agents] = [JSON.stringify(token.scopes), JSON.stringify(token.agents)];
        add.run({ ...token, role, expires, scopes, agents, version });
      }),
    revokeToken: ({ tenant, id, at }) =>
      versions.step((version) => {
        if (revoke.run({ tenant, id, at, version }).changes === 0)
          throw new StoreError("conflict", `the token "${id}" was revoked by somebody else meanwhile`);
        revokeChildren.run({ tenant, id, at, version });
      }),
  };
}
