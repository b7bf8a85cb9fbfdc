import type { Command } from "commander";
import { declareAdd } from "./add/command.ts";
import { declareList } from "./list/command.ts";
import { declareRemove } from "./remove/command.ts";
import { declareSet } from "./set/command.ts";

/** Declares `reins user` and what belongs to it. */
export function declareUser(user: Command): void {
  user.description(
    "Users are those on whose behalf agents act, each in one tenant. A tenant comes to be with its first user, and " +
      "nothing of one tenant is seen in another.",
  );
  declareList(user);
  declareAdd(user);
  declareSet(user);
  declareRemove(user);
}
