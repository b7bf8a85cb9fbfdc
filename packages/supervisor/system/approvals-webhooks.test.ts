import type { Subject } from "@reins/policy";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Approvals } from "../src/approvals/approvals.ts";
import type { ApprovalRequest } from "../src/approvals/request.ts";
import { requestFor as anyRequestFor, subjectOf as anySubject } from "../test/approvals/requests.ts";
import { isSigned } from "../test/approvals/signed-body.ts";
import { scratchFolder, sharedHome, testHome } from "./fixtures/approvals-home.ts";
import { eventually } from "./fixtures/eventually.ts";
import { Receiver } from "./fixtures/receiver.ts";

const { freshHome, tenant } = sharedHome();
const secret = "a secret that is long enough";
const subjectOf = (own: Partial<Subject> = {}) => anySubject({ tenant: tenant(), ...own });
const requestFor = (path: string, own: Partial<ApprovalRequest> = {}) =>
  anyRequestFor(path, { subject: subjectOf(), ...own });

/** A webhook of this test alone: what another test left in the outbox, which all share, is not for it. */
const hook = (name: string, { url }: { readonly url: string }) => ({
  name: `${name} of ${tenant()}`,
  url,
  secret,
});

async function startReceiver(): Promise<Receiver> {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  return receiver;
}

function bodiesOf(receiver: Receiver) {
  return receiver.received.map(({ body }) => JSON.parse(body));
}

async function outboxOf(approvals: Approvals) {
  return approvals.deliveries({ tenant: tenant() });
}

describe("a webhook", () => {
  test("gets every change, signed", async () => {
    const receiver = await startReceiver();
    const { approvals, clock } = await freshHome({ webhooks: [{ ...hook("one", receiver), details: true }] });
    const { id } = await approvals.seek(requestFor("/w/1"));
    await approvals.answer(id, { by: "ann", roles: ["approver"], tenant: tenant(), decision: "deny" });
    // What was not delivered says why.
    await eventually(async () => expect(await outboxOf(approvals)).toEqual([]));
    expect(receiver.received).toHaveLength(2);
    const changes = await approvals.changes({ tenant: tenant(), after: 0, limit: 10 });
    const sent = bodiesOf(receiver).map(({ type, delivery: _, ...change }) => [type, change]);
    expect(sent).toEqual(changes.map((change) => ["approval", change]));
    for (const { headers, body } of receiver.received) {
      const signature = String(headers["reins-signature"]);
      expect(headers["reins-delivery"]).toBe(String(JSON.parse(body).delivery));
      expect(isSigned({ body, signature, secret, now: clock.now() })).toBe(true);
      expect(isSigned({ body: `${body} `, signature, secret, now: clock.now() })).toBe(false);
    }
  });

  test("receives that something waits, and not what, unless it is configured to", async () => {
    const receiver = await startReceiver();
    const { approvals } = await freshHome({ webhooks: [hook("one", receiver)] });
    const { id, state, agent, created_at, expires_at, entry } = await approvals.seek(
      requestFor("/w/private"),
    );
    await eventually(() => expect(receiver.received).toHaveLength(1));
    const [{ approval, entry: told }] = bodiesOf(receiver);
    expect(told).toBe(entry);
    expect(approval).toEqual({
      ...{ id, tenant: tenant(), agent, state, created_at, expires_at },
      withheld: true,
    });
  });

  test("receives no secrets: what is sent stays where it arrives", async () => {
    const receiver = await startReceiver();
    const { approvals } = await freshHome({ webhooks: [{ ...hook("one", receiver), details: true }] });
    const token = `ghp_${"a1B2".repeat(9)}`;
    const { facts } = await approvals.seek(requestFor(`/w/${token}`));
    expect(JSON.stringify(facts)).toContain(token);
    await eventually(() => expect(receiver.received).toHaveLength(1));
    const [{ approval }] = bodiesOf(receiver);
    expect(JSON.stringify(approval.facts)).toContain("[redacted]");
    expect(JSON.stringify(approval)).not.toContain(token);
  });

  test("of a tenant receives no other tenant's changes", async () => {
    const receiver = await startReceiver();
    const webhooks = [
      { ...hook("own", receiver), tenant: tenant() },
      { ...hook("other", receiver), tenant: `${tenant()}-other` },
    ];
    const { approvals } = await freshHome({ webhooks });
    await approvals.seek(requestFor("/w/1", { subject: subjectOf({ tenant: `${tenant()}-third` }) }));
    await approvals.seek(requestFor("/w/1"));
    await eventually(() => expect(receiver.received).toHaveLength(1));
    expect(bodiesOf(receiver)).toMatchObject([{ approval: { tenant: tenant() } }]);
    for (const { name: webhook } of webhooks)
      await eventually(async () => expect(await approvals.deliveries({ webhook })).toEqual([]));
  });

  test("that fails is tried again, ever later, with the same delivery and a new signature", async () => {
    const receiver = await startReceiver();
    receiver.reply = (index) => (index < 3 ? 503 : 200);
    const { approvals, clock } = await freshHome({ webhooks: [hook("one", receiver)] });
    await approvals.seek(requestFor("/w/1"));
    for (const [attempts, pause] of [
      [1, 1_000],
      [2, 2_000],
      [3, 4_000],
    ] as const) {
      await eventually(async () =>
        expect(await outboxOf(approvals)).toMatchObject([{ attempts, error: "the answer was 503" }]),
      );
      clock.advance(pause - 1);
      await approvals.expire();
      expect(receiver.received).toHaveLength(attempts);
      clock.advance(1);
    }
    await eventually(async () => expect(await outboxOf(approvals)).toEqual([]));
    const { received } = receiver;
    expect(new Set(received.map(({ headers }) => headers["reins-delivery"])).size).toBe(1);
    expect(new Set(received.map(({ headers }) => headers["reins-signature"])).size).toBe(4);
  });

  test("that never works is given up, and seen to be", async () => {
    const receiver = await startReceiver();
    receiver.reply = () => 500;
    const { approvals, clock } = await freshHome({ webhooks: [hook("one", receiver)] });
    const { id } = await approvals.seek(requestFor("/w/1", { expires_ms: 10 * 86_400_000 }));
    for (let attempts = 1; attempts <= 12; attempts += 1) {
      await eventually(async () => expect(await outboxOf(approvals)).toMatchObject([{ attempts }]));
      for (let minute = 0; minute < 60; minute += 1) clock.advance(60_000);
    }
    const dead = await approvals.deliveries({ tenant: tenant(), state: "dead" });
    expect(dead).toMatchObject([
      {
        webhook: hook("one", receiver).name,
        attempts: 12,
        error: "the answer was 500",
        change: { approval: { id } },
      },
    ]);
    expect(receiver.received).toHaveLength(12);
  });

  test("is not followed elsewhere, and not waited for beyond its time", async () => {
    const receiver = await startReceiver();
    const target = await startReceiver();
    const { approvals, clock } = await freshHome({ webhooks: [hook("one", receiver)] });
    receiver.reply = () => ({ redirect: target.url });
    await approvals.seek(requestFor("/w/1"));
    await eventually(async () =>
      expect(await outboxOf(approvals)).toMatchObject([{ error: "the answer was 307" }]),
    );
    expect(target.received).toEqual([]);
    receiver.reply = () => "never";
    clock.advance(1_000);
    await eventually(() => expect(receiver.received).toHaveLength(2));
    clock.advance(10_000);
    await eventually(async () =>
      expect(await outboxOf(approvals)).toMatchObject([{ attempts: 2, error: "no answer in 10000 ms" }]),
    );
  });

  test("that hangs holds up no other", async () => {
    const [slow, quick] = [await startReceiver(), await startReceiver()];
    slow.reply = () => "never";
    const webhooks = [hook("slow", slow), hook("quick", quick)];
    const { approvals } = await freshHome({ webhooks });
    for (let index = 0; index < 5; index += 1) await approvals.seek(requestFor(`/w/${index}`));
    await eventually(() => expect(quick.received).toHaveLength(5));
    await eventually(() => expect(slow.received).toHaveLength(1));
    await approvals.close();
    expect(await approvals.deliveries({ webhook: hook("slow", slow).name })).toMatchObject(
      Array.from({ length: 5 }, () => ({ state: "waiting", attempts: 0 })),
    );
  });

  test("that was not reached is notified after a restart, and dropped when it is gone", async () => {
    const folder = await scratchFolder();
    const receiver = await startReceiver();
    const stopped = await startReceiver();
    const down = { name: "one", url: stopped.url, secret };
    const gone = { name: "gone", url: stopped.url, secret };
    await stopped.stop();
    const first = await testHome({ folder, webhooks: [down, gone] });
    await first.approvals.seek(requestFor("/w/1"));
    await eventually(async () =>
      expect(await first.approvals.deliveries()).toMatchObject([
        { attempts: 1, error: expect.stringContaining("ECONNREFUSED") },
        { attempts: 1 },
      ]),
    );
    await first.close();
    const second = await testHome({ folder, webhooks: [{ ...down, url: receiver.url }] });
    second.clock.advance(1_000);
    await eventually(() => expect(receiver.received).toHaveLength(1));
    await eventually(async () =>
      expect(await second.approvals.deliveries()).toMatchObject([
        { webhook: "gone", state: "dead", error: "this webhook is no longer there" },
      ]),
    );
  });
});

describe("a webhook that cannot be used", () => {
  test.each([
    [[{ name: "x", url: "ftp://example.org/", secret }], "http or https"],
    [[{ name: "x", url: "file:///etc/passwd", secret }], "http or https"],
    [[{ name: "x", url: "no address", secret }], "http or https"],
    [[{ name: "x", url: "https://me:pass@example.org/", secret }], "holds a password"],
    [[{ name: "x", url: "https://example.org/", secret: "short" }], "fewer than 16"],
    [[1, 2].map(() => ({ name: "x", url: "https://example.org/", secret })), "two of that name"],
  ])("is refused: %j", async (webhooks, text) => {
    await expect(freshHome({ webhooks })).rejects.toThrow(text);
  });
});
