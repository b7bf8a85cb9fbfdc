import { describe, expect, it } from "vitest";
import { elicitationOutcome, type PermissionAnswer, permissionOutcome } from "./acp-connection.ts";

const { signal } = new AbortController();
const params = {
  sessionId: "s",
  toolCall: { toolCallId: "t", title: "Run make" },
  options: [
    { optionId: "a", name: "Yes", kind: "allow_once" },
    { optionId: "b", name: "No", kind: "reject_once" },
  ],
  _meta: { reins: { approval: "apr_1", reason: "no rule allows it" } },
};

describe("a permission request", () => {
  it.each<[PermissionAnswer, string]>([
    ["allow", "a"],
    ["deny", "b"],
    [{ optionId: "b" }, "b"],
  ])("is answered %j with the option %s", async (answer, optionId) => {
    const outcome = await permissionOutcome(() => answer, params, signal);
    expect(outcome).toEqual({ outcome: { outcome: "selected", optionId } });
  });

  it("shows its call, its reason and its approval to the handler", async () => {
    await permissionOutcome(
      (request) => {
        expect(request).toMatchObject({
          sessionId: "s",
          approval: "apr_1",
          reason: "no rule allows it",
          call: { title: "Run make" },
        });
        return "deny";
      },
      params,
      signal,
    );
  });

  it("is an error, which denies nothing for others, if the answer is not offered or the handler fails", async () => {
    // The server would refuse it, which ends the connection.
    for (const answer of ["allow_always", { optionId: "none" }] as const)
      await expect(permissionOutcome(() => answer, params, signal)).rejects.toThrow("offered");
    const failing = () => Promise.reject(new Error("broken"));
    await expect(permissionOutcome(failing, params, signal)).rejects.toThrow("broken");
  });

  it.each([undefined, () => undefined])(
    "without an answer waits until it is settled elsewhere",
    async (handler) => {
      const settled = new AbortController();
      const waiting = permissionOutcome(handler, params, settled.signal);
      settled.abort();
      expect(await waiting).toEqual({ outcome: { outcome: "cancelled" } });
    },
  );
});

it("a form is answered with its content", async () => {
  const form = { sessionId: "s", message: "Which name?", requestedSchema: { type: "object" } };
  const accept = { action: "accept", content: { name: "Ada" } } as const;
  const answer = await elicitationOutcome(
    ({ message, schema }) => {
      expect([message, schema]).toEqual(["Which name?", { type: "object" }]);
      return accept;
    },
    form,
    signal,
  );
  expect(answer).toEqual(accept);
});
