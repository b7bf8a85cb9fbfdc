import { STARTS, type Started } from "@reins/policy";
import { z } from "zod";
import { Agents, Name, Scopes } from "./names.ts";
import { PRINCIPAL_KINDS, type PrincipalKind } from "./principal.ts";

/** A token as others see it: everything but its secret. */
export interface Token {
  readonly id: string;
  readonly user: string;
  readonly tenant: string;
  readonly kind: PrincipalKind;
  /** The one role of its user it acts in; without one, all of them. */
  readonly role: string | undefined;
  /** What it may at most; its user's scopes narrow them. */
  readonly scopes: readonly string[];
  readonly agents: readonly string[];
  readonly started: Started;
  /** RFC 3339, like the times below. */
  readonly created: string;
  readonly expires: string | undefined;
  readonly revoked: string | undefined;
}

/** A token as the store keeps it. */
export interface StoredToken extends Token {
  /** The keyed hash of its secret. */
  readonly hash: string;
  readonly changed: number;
}

/** A moment, as a `Date` or RFC 3339. Kept in the one form that sorts by time. */
const Moment = z
  .union([z.date(), z.iso.datetime({ offset: true })])
  .transform((moment) => new Date(moment).toISOString())
  .refine((moment) => moment.length === "2026-11-15T05:20:00.000Z".length, "is beyond the year 9999");

/** What makes a token. */
export const NewToken = z.strictObject({
  user: Name,
  /** By default the tenant of whoever creates it. */
  tenant: Name.optional(),
  /** One of the user's roles; by default all of them. */
  role: Name.optional(),
  /** By default all that the user has. */
  scopes: Scopes.optional(),
  /** By default none: every agent it names stays unverified. */
  agents: Agents.optional(),
  /** How the work it begins was started; by default `api`. */
  started: z.enum(STARTS).optional(),
  /** By default `user`. */
  kind: z.enum(PRINCIPAL_KINDS).optional(),
  /** By default it does not expire. */
  expires: Moment.optional(),
});
export type NewToken = Readonly<z.input<typeof NewToken>>;

/** A new token. The secret is nowhere else and cannot be shown again. */
export interface CreatedToken {
  readonly id: string;
  readonly secret: string;
}

/** A token as others see it. */
export function asToken({ hash: _, changed: __, ...token }: StoredToken): Token {
  return token;
}
