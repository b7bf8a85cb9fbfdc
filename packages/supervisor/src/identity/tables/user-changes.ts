import { type Database, StoreError } from "@reins/store";
import { Row } from "./row.ts";
import type { IdentityChanges } from "./tables.ts";
import type { Versions } from "./versions.ts";

/** The changes of users and of whole tenants. Whoever leaves takes tokens and child sessions along, for good. */
export function openUserChanges(
  database: Database,
  versions: Versions,
): Pick<IdentityChanges, "putUser" | "removeUser" | "removeTenant"> {
  const changedOf = database.prepare(
    "SELECT changed FROM identity_users WHERE tenant = @tenant AND id = @id",
  );
  const put = database.prepare(
    `INSERT OR REPLACE INTO identity_users (tenant, id, name, email, roles, scopes, created, changed)
     VALUES (@tenant, @id, @name, @email, @roles, @scopes, @created, @version)`,
  );
  const putTenant = database.prepare(
    `INSERT INTO identity_tenants (id, created, changed) VALUES (@tenant, @at, @version)
     ON CONFLICT (id) DO UPDATE SET created = @at, removed = NULL, changed = @version WHERE removed IS NOT NULL`,
  );
  const removeTenant = database.prepare(
    "UPDATE identity_tenants SET removed = @at, changed = @version WHERE id = @tenant AND removed IS NULL",
  );
  const end = (table: string, gone: string, whose: string) =>
    database.prepare(
      `UPDATE ${table} SET ${gone} = @at, changed = @version WHERE tenant = @tenant AND ${whose} AND ${gone} IS NULL`,
    );
  const endUser = [
    end("identity_users", "removed", "id = @id"),
    end("identity_tokens", "revoked", "user = @id"),
    end("identity_children", "revoked", "user = @id"),
  ];
  const endAll = [
    end("identity_users", "removed", "TRUE"),
    end("identity_tokens", "revoked", "TRUE"),
    end("identity_children", "revoked", "TRUE"),
  ];
  const expect = (user: { readonly tenant: string; readonly id: string }, expected: number): void => {
    const { tenant, id } = user;
    if (new Row(changedOf.get({ tenant, id })).number("changed") === expected) return;
    throw new StoreError("conflict", `the user "${id}" was changed by somebody else meanwhile`);
  };
  return {
    putUser: ({ user, at, expected }) =>
      versions.step((version) => {
        expect(user, expected);
        putTenant.run({ tenant: user.tenant, at, version });
        const [roles, scopes] = [JSON.stringify(user.roles), JSON.stringify(user.scopes)];
        put.run({ ...user, roles, scopes, version });
      }),
    removeUser: ({ tenant, id, at, expected }) =>
      versions.step((version) => {
        expect({ tenant, id }, expected);
        for (const statement of endUser) statement.run({ tenant, id, at, version });
      }),
    removeTenant: ({ tenant, at }) =>
      versions.step((version) => {
        if (removeTenant.run({ tenant, at, version }).changes === 0)
          throw new StoreError("conflict", `the tenant "${tenant}" was removed by somebody else meanwhile`);
        for (const statement of endAll) statement.run({ tenant, at, version });
      }),
  };
}
