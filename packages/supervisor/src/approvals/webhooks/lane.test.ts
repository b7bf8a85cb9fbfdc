import { ManualClock, settled } from "@reins/kit/manual-clock";
import { describe, expect, test } from "vitest";
import { approvalFor, requestOf } from "../../../test/approvals/requests.ts";
import { isSigned } from "../../../test/approvals/signed-body.ts";
import { Deliveries, Lane, type Webhook } from "./lane.ts";

const webhook: Webhook = { name: "hook", url: "https://hook.example", secret: "a secret of enough length" };

interface Waiting {
  id: number;
  attempts: number;
  due_at: string;
  error?: string;
  dead?: boolean;
}

/** A lane over an outbox in memory, whose receiver answers as `answer` says. */
function laneOf(
  answer: (attempt: number) => number | Error,
  more: { details?: boolean; retryAfter?: string } = {},
) {
  const clock = new ManualClock();
  const outbox: Waiting[] = [];
  const posted: { body: string; headers: Readonly<Record<string, string>> }[] = [];
  const errors: string[] = [];
  const trims: unknown[] = [];
  const approval = approvalFor(requestOf(), clock.now());
  const store = {
    query: async () => {
      const [next] = outbox.filter(({ dead }) => !dead).sort((a, b) => (a.due_at < b.due_at ? -1 : 1));
      return next && { ...next, webhook: "hook", change: { seq: 1, at: next.due_at, entry: "e", approval } };
    },
    commit: async ([{ name, args }]: [{ name: string; args: Waiting }]) => {
      const index = outbox.findIndex(({ id }) => id === args.id);
      if (name === "delivered") outbox.splice(index, 1);
      if (name === "failed") {
        const { attempts, error, due_at } = args;
        Object.assign(outbox[index] ?? {}, due_at ? { attempts, error, due_at } : { error, dead: true });
      }
      if (name === "trimDeliveries") trims.push(args);
      return [0];
    },
  };
  const lane = new Lane({
    store: store as never,
    clock,
    webhook: { ...webhook, details: more.details },
    maxWaiting: 10,
    onError: (error) => errors.push(String(error)),
    post: async (_, { body, headers }) => {
      posted.push({ body, headers });
      const given = answer(posted.length);
      if (given instanceof Error) throw given;
      return { status: given, retryAfter: more.retryAfter };
    },
  });
  const add = (many = 1) => {
    for (let count = 0; count < many; count += 1)
      outbox.push({ id: outbox.length + 1, attempts: 0, due_at: clock.now().toISOString() });
    lane.wake();
  };
  return { lane, clock, outbox, posted, errors, add };
}

async function quiet(): Promise<void> {
  for (let turns = 0; turns < 40; turns += 1) await settled();
}

describe("a lane", () => {
  test("sends one message at a time, signed, until none waits", async () => {
    const { outbox, posted, add, clock } = laneOf(() => 204);
    add(3);
    await quiet();
    expect(outbox).toEqual([]);
    expect(posted.map(({ headers }) => headers["Reins-Delivery"])).toEqual(["1", "2", "3"]);
    const [{ body, headers } = { body: "", headers: {} }] = posted;
    const signature = Object(headers)["Reins-Signature"];
    expect(isSigned({ body, signature, secret: webhook.secret, now: clock.now() })).toBe(true);
  });

  test.each([
    ["only that something waits", false, { withheld: true }],
    ["what is asked where it is configured to", true, { tool: "edit" }],
  ])("sends %s", async (_, details, shown) => {
    const { posted, add } = laneOf(() => 200, { details });
    add();
    await quiet();
    expect(JSON.parse(posted[0]?.body ?? "")).toMatchObject({
      type: "approval",
      delivery: 1,
      approval: shown,
    });
  });

  test.each([
    ["an error status", 500, /the answer was 500/],
    ["a redirect", 302, /the answer was 302/],
    [
      "no answer",
      new Error("fetch failed", { cause: new Error("connection refused") }),
      /connection refused/,
    ],
  ])("tries again after a pause when there is %s", async (_, answer, error) => {
    const { clock, outbox, posted, add } = laneOf((attempt) => (attempt === 1 ? answer : 200));
    add();
    await quiet();
    expect(outbox).toMatchObject([{ attempts: 1, error: expect.stringMatching(error) }]);
    await clock.advanceAndSettle(400);
    await quiet();
    expect(posted).toHaveLength(1);
    await clock.advanceAndSettle(10_000);
    await quiet();
    expect(posted).toHaveLength(2);
    expect(outbox).toEqual([]);
  });

  test("gives a receiver that is down one attempt per pause, however many messages wait", async () => {
    const { posted, add } = laneOf(() => 503);
    add(9);
    await quiet();
    expect(posted).toHaveLength(1);
  });

  test("leaves a receiver alone for as long as it asks", async () => {
    const { clock, posted, add } = laneOf(() => 429, { retryAfter: "120" });
    add();
    await quiet();
    await clock.advanceAndSettle(110_000);
    await quiet();
    expect(posted).toHaveLength(1);
    await clock.advanceAndSettle(20_000);
    await quiet();
    expect(posted).toHaveLength(2);
  });

  test("gives a message up after many attempts, and reports it", async () => {
    const { clock, outbox, errors, posted, add } = laneOf(() => 500);
    add();
    for (let hours = 0; hours < 400 && !outbox[0]?.dead; hours += 1) {
      await quiet();
      await clock.advanceAndSettle(60_000);
    }
    expect(posted).toHaveLength(12);
    expect(errors).toEqual([expect.stringMatching(/was given up after 12 attempts: the answer was 500/)]);
  });

  test("sends nothing after it was closed, and keeps what waits", async () => {
    const { lane, outbox, posted, add } = laneOf(() => 200);
    await lane.close();
    add();
    await quiet();
    expect(posted).toEqual([]);
    expect(outbox).toHaveLength(1);
  });
});

describe("deliveries", () => {
  test.each([
    ["two webhooks of one name", [webhook, webhook], /two of that name/],
    ["an address without a scheme", [{ ...webhook, url: "hook.example" }], /http or https/],
    ["a password in the address", [{ ...webhook, url: "https://a:b@hook.example" }], /password/],
    ["a short secret", [{ ...webhook, secret: "short" }], /fewer than 16 characters/],
  ])("are not made with %s", (_, webhooks, fault) => {
    const options = { store: {} as never, clock: new ManualClock(), onError: () => undefined };
    const make = () => new Deliveries({ ...options, webhooks, post: undefined, maxWaiting: undefined });
    expect(make).toThrow(fault);
  });
});
