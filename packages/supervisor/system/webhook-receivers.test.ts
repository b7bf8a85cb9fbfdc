import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Approvals } from "../src/approvals/approvals.ts";
import { requestFor as anyRequestFor, subjectOf } from "../test/approvals/requests.ts";
import { sharedHome } from "./fixtures/approvals-home.ts";
import { eventually } from "./fixtures/eventually.ts";
import { Receiver, type Reply } from "./fixtures/receiver.ts";

const { freshHome, tenant } = sharedHome();
const secret = "a secret that is long enough";
const requestFor = (path: string, of = tenant()) =>
  anyRequestFor(path, { subject: subjectOf({ tenant: of }), expires_ms: 30 * 86_400_000 });
/** Only of this test's tenant: others share the outbox. */
const hook = (url: string) => ({ name: `hook of ${tenant()}`, url, secret, tenant: tenant() });
const outboxOf = (approvals: Approvals) => approvals.deliveries({ webhook: hook("").name });
const isSettled = async (approvals: Approvals) =>
  eventually(async () => expect(await outboxOf(approvals)).toEqual([]));

async function startReceiver(reply: (index: number) => Reply): Promise<Receiver> {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  receiver.reply = reply;
  return receiver;
}

/** A server that writes what it is given in response to each POST, and counts them. */
async function startRawServer(response: string) {
  const posts: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.on("data", (data) => {
      const text = data.toString();
      if (!text.startsWith("POST")) return;
      posts.push(text);
      socket.write(response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  if (typeof address !== "object") throw new Error("it listens on a port");
  return { posts, url: `http://127.0.0.1:${address?.port}/` };
}

const statesAt = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(body).approval.state);

describe("a receiver's response", () => {
  test.each([
    "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
    "Content-Length: 500000\r\n\r\nhello",
    "Transfer-Encoding: chunked\r\n\r\nZZZZ\r\n",
    "Content-Type: text/html; charset=nonsense\r\nContent-Length: 1\r\n\r\n{",
    `Content-Length: 99999999999\r\n\r\n${"x".repeat(200_000)}`,
  ])("counts by its status alone: %j", async (rest) => {
    const { posts, url } = await startRawServer(`HTTP/1.1 200 OK\r\n${rest}`);
    const { approvals } = await freshHome({ webhooks: [hook(url)] });
    await approvals.seek(requestFor("/w/1"));
    await isSettled(approvals);
    expect(posts).toHaveLength(1);
  });

  test.each([301, 302, 303, 307, 308])("that redirects with %s is followed nowhere", async (status) => {
    const target = await startReceiver(() => 204);
    for (const location of [target.url, "http://169.254.169.254/latest", "/hook", "http://[bad"]) {
      const { url } = await startRawServer(
        `HTTP/1.1 ${status} X\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`,
      );
      const { approvals } = await freshHome({ webhooks: [hook(url)] });
      await approvals.seek(requestFor(`/w/${location}`));
      await eventually(async () =>
        expect((await outboxOf(approvals)).map(({ error }) => error)).toContain(`the answer was ${status}`),
      );
      await approvals.close();
    }
    expect(target.received).toEqual([]);
  });
});

describe("a receiver that is down", () => {
  test.each<Reply>([503, 404, { redirect: "/elsewhere" }])(
    "gets one attempt per pause, however many messages wait: %j",
    async (reply) => {
      let up = false;
      const receiver = await startReceiver(() => (up ? 204 : reply));
      const { approvals, clock } = await freshHome({ webhooks: [hook(receiver.url)] });
      const paths = Array.from({ length: 20 }, (_, index) => `/w/${index}`);
      await Promise.all(paths.map((path) => approvals.seek(requestFor(path))));
      for (const [attempts, pause] of [
        [1, 1_000],
        [2, 2_000],
        [3, 4_000],
        [4, 8_000],
      ] as const) {
        await eventually(() => expect(receiver.received).toHaveLength(attempts));
        await eventually(async () =>
          expect((await outboxOf(approvals)).filter(({ error }) => error !== undefined)).not.toEqual([]),
        );
        // A new message does not end the pause.
        await approvals.seek(requestFor(`/w/new-${attempts}`));
        clock.advance(pause - 1);
        await approvals.expire();
        expect(receiver.received).toHaveLength(attempts);
        up = attempts === 4;
        clock.advance(1);
      }
      for (let second = 0; second < 60; second += 1) await clock.advanceAndSettle(1_000);
      await isSettled(approvals);
    },
  );

  test("is left alone as long as Retry-After says", async () => {
    const { posts, url } = await startRawServer(
      "HTTP/1.1 429 X\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n",
    );
    const quick = await startReceiver(() => 204);
    const webhooks = [hook(url), { ...hook(quick.url), name: `quick of ${tenant()}` }];
    const { approvals, clock } = await freshHome({ webhooks });
    await approvals.seek(requestFor("/w/1"));
    await eventually(async () => expect(await outboxOf(approvals)).toMatchObject([{ attempts: 1 }]));
    clock.advance(4_999);
    for (const path of ["/w/2", "/w/3"]) await approvals.seek(requestFor(path));
    await eventually(() => expect(quick.received).toHaveLength(3));
    expect(posts).toHaveLength(1);
    clock.advance(1);
    await eventually(() => expect(posts).toHaveLength(2));
  });

  test("has a bounded outbox, of which the newest stay", async () => {
    const receiver = await startReceiver(() => 503);
    const errors: unknown[] = [];
    const { approvals, clock } = await freshHome({
      webhooks: [hook(receiver.url)],
      maxDeliveries: 3,
      onError: (error) => errors.push(error),
    });
    await approvals.seek(requestFor("/w/0"));
    await eventually(async () => expect(await outboxOf(approvals)).toMatchObject([{ attempts: 1 }]));
    for (let index = 1; index <= 5; index += 1) await approvals.seek(requestFor(`/w/${index}`));
    clock.advance(1_000);
    await eventually(async () =>
      expect((await outboxOf(approvals)).map(({ state }) => state)).toEqual([
        ...["dead", "dead", "dead"],
        ...["waiting", "waiting", "waiting"],
      ]),
    );
    await eventually(() => expect(errors.map(String)).toEqual([expect.stringContaining("3 deliveries to")]));
  });

  test("is reported when a delivery is given up", async () => {
    const receiver = await startReceiver(() => 500);
    const errors: unknown[] = [];
    const { approvals, clock } = await freshHome({
      webhooks: [hook(receiver.url)],
      onError: (error) => errors.push(error),
    });
    const { id } = await approvals.seek(requestFor("/w/1"));
    for (let attempts = 1; attempts <= 12; attempts += 1) {
      await eventually(async () => expect(await outboxOf(approvals)).toMatchObject([{ attempts }]));
      for (let minute = 0; minute < 60; minute += 1) clock.advance(60_000);
    }
    await eventually(() => expect(errors.map(String)).toEqual([expect.stringContaining(id)]));
  });
});

describe("the steps of an approval", () => {
  test("arrive in their order when the first has to be retried", async () => {
    const receiver = await startReceiver((index) => (index < 2 ? 503 : 204));
    const { approvals, clock } = await freshHome({ webhooks: [hook(receiver.url)] });
    const { id } = await approvals.seek(requestFor("/w/1"));
    await eventually(async () => expect(await outboxOf(approvals)).toMatchObject([{ attempts: 1 }]));
    await approvals.answer(id, { by: "ann", roles: ["approver"], tenant: tenant(), decision: "deny" });
    clock.advance(1_000);
    await eventually(async () =>
      expect(await outboxOf(approvals)).toMatchObject([{ attempts: 2 }, { attempts: 0 }]),
    );
    clock.advance(2_000);
    await isSettled(approvals);
    expect(statesAt(receiver)).toEqual(["pending", "pending", "pending", "denied"]);
  });

  test("wait no longer than a pause after the clock was set back", async () => {
    const receiver = await startReceiver((index) => (index === 0 ? 503 : 204));
    const ahead = await freshHome({ webhooks: [hook(receiver.url)] });
    ahead.clock.set(new Date("2040-01-01"));
    const { id } = await ahead.approvals.seek(requestFor("/w/1"));
    await eventually(async () => expect(await outboxOf(ahead.approvals)).toMatchObject([{ attempts: 1 }]));
    await ahead.approvals.answer(id, { by: "a", roles: ["approver"], tenant: tenant(), decision: "deny" });
    await ahead.approvals.close();
    const { approvals } = await freshHome({ webhooks: [hook(receiver.url)] });
    await isSettled(approvals);
    expect(statesAt(receiver)).toEqual(["pending", "pending", "denied"]);
  });

  test("go to no other tenant's webhook that got the name of the first", async () => {
    const down = await startReceiver(() => 503);
    const other = await startReceiver(() => 204);
    const first = await freshHome({ webhooks: [hook(down.url)] });
    await first.approvals.seek(requestFor("/w/1"));
    await eventually(async () => expect(await outboxOf(first.approvals)).toMatchObject([{ attempts: 1 }]));
    await first.approvals.close();
    const reused = { ...hook(other.url), tenant: `${tenant()}-other` };
    const { approvals, clock } = await freshHome({ webhooks: [reused] });
    await approvals.seek(requestFor("/w/2", reused.tenant));
    clock.advance(60_000);
    await eventually(async () => expect(await outboxOf(approvals)).toMatchObject([{ state: "dead" }]));
    expect(other.received.map(({ body }) => JSON.parse(body).approval.tenant)).toEqual([reused.tenant]);
  });

  test("say numbers and members as the action has them", async () => {
    const receiver = await startReceiver(() => 204);
    const { approvals } = await freshHome({ webhooks: [{ ...hook(receiver.url), details: true }] });
    const given = { id: JSON.rawJSON("9007199254740993"), odd: { $number: "1" }, line: "a\r\nX-Injected: 1" };
    const request = requestFor("/w/1");
    await approvals.seek({ ...request, facts: { ...request.facts, arguments: given } });
    await isSettled(approvals);
    const [message] = receiver.received;
    expect(message?.body).toContain(`"arguments":${JSON.stringify(given)}`);
    expect(message?.headers).not.toHaveProperty("x-injected");
  });
});
