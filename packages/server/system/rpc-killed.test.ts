import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JsonObject, membersOf } from "@reins/acp";
import { call, hold, reply, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import { expect, onTestFinished, test } from "vitest";
import { ask } from "./fixtures/ask.ts";
import { type Messages, type Reached, RpcClient } from "./fixtures/rpc-client.ts";
import { type ServerOrder, ServerProcess } from "./fixtures/server-process/server-process.ts";

/** A server that can be killed, as clients reach it. */
async function started(
  base: string,
  order: Partial<ServerOrder> = {},
): Promise<Reached & { readonly server: ServerProcess }> {
  const server = await ServerProcess.start({ base, ...order });
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

const RULES = "tool_rules:\n  - { name: all, condition: {}, verdict: allowed }\n";
const git = (cwd: string, ...words: readonly string[]) =>
  execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...words], {
    cwd,
    encoding: "utf8",
  });

const workersIn = ({ messages }: Messages): JsonObject[] =>
  messages
    .map(({ params }) => membersOf(membersOf(params).update))
    .filter(({ sessionUpdate }) => sessionUpdate === "worker_update");

test("workers that ran when the server was killed end as interrupted, once; their worktrees are kept or removed", async () => {
  const base = await realpath(await mkdtemp(join(tmpdir(), "killed-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const workspace = join(base, "workspace");
  await mkdir(workspace);
  git(workspace, "init", "--quiet", "--initial-branch=main");
  await writeFile(join(workspace, "a.txt"), "one\n");
  git(workspace, "add", ".");
  git(workspace, "commit", "--quiet", "--message=first");
  const never = hold(new Promise<never>(() => undefined));
  const spawn = (word: string, prompt: string, worktree: object) =>
    scene(word, reply(call("spawn_subagent", { prompt, worktree })));
  const model = await ScriptedModel.listen({
    script: scenes(
      spawn("leave it clean", "LOOK", {}),
      spawn("change something", "CHANGE", {}),
      spawn("keep it", "LOOK", { cleanup: "keep" }),
      scene("LOOK", reply(say("Zzz"), never)),
      scene(
        "CHANGE",
        reply(call("write_file", { path: "note.txt", content: "new" })),
        reply(say("Zzz"), never),
      ),
    ),
  });
  onTestFinished(() => model.close());
  const order = { rules: RULES, model: model.endpoint };
  const first = await started(base, order);
  const client = await RpcClient.open(first, { agent: "native" });
  const stream = await client.stream();
  for (const word of ["leave it clean", "change something", "keep it"]) {
    const id = await client.begin(workspace, "native");
    client
      .request("session/prompt", { sessionId: id, prompt: [{ type: "text", text: word }] })
      .catch(() => undefined);
  }
  const lists = () => git(workspace, "worktree", "list", "--porcelain").match(/(?<=^worktree ).*$/gm) ?? [];
  const written = () => lists().find((path) => existsSync(join(path, "note.txt")));
  await expect.poll(() => lists().length).toBe(4);
  await expect.poll(written).toBeDefined();
  await expect
    .poll(
      () =>
        new Set(
          workersIn(stream).flatMap(({ workerId, status }) => (status === "progressed" ? workerId : [])),
        ).size,
    )
    .toBe(3);
  await first.server.kill();
  await stream.ended;

  const again = await started(base, order);
  const back = new RpcClient(again, client.as);
  back.connection = client.connection;
  const after = await back.stream({ "last-event-id": String(stream.ids.at(-1)) });
  await expect.poll(() => workersIn(after).filter(({ terminal }) => terminal).length).toBe(3);
  const ended = workersIn(after).filter(({ terminal }) => terminal);
  for (const { workerId, content, metadata, audit, ...flat } of ended) {
    expect(flat).toMatchObject({ event: "WorkerFailed", status: "failed", workerMode: "sub_agent" });
    expect(metadata).toMatchObject({ reason: "interrupted", error: "interrupted" });
    expect(content).toMatchObject({
      ...{ worker_id: workerId, status: "failed", audit, metadata },
      started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      finished_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      snapshot_path: expect.stringMatching(/^\/v1\/sessions\//),
      lifecycle: { event: "WorkerFailed", worker_id: workerId },
    });
  }
  // Each step came once, in order, on either side of the kill.
  const sequences = Map.groupBy([...workersIn(stream), ...workersIn(after)], ({ workerId }) => workerId);
  for (const steps of sequences.values())
    expect(steps.map(({ metadata }) => membersOf(metadata).sequence)).toEqual(
      steps.map((_, index) => index + 1),
    );
  // The one without changes goes with the start, the others stay.
  await expect.poll(() => lists().length).toBe(3);
  expect(written()).toBeDefined();
  expect(git(workspace, "branch", "--format=%(refname:short)").trim().split("\n")).toHaveLength(3);
});
