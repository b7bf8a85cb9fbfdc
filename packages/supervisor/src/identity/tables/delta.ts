import type { StoredChild } from "../child-session.ts";
import type { StoredToken } from "../token.ts";
import type { StoredUser } from "../user.ts";

/** What changed after one version, up to another. */
export interface Delta {
  readonly after: number;
  readonly version: number;
  readonly users: readonly StoredUser[];
  readonly tokens: readonly StoredToken[];
  readonly children: readonly StoredChild[];
}
