import type { JsonObject } from "@reins/acp";
import { type Approval, type Principal, SupervisorError } from "@reins/supervisor";
import { describe, expect, test, vi } from "vitest";
import {
  askedFor,
  awaitAnswer,
  type ClientAnswer,
  offerApproval,
  type RequestOptions,
} from "./ask-clients.ts";

const APPROVAL = {
  ...{ id: "apr_1", tenant: "acme", user: "ann", agent: "reed", chain: [], session: "s", tool: "bash" },
  ...{ facts: { tool: "bash", effects: [], opaque: false, doubts: [], claims: {}, arguments: {} } },
  ...{ options: ["allow_once", "allow_always", "deny"], quorum: 2, answers: [], state: "pending" },
  ...{ reason: "asked", cwd: "/w", target_state: {}, enforcement: "asked", event_type: "pre_action" },
  ...{ created_at: "2026-02-04T09:00:00.000Z", expires_at: "2026-02-05T09:00:00.000Z" },
  ...{ binding: "b", entry: "cid" },
} as const satisfies Approval;

const person = (user: string, roles: readonly string[] = ["approver"]): Principal => ({
  ...{ id: `tok_${user}`, kind: "user", user, tenant: "acme", roles, scopes: ["*"], agents: [] },
  started: "interactive",
});
const chosen = (optionId: string) => ({ outcome: { outcome: "selected", optionId } });

type Answer = Parameters<Parameters<typeof offerApproval>[0]["context"]["harness"]["approvals"]["answer"]>[1];

/** A session whose clients respond one after the other, and approvals that note the answers. */
function asking(
  responses: readonly ClientAnswer[],
  answer: (given: Answer) => Promise<Approval["state"]>,
  state: Approval["state"] = "pending",
) {
  const requests: { readonly params: JsonObject; readonly options: RequestOptions | undefined }[] = [];
  const answers: Answer[] = [];
  const left = [...responses];
  const approvals = {
    answer: async (_: string, given: Answer) => {
      answers.push(given);
      return { ...APPROVAL, state: await answer(given) };
    },
    get: async () => ({ ...APPROVAL, state }),
    subscribe: () => () => undefined,
  };
  const clients = {
    notify: () => undefined,
    request: async (_: string, params: JsonObject, signal: AbortSignal, options?: RequestOptions) => {
      requests.push({ params, options: options && { ...options, without: new Set(options.without) } });
      const next = left.shift();
      if (next) return next;
      return new Promise<never>((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason)),
      );
    },
  };
  const session = { id: "s", clients, context: { harness: { approvals } } };
  const offer = offerApproval(session as unknown as Parameters<typeof offerApproval>[0], "call-1");
  return { offer, requests, answers };
}

const SIGNAL = new AbortController().signal;

describe("an approval that clients are asked for", () => {
  test.each([
    ["allow_once", "allow_once"],
    ["allow_always", "allow_always"],
    ["reject_once", "deny"],
  ])("is answered by the choice of the first that responds: %s", async (optionId, decision) => {
    const { offer, answers, requests } = asking(
      [{ value: chosen(optionId), by: person("bob") }],
      async () => "approved",
    );
    await offer(APPROVAL, SIGNAL);
    expect(answers).toMatchObject([{ by: "user:acme/bob", tenant: "acme", decision }]);
    expect(answers[0]).not.toHaveProperty("note");
    expect(requests).toHaveLength(1);
  });

  test.each([
    ["a cancelled request", { outcome: { outcome: "cancelled" } }],
    ["an option that was not offered", chosen("allow_everything")],
    ["nothing", undefined],
    ["a text", "allow_once"],
  ])("is denied by %s, with a note", async (_, value) => {
    const { offer, answers } = asking([{ value, by: person("bob") }], async () => "denied");
    await offer(APPROVAL, SIGNAL);
    expect(answers).toMatchObject([{ decision: "deny", note: "no option was chosen" }]);
  });

  test("is asked of the others while a quorum is missing, and of none who has answered", async () => {
    const states: Approval["state"][] = ["pending", "approved"];
    const { offer, requests, answers } = asking(
      [
        { value: chosen("allow_once"), by: person("bob") },
        { value: chosen("allow_once"), by: person("eve") },
      ],
      async () => states.shift() ?? "approved",
    );
    await offer(APPROVAL, SIGNAL);
    expect(answers.map(({ by }) => by)).toEqual(["user:acme/bob", "user:acme/eve"]);
    expect(requests.map(({ options }) => [...(options?.without ?? [])])).toEqual([[], ["tok_bob"]]);
  });

  test("is left to the others by a person who may not answer it", async () => {
    const { offer, requests } = asking(
      [
        { value: chosen("allow_once"), by: person("eve", []) },
        { value: chosen("allow_once"), by: person("bob") },
      ],
      async ({ by }) => {
        if (by === "user:acme/eve") throw new SupervisorError("forbidden", "not for you");
        return "approved";
      },
    );
    await offer(APPROVAL, SIGNAL);
    expect(requests).toHaveLength(2);
  });

  test("is over where it was answered by another route meanwhile", async () => {
    const { offer, requests } = asking(
      [{ value: chosen("allow_once"), by: person("bob") }],
      async () => {
        throw new SupervisorError("conflict", "answered already");
      },
      "denied",
    );
    await offer(APPROVAL, SIGNAL);
    expect(requests).toHaveLength(1);
  });

  test("is asked again, of the same person too, where the answer could not be written", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    try {
      let writes = 0;
      const bob = { value: chosen("allow_once"), by: person("bob") };
      const { offer, requests } = asking([bob, bob], async () => {
        writes += 1;
        if (writes === 1) throw new Error("disk full");
        return "approved";
      });
      const offered = offer(APPROVAL, new AbortController().signal);
      await vi.waitFor(() => expect(writes).toBe(1));
      await vi.advanceTimersByTimeAsync(1_000);
      await offered;
      expect(requests.map(({ options }) => options?.without?.size)).toEqual([0, 0]);
    } finally {
      vi.useRealTimers();
    }
  });

  test("is put to each client with the options that it may choose, and to none that may choose nothing", async () => {
    const { offer, requests } = asking(
      [{ value: chosen("allow_once"), by: person("bob") }],
      async () => "approved",
    );
    await offer({ ...APPROVAL, four_eyes: true }, SIGNAL);
    const asked = requests[0]?.options?.asked;
    const kindsFor = (who: Principal) => {
      const { options } = asked?.({ principal: who, capabilities: {} }) ?? {};
      return Array.isArray(options) ? options.map(({ kind }) => kind) : undefined;
    };
    expect(kindsFor(person("bob"))).toContain("allow_once");
    expect(kindsFor(person("ann", []))).toEqual(["reject_once"]);
    expect(kindsFor({ ...person("bob"), kind: "agent" })).toBeUndefined();
    expect(kindsFor({ ...person("bob"), tenant: "other" })).toBeUndefined();
  });
});

describe("the answer of an approval", () => {
  /** Approvals of which a test changes the state. */
  function approvalsAt(state: Approval["state"]) {
    const listeners = new Set<(change: { approval: Approval }) => void>();
    const approvals = {
      get: async () => ({ ...APPROVAL, state }),
      subscribe: (listener: (change: { approval: Approval }) => void) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    };
    const change = (approval: Approval) => {
      for (const listener of listeners) listener({ approval });
    };
    type Harness = Parameters<typeof awaitAnswer>[0];
    return { harness: { approvals } as unknown as Harness, listeners, change };
  }

  test("is that of any route; clients are no longer asked then, and nothing is left behind", async () => {
    const { harness, listeners, change } = approvalsAt("pending");
    const { signal } = new AbortController();
    const offered = Promise.withResolvers<AbortSignal>();
    const offer = async (_: Approval, asked: AbortSignal) => {
      offered.resolve(asked);
      return undefined;
    };
    const answered = awaitAnswer(harness, { id: "apr_1", tenant: "acme", signal, offer });
    const withdrawn = await offered.promise;
    expect(askedFor(signal)).toEqual({ times: 1, isOpen: true });
    change({ ...APPROVAL, id: "apr_2", state: "approved" });
    change(APPROVAL);
    expect(withdrawn.aborted).toBe(false);
    change({ ...APPROVAL, state: "denied" });
    expect(await answered).toMatchObject({ id: "apr_1", state: "denied" });
    expect([withdrawn.aborted, listeners.size]).toEqual([true, 0]);
    expect(askedFor(signal)).toEqual({ times: 1, isOpen: false });
  });

  test("is had at once where it was given before, and no client is asked", async () => {
    const { harness } = approvalsAt("approved");
    const offer = vi.fn(async () => undefined);
    const { signal } = new AbortController();
    expect(await awaitAnswer(harness, { id: "apr_1", tenant: "acme", signal, offer })).toMatchObject({
      state: "approved",
    });
    expect(offer).not.toHaveBeenCalled();
  });

  test("is waited for though clients cannot be asked, and no longer than its caller waits", async () => {
    const { harness, listeners } = approvalsAt("pending");
    const ended = new AbortController();
    const offer = () => Promise.reject(new Error("no client"));
    const answered = awaitAnswer(harness, { id: "apr_1", tenant: "acme", signal: ended.signal, offer });
    await new Promise(setImmediate);
    expect(listeners.size).toBe(1);
    ended.abort(new Error("the turn is over"));
    await expect(answered).rejects.toThrow("the turn is over");
    expect([listeners.size, askedFor(ended.signal).isOpen]).toEqual([0, false]);
  });
});
