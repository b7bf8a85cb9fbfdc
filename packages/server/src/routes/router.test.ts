import { identityOperations, runOperations } from "@reins/api";
import { expect, test } from "vitest";
import { eventText, pageOf, type ResponseBody, type Router } from "./router.ts";

const router: Pick<Router, "handle"> = { handle: () => undefined };

test("a response that does not have the form of its operation's schema does not compile", () => {
  const { listTokens, revokeToken } = identityOperations;
  router.handle(listTokens, async () => ({ tokens: [] }));
  // @ts-expect-error The member is called tokens.
  router.handle(listTokens, async () => ({ keys: [] }));
  // @ts-expect-error A token has more members.
  router.handle(listTokens, async () => ({ tokens: [{ id: "tok_1" }] }));
  // An operation without a response takes any result, and sends none.
  router.handle(revokeToken, async () => undefined);
  const frozen: readonly string[] = Object.freeze(["*"]);
  const token: ResponseBody<typeof listTokens>["tokens"][number] = {
    ...{ id: "tok_1", user: "ann", tenant: "acme", kind: "user", scopes: frozen, agents: frozen },
    ...{ started: "api", created: "2026-11-16T00:00:00.000Z" },
  };
  expect(token.scopes).toBe(frozen);
});

test("an event has the name of its operation's stream, and content in the form of its schema", () => {
  const event = {
    ...({ seq: 7, run_id: "r", session_id: "s", contract: "task_list", at: "now", fault: null } as const),
    payload: { run_id: "r", session_id: "s", updated_at: "now" },
  };
  const text = eventText(runOperations.streamRuns, 7, event);
  expect(text).toBe(`id: 7\nevent: run\ndata: ${JSON.stringify(event)}\n\n`);
  // @ts-expect-error The contract is none that the schema knows.
  eventText(runOperations.streamRuns, 7, { ...event, contract: "other" });
});

const all = Array.from({ length: 5 }, (_, index) => ({ id: `i${index}` }));
const read = async (limit: number) => all.slice(0, limit);

test("a page that is not the last has the cursor of the next", async () => {
  expect(await pageOf(2, read)).toEqual({ items: all.slice(0, 2), next: "i1" });
});

test("the last page has no cursor, though it is full", async () => {
  expect(await pageOf(5, read)).toEqual({ items: all });
  expect(await pageOf(9, read)).toEqual({ items: all });
  expect(await pageOf(2, async () => [])).toEqual({ items: [] });
});
