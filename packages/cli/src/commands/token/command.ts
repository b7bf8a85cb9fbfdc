import type { Command } from "commander";
import { declareCreate } from "./create/command.ts";
import { declareList } from "./list/command.ts";
import { declareRevoke } from "./revoke/command.ts";

/** Declares `reins token` and what belongs to it. */
export function declareToken(token: Command): void {
  token.description(
    "A token names who stands behind a program that speaks to Reins: a user, in a role, with scopes, and the agents it " +
      "may act as. What a program says of itself counts only as far as its token vouches for it.",
  );
  declareCreate(token);
  declareList(token);
  declareRevoke(token);
}
