import { type Database, StoreError } from "@reins/store";
import { LOCAL } from "../principal.ts";
import { SESSION_AND_BELOW, type Versions } from "./queries.ts";
import type { IdentityChanges } from "./tables.ts";

const PUT_USER = `INSERT INTO identity_users (tenant, id, name, email, roles, scopes, created, changed)
  VALUES (@tenant, @id, @name, @email, @roles, @scopes, @created, @version)
  ON CONFLICT (tenant, id) DO UPDATE SET name = excluded.name, email = excluded.email, roles = excluded.roles,
    scopes = excluded.scopes, created = excluded.created, removed = NULL, changed = excluded.changed`;
/** A tenant comes to be with its first user. */
const PUT_TENANT = `INSERT INTO identity_tenants (id, created, changed) VALUES (@tenant, @at, @version)
  ON CONFLICT (id) DO UPDATE SET created = @at, removed = NULL, changed = @version
    WHERE identity_tenants.removed IS NOT NULL`;

/** The changes of users and of whole tenants. Removing one revokes its tokens and child sessions for good. */
export function openUserChanges(
  database: Database,
  versions: Versions,
): Pick<IdentityChanges, "putUser" | "removeUser" | "removeTenant"> {
  const changedOf = database.prepare<{ readonly changed: number }>(
    "SELECT changed FROM identity_users WHERE tenant = @tenant AND id = @id",
  );
  const put = database.prepare(PUT_USER);
  const putTenant = database.prepare(PUT_TENANT);
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
    if ((changedOf.get({ tenant, id })?.changed ?? 0) === expected) return;
    throw new StoreError("conflict", `the user "${id}" was changed concurrently`);
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
          throw new StoreError("conflict", `the tenant "${tenant}" was removed concurrently`);
        for (const statement of endAll) statement.run({ tenant, at, version });
      }),
  };
}

/** The changes of tokens. */
export function openTokenChanges(
  database: Database,
  versions: Versions,
): Pick<IdentityChanges, "addToken" | "admit" | "revokeToken"> {
  const findUser = database.prepare(
    "SELECT 1 FROM identity_users WHERE tenant = @tenant AND id = @user AND removed IS NULL",
  );
  const add = database.prepare(
    `INSERT INTO identity_tokens
       (id, tenant, user, kind, role, scopes, agents, started, hash, created, expires, changed)
     VALUES (@id, @tenant, @user, @kind, @role, @scopes, @agents, @started, @hash, @created, @expires, @version)`,
  );
  const changedOf = (table: string, whose: string) =>
    database.prepare<{ readonly changed: number }>(`SELECT changed FROM ${table} WHERE ${whose}`);
  const userChanged = changedOf("identity_users", "tenant = @tenant AND id = @user");
  const tokenChanged = changedOf("identity_tokens", "id = @id");
  const putUser = database.prepare(PUT_USER);
  const putTenant = database.prepare(PUT_TENANT);
  const admit = database.prepare(
    `INSERT INTO identity_tokens
       (id, tenant, user, kind, scopes, agents, started, hash, created, expires, origin, issued, changed)
     VALUES (@id, @tenant, @user, @kind, @scopes, @agents, @started, 'of ' || @id, @created, @expires, @origin,
       @issued, @version)
     ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, user = excluded.user, kind = excluded.kind, role = NULL,
       scopes = excluded.scopes, agents = excluded.agents, started = excluded.started, hash = excluded.hash,
       created = excluded.created, expires = excluded.expires, revoked = NULL, origin = excluded.origin,
       issued = excluded.issued, changed = excluded.changed`,
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
          throw new StoreError("conflict", `the user "${user}" was removed concurrently`);
        const [scopes, agents] = [JSON.stringify(token.scopes), JSON.stringify(token.agents)];
        add.run({ ...token, role, expires, scopes, agents, version });
      }),
    admit: ({ user, token, expected }) =>
      versions.step((version) => {
        const { tenant, id } = token;
        const isSame =
          (userChanged.get({ tenant, user: user.id })?.changed ?? 0) === expected.user &&
          (tokenChanged.get({ id })?.changed ?? 0) === expected.token;
        if (!isSame) throw new StoreError("conflict", `the user "${user.id}" was changed concurrently`);
        putTenant.run({ tenant, at: token.created, version });
        const lists = { roles: JSON.stringify(user.roles), scopes: JSON.stringify(user.scopes) };
        putUser.run({ ...user, ...lists, version });
        const [scopes, agents] = [JSON.stringify(token.scopes), JSON.stringify(token.agents)];
        admit.run({ ...token, scopes, agents, version });
      }),
    revokeToken: ({ tenant, id, at }) =>
      versions.step((version) => {
        if (revoke.run({ tenant, id, at, version }).changes === 0)
          throw new StoreError("conflict", `the token "${id}" was revoked concurrently`);
        revokeChildren.run({ tenant, id, at, version });
      }),
  };
}

/** The changes of child sessions. One is added only while its user, token and parent are valid. */
export function openChildChanges(
  database: Database,
  versions: Versions,
): Pick<IdentityChanges, "addChild" | "revokeSession"> {
  const isRooted = database.prepare(
    `SELECT 1 FROM identity_users u WHERE u.tenant = @tenant AND u.id = @user AND u.removed IS NULL
       AND (@principal = '${LOCAL}' OR EXISTS (
         SELECT 1 FROM identity_tokens t
         WHERE t.id = @principal AND t.tenant = @tenant AND t.user = @user AND t.revoked IS NULL))
       AND NOT EXISTS (
         SELECT 1 FROM identity_children p WHERE p.session_id = @parent AND p.revoked IS NOT NULL)`,
  );
  const count = database.prepare<{ readonly live: number }>(
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
        if (!isRooted.get({ tenant, user, principal, parent }))
          throw new StoreError(
            "conflict",
            "the principal or parent of the sub-agent was revoked concurrently",
          );
        forget.run({ created });
        if ((count.get({ principal, tenant, created })?.live ?? 0) >= most)
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
