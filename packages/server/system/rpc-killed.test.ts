import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ask } from "./fixtures/ask.ts";
import { type Reached, RpcClient } from "./fixtures/rpc-client.ts";
import { ServerProcess } from "./fixtures/server-process/server-process.ts";

/** A server that can be killed, as clients reach it. */
async function started(base: string): Promise<Reached & { readonly server: ServerProcess }> {
  const server = await ServerProcess.start({ base });
  const { address, token } = server;
  onTestFinished(() => server.kill());
  return {
    server,
    address,
    access: { token },
    ask: (method, path, { as = token, headers, ...asked } = {}) =>
      ask(address, method, path, { ...asked, headers: { authorization: `Bearer ${as}`, ...headers } }),
  };
}

test("a question that was open when the server was killed is asked again, and its answer is used", async () => {
  const base = await realpath(await mkdtemp(join(tmpdir(), "killed-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const first = await started(base);
  const client = await RpcClient.open(first);
  const id = await client.begin(first.server.workspace);
  const stream = await client.stream();
  const path = join(first.server.workspace, "notes.txt");
  client.prompt(id, `write ${path}`).catch(() => undefined);
  await expect.poll(() => stream.asked.length).toBe(1);
  await first.server.kill();
  await stream.ended;

  const again = await started(base);
  const back = new RpcClient(again, client.as);
  back.connection = client.connection;
  const after = await back.stream({ "last-event-id": String(stream.ids.at(-1)) });
  await expect.poll(() => after.asked.length).toBe(1);
  const [before = {}, now = {}] = [stream.asked[0], after.asked[0]];
  expect(after.messages).toContainEqual(
    expect.objectContaining({ method: "$/cancel_request", params: { requestId: before.id } }),
  );
  expect(after.said).toEqual([expect.stringContaining("The turn was cut off")]);
  const approvalOf = ({ params }: Record<string, unknown>) => Object(params)._meta.reins.approval;
  expect(approvalOf(now)).toBe(approvalOf(before));
  expect((await back.answer(before, "allow_once")).status).toBe(409);
  expect((await back.answer(now, "allow_once")).status).toBe(202);
  await expect
    .poll(async () => (await again.ask("GET", `/v1/approvals/${approvalOf(now)}`)).body)
    .toMatchObject({ state: "approved" });

  expect(await back.prompt(id, `write ${path}`)).toMatchObject({
    body: { result: { stopReason: "end_turn" } },
  });
  await expect.poll(() => after.said.at(-1)).toBe("yes");
  expect(after.asked).toHaveLength(1);
  expect((await again.ask("GET", `/v1/approvals/${approvalOf(now)}`)).body).toMatchObject({ state: "used" });
});
