import type { Tables } from "@reins/store";

/** A person's word that a content may be used under an id of a layer. */
export interface SkillGrant {
  readonly tenant: string;
  /** The user for whose sessions it counts; empty for all of the tenant. */
  readonly user: string;
  /** The digest of the skill's files. */
  readonly digest: string;
  /** The id of the skill. */
  readonly skill: string;
  readonly layer: string;
  /** The person, as the ledger names them. */
  readonly by: string;
  readonly at: string;
}

export type SkillChanges = {
  grant(args: SkillGrant): undefined;
  /** Takes back what counts for a content, under whatever id; returns whether there was any. */
  revoke(args: Pick<SkillGrant, "tenant" | "user" | "digest">): boolean;
};

export type SkillQueries = {
  /** What counts for a user of a tenant. */
  grants(args: Pick<SkillGrant, "tenant" | "user">): SkillGrant[];
};

/** The contents of skills that people have trusted. */
export const skillTables: Tables<SkillChanges, SkillQueries> = {
  name: "skills",
  module: new URL("./module.ts", import.meta.url),
};
