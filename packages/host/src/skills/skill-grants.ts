import type { Skill, SkillIdentity } from "@reins/bridge";
import type { Draft } from "@reins/ledger";
import { change, type Store } from "@reins/store";
import {
  actorOf,
  answererOf,
  type Harness,
  isConcerned,
  type Principal,
  SupervisorError,
} from "@reins/supervisor";
import { type SkillGrant, skillTables } from "./tables.ts";

/** The persons who have trusted skills, by {@link grantKey}, as far as it counts for a user. */
export async function grantsFor(
  store: Pick<Store, "query">,
  { tenant, user }: Pick<Principal, "tenant" | "user">,
): Promise<ReadonlyMap<string, string>> {
  const grants = await store.query(skillTables, "grants", { tenant, user });
  return new Map(grants.map(({ skill: id, layer, digest, by }) => [grantKey({ id, layer, digest }), by]));
}

/** What a grant is found by: content, id and layer, so that a renamed skill is another one. */
export function grantKey({ id, layer, digest }: Record<keyof SkillIdentity, string>): string {
  return JSON.stringify([digest, layer, id]);
}

/**
 * Records a person's word that the content of a skill may be used under its id in its layer: that of an approver counts for the tenant, that of
 * any other person for their own sessions. An agent has no say in it.
 */
export async function grantSkill(
  harness: Pick<Harness, "record" | "store">,
  principal: Principal,
  skill: Skill,
  at: Date,
): Promise<void> {
  const { digest, id, layer } = skill;
  if (digest === undefined)
    throw new SupervisorError("invalid", `${id} comes from a host; there is nothing to trust`);
  const { tenant } = expectPerson(principal);
  const by = actorOf(principal);
  const row = { tenant, user: scopeOf(principal), digest, skill: id, layer, by, at: at.toISOString() };
  await harness.record([draftOf(principal, "skill_trusted", row)], {
    with: [change(skillTables, "grant", row)],
  });
}

/** Takes a person's word for a content back, under whatever id; returns whether there was one. */
export async function revokeSkill(
  harness: Pick<Harness, "record" | "store">,
  principal: Principal,
  digest: string,
): Promise<boolean> {
  const { tenant } = expectPerson(principal);
  const user = scopeOf(principal);
  const grants = await harness.store.query(skillTables, "grants", { tenant, user });
  const revoked = grants.filter((one) => one.digest === digest && one.user === user);
  if (revoked.length === 0) return false;
  const key = { tenant, user, digest };
  await harness.record(
    revoked.map((grant) => draftOf(principal, "skill_trust_revoked", grant)),
    {
      with: [change(skillTables, "revoke", key)],
    },
  );
  return true;
}

function expectPerson(principal: Principal): Principal {
  if (principal.kind !== "agent") return principal;
  throw new SupervisorError("forbidden", "an agent does not say which skills are trusted; a person has to");
}

/** For whose sessions the word of a principal counts; empty for all of the tenant. */
function scopeOf(principal: Principal): string {
  const { tenant, user } = principal;
  const isApprover = isConcerned(answererOf(principal), { tenant, user: "" });
  return isApprover ? "" : user;
}

/** The entry of a grant, signed by its author. */
function draftOf(
  by: Principal,
  changed: "skill_trusted" | "skill_trust_revoked",
  { tenant, user, digest, skill, layer }: Omit<SkillGrant, "by" | "at">,
): Draft {
  const { id: principal, kind } = by;
  return {
    quality: "policy_change",
    actor: actorOf(by),
    target: `skill:${skill}`,
    tags: ["skill", `tenant:${tenant}`],
    payload: { change: changed, skill, layer, digest, tenant, user, by: { principal, kind } },
  };
}
