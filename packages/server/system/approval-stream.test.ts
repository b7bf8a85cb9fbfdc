import { connect } from "node:net";
import { ApprovalChange } from "@reins/api";
import { ManualClock } from "@reins/kit/manual-clock";
import { describe, expect, onTestFinished, test } from "vitest";
import { Events } from "./fixtures/events.ts";
import { harnessForAll, Served } from "./fixtures/home.ts";

const harness = harnessForAll();
const sessionOf = (event: { readonly data?: unknown } | undefined) => {
  const { approval } = ApprovalChange.parse(event?.data);
  return "withheld" in approval ? undefined : approval.session;
};

describe("the stream of approvals", () => {
  test("sends every change in order, with its number as event id", async () => {
    const served = await Served.open(harness());
    const events = await Events.open(served);
    expect(events.response).toMatchObject({
      statusCode: 200,
      headers: { "content-type": "text/event-stream" },
    });
    expect(await events.next()).toEqual({ id: expect.stringMatching(/^\d+$/) });
    const id = await served.question("live");
    await served.ask("POST", `/v1/approvals/${id}/answer`, { body: { decision: "deny" } });
    const [asked, answered] = await events.take(2);
    expect(asked).toMatchObject({ event: "approval", data: { approval: { id, state: "pending" } } });
    expect(answered).toMatchObject({ event: "approval", data: { approval: { id, state: "denied" } } });
    expect(asked?.id).toBe(String(ApprovalChange.parse(asked?.data).seq));
    expect(Number(answered?.id)).toBeGreaterThan(Number(asked?.id));
  });

  test("resumes after the last event without gap or repeat", async () => {
    const served = await Served.open(harness());
    const first = await Events.open(served);
    const start = await first.next();
    for (let n = 0; n < 3; n += 1) await served.question(`replay-${n}`);
    const seen = await first.take(1);
    first.response.destroy();
    for (let n = 3; n < 6; n += 1) await served.question(`replay-${n}`);
    const second = await Events.open(served, { "last-event-id": seen[0]?.id ?? "" });
    expect(await second.next()).toEqual({ id: seen[0]?.id });
    await served.question("replay-6");
    const rest = await second.take(6);
    expect([...seen, ...rest].map(sessionOf)).toEqual(Array.from({ length: 7 }, (_, n) => `replay-${n}`));
    const all = await Events.open(served, { "last-event-id": start?.id ?? "" });
    await all.next();
    expect((await all.take(7)).map(({ id }) => id)).toEqual([...seen, ...rest].map(({ id }) => id));
  });

  test("replays changes from the store that are no longer cached", async () => {
    const served = await Served.open(harness());
    const start = await (await Events.open(served)).next();
    const count = 300;
    const sessions = Array.from({ length: count }, (_, n) => `many-${n}`);
    await Promise.all(sessions.map((session) => served.question(session)));
    const events = await Events.open(served, { "last-event-id": start?.id ?? "" });
    await events.next();
    const replayed = await events.take(count);
    expect(replayed.map(sessionOf).toSorted()).toEqual(sessions.toSorted());
    const numbers = replayed.map(({ id }) => Number(id));
    expect(numbers).toEqual(numbers.toSorted((left, right) => left - right));
    await served.question("many-more");
    expect(sessionOf(await events.next())).toBe("many-more");
  });

  test.each([["x"], ["-1"], ["1.5"], ["1e3"], ["9999999999999999"]])(
    "refuses %j as the last event seen",
    async (id) => {
      const served = await Served.open(harness());
      const answer = await served.ask("GET", "/v1/approvals/stream", { headers: { "last-event-id": id } });
      expect(answer).toMatchObject({ status: 400, body: { code: "invalid" } });
    },
  );

  test("treats an unknown event id as the newest", async () => {
    const served = await Served.open(harness());
    const events = await Events.open(served, { "last-event-id": "999999999" });
    expect(Number((await events.next())?.id)).toBeLessThan(999_999);
    await served.question("after-all");
    expect(sessionOf(await events.next())).toBe("after-all");
  });

  test("sends only the changes of the reader's tenant", async () => {
    const served = await Served.open(harness());
    const own = await served.person({ tenant: "acme", roles: ["approver"] });
    const events = await Events.open(served, {}, own.secret);
    await events.next();
    await served.question("theirs", "default");
    await served.harness.policies.refresh();
    await served.question("ours", "acme");
    expect(sessionOf(await events.next())).toBe("ours");
    const again = await Events.open(served, { "last-event-id": "0" }, own.secret);
    await again.next();
    expect(sessionOf(await again.next())).toBe("ours");
  });

  test("sends keep-alives while nothing happens", async () => {
    const served = await Served.open(harness(), { limits: { keepAliveMs: 20 } });
    const events = await Events.open(served);
    await events.next();
    expect(await events.next()).toEqual({ "": "alive" });
    expect(await events.next()).toEqual({ "": "alive" });
  });

  test("ends when the token is revoked, before another event", async () => {
    const served = await Served.open(harness());
    const ann = await served.person();
    const events = await Events.open(served, {}, ann.secret);
    await events.next();
    await served.harness.identity.revokeToken(ann.id);
    await served.question("secret");
    expect(await events.next()).toBeUndefined();
    const quiet = await Served.open(harness(), { limits: { keepAliveMs: 20 } });
    const bob = await quiet.person();
    const idle = await Events.open(quiet, {}, bob.secret);
    await idle.next();
    await quiet.harness.identity.revokeToken(bob.id);
    while ((await idle.next()) !== undefined);
  });

  test("ends when the gateway closes, and can be resumed at another one", async () => {
    const served = await Served.open(harness());
    const events = await Events.open(served);
    const { id } = (await events.next()) ?? {};
    await served.gateway.close();
    expect(await events.next()).toBeUndefined();
    await served.question("meanwhile");
    const next = await Served.open(harness());
    const going = await Events.open(next, { "last-event-id": id ?? "" });
    await going.next();
    expect(sessionOf(await going.next())).toBe("meanwhile");
  });

  test("is rejected with 503 beyond the limit of streams", async () => {
    const served = await Served.open(harness(), { limits: { maxStreams: 1 } });
    await Events.open(served);
    expect(await served.ask("GET", "/v1/approvals/stream")).toMatchObject({
      status: 503,
      headers: { "retry-after": "10" },
    });
  });
});

describe("a reader that stops reading", () => {
  /** One that asks for a stream and then reads nothing of it. */
  function deafReader(served: Served) {
    const socket = connect(Number(new URL(served.address).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
    socket.on("error", () => undefined);
    const head = [
      "GET /v1/approvals/stream HTTP/1.1",
      "host: localhost",
      `authorization: Bearer ${served.access.token}`,
    ];
    socket.write(`${head.join("\r\n")}\r\n\r\n`);
    return { socket, closed };
  }

  test("is dropped after a bounded buffer, while others continue; one that resumes in time gets everything", async () => {
    const clock = new ManualClock();
    const limits = { maxBufferedBytes: 16_384, stallMs: 30_000, keepAliveMs: 15_000 };
    const served = await Served.open(harness(), { limits, clock });
    const deaf = deafReader(served);
    const reader = await Events.open(served);
    await reader.next();
    const slow = await Events.open(served);
    await slow.next();
    // More than the kernel's own buffers hold.
    const large = "x".repeat(500_000);
    const count = 40;
    const read = reader.take(count);
    for (let n = 0; n < count; n += 1) await served.question(`large-${n}`, "default", "deploy", { large });
    const sessions = Array.from({ length: count }, (_, n) => `large-${n}`);
    expect((await read).map(sessionOf)).toEqual(sessions);
    expect((await slow.take(count)).map(sessionOf)).toEqual(sessions);
    for (let beat = 0; beat < 3; beat += 1) {
      clock.advance(limits.keepAliveMs);
      await served.ask("GET", "/v1/health");
    }
    let bytes = 0;
    deaf.socket.on("data", (piece) => {
      bytes += piece.length;
    });
    await deaf.closed;
    expect(bytes).toBeLessThan(count * large.length);
    await served.question("afterwards");
    const [, , , afterwards] = await reader.take(4);
    expect(sessionOf(afterwards)).toBe("afterwards");
  });
});
