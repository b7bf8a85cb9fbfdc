import { z } from "zod";
import { Line, Name, Roles, Scopes } from "./names.ts";

/** Somebody on whose behalf agents act. Ids are the tenant's own. */
export interface User {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly email: string;
  readonly roles: readonly string[];
  /** `*` is all. */
  readonly scopes: readonly string[];
  /** RFC 3339. */
  readonly created: string;
}

/** A user as the store keeps it; a removed one stays as a mark. */
export interface StoredUser extends User {
  readonly removed: string | undefined;
  /** Grows with every change of identity; the last one that touched this. */
  readonly changed: number;
}

const email = z.email().max(254);

/** What makes a user. */
export const NewUser = z.strictObject({
  id: Name,
  name: Line,
  email,
  /** By default the tenant of whoever adds it. */
  tenant: Name.optional(),
  roles: Roles,
  scopes: Scopes,
});
export type NewUser = Readonly<z.input<typeof NewUser>>;

/** What changes about a user; what is not named stays. */
export const UserChange = z.strictObject({
  id: Name,
  tenant: Name.optional(),
  name: Line.optional(),
  email: email.optional(),
  roles: Roles.optional(),
  scopes: Scopes.optional(),
});
export type UserChange = Readonly<z.input<typeof UserChange>>;

/** Which user. */
export const UserName = z.strictObject({ id: Name, tenant: Name.optional() });
export type UserName = Readonly<z.input<typeof UserName>>;

/** A user as others see it. */
export function asUser({ removed: _, changed: __, ...user }: StoredUser): User {
  return user;
}
