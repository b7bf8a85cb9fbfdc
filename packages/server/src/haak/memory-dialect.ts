import { isAbsolute } from "node:path";
import { memoryOperations } from "@reins/api";
import type { Dialect } from "../dialect/dialect.ts";
import { Refusal } from "../problems/refusal.ts";

const LIMIT = 100;

/** What the sessions of a user know, for the user. */
export const memoryDialect: Dialect = {
  name: "memory",
  mount(place) {
    place.governed(memoryOperations.listMemory, async ({ harness, principal, query: asked }) => {
      const { userMemory } = await import("@reins/host");
      const memory = userMemory(harness, principal);
      const { query, workspace, limit = LIMIT } = asked;
      if (query === undefined) return { facts: await memory.list(limit) };
      return { facts: await memory.recall({ query, limit, ...(workspace !== undefined && { workspace }) }) };
    });
    place.governed(memoryOperations.addMemory, async ({ harness, principal, supervisor, body }) => {
      const { userMemory } = await import("@reins/host");
      const { content, confidence, workspace } = body;
      if (workspace !== undefined && workspace !== "" && !isAbsolute(workspace))
        throw new Refusal("invalid", "the workspace of a fact is an absolute path");
      if (content.trim() === "") throw new Refusal("invalid", "a fact needs words");
      return userMemory(harness, principal).remember({
        content,
        source: supervisor.actorOf(principal),
        ...(confidence !== undefined && { confidence }),
        ...(workspace !== undefined && { workspace }),
      });
    });
    place.governed(memoryOperations.forgetMemory, async ({ harness, principal, params: { fact } }) => {
      const { userMemory } = await import("@reins/host");
      if (await userMemory(harness, principal).forget(fact)) return undefined;
      throw new Refusal("not_found", `there is no fact ${fact}`);
    });
  },
};
