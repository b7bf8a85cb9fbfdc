import type { Harness, Principal } from "@reins/supervisor";

const USER = "anonymous";

/**
 * Whoever comes without a token where that is allowed: a principal that may act as no agent of the roster, so that
 * whatever it calls itself it stays unknown, and that answers no approvals.
 */
export async function anonymousPrincipal({ identity }: Pick<Harness, "identity">): Promise<Principal> {
  const users = await identity.listUsers();
  if (!users.some(({ id }) => id === USER))
    await identity.addUser({
      id: USER,
      name: "Whoever comes without a token",
      email: "anonymous@localhost.invalid",
      roles: [],
      scopes: [],
    });
  const tokens = await identity.listTokens();
  const known = tokens.find(({ user, kind, agents, revoked, expires }) => {
    const isLive = revoked === undefined && expires === undefined;
    return user === USER && kind === "agent" && agents.length === 0 && isLive;
  });
  const { id } = known ?? (await identity.createToken({ user: USER, kind: "agent", agents: [], scopes: [] }));
  const principal = await identity.current({ id });
  if (principal) return principal;
  throw new Error("the user for those without a token cannot be made");
}
