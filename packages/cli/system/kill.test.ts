import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { killLocal } from "../src/commands/kill.ts";
import { OperatedHome } from "./support/operated-home.ts";

describe("reins kill", () => {
  it("tells of a running Reins what the system says, and where the ledger has it", async () => {
    const home = new OperatedHome();
    await home.up();
    const report = JSON.parse(await home.done("kill", "--all", "--reason", "a drill", "--json"));
    expect(report).toMatchObject({ target: { kind: "all" }, gone: [], left: [], reason: "a drill" });
    expect(await home.done("ledger", "get", report.entry)).toContain("a drill");
    const missing = await home.run("kill", "claude");
    expect([missing.code, missing.stderr]).toEqual([
      1,
      expect.stringContaining("Nothing runs of the agent claude"),
    ]);
  });

  it("is kept for the ledger where no Reins runs", async () => {
    const home = await OperatedHome.begun();
    const said = await home.done("kill", "--all");
    expect(said).toContain("0 processes gone");
    expect((await home.run("kill", "claude")).code).toBe(3);
    const reins = await home.up();
    const log = await home.done("ledger", "log", "--quality", "kill", "--json");
    expect(
      log
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).entry.payload),
    ).toMatchObject([{ late: true }]);
    await home.stop(reins);
  });

  it("ends everything itself where a Reins hangs as a whole, and says so of anything less", async () => {
    const { path } = new OperatedHome();
    mkdirSync(path);
    const still = createServer().listen(join(path, "kill.sock"));
    onTestFinished(() => void still.close());
    const [asked] = await Promise.all([
      new Promise<string>((resolve) =>
        still.once("connection", (socket) =>
          socket.once("data", (order) => resolve(JSON.parse(`${order}`).id)),
        ),
      ),
      once(still, "listening").then(async () =>
        expect(await killLocal(path, { all: true }, 50)).toMatchObject({ gone: [], left: [], entry: null }),
      ),
    ]);
    // The server may yet carry out the request and record it; the local kill has another id.
    const journal = await readFile(join(path, "kills.jsonl"), "utf8");
    expect(journal).toContain('"kind":"all"');
    expect(journal).not.toContain(asked);
    await expect(killLocal(path, { agent: "claude" }, 50)).rejects.toThrow("hangs");
  });

  it("ends what runs on its machine where the other nodes cannot be asked, and says that of them nothing is known", async () => {
    const home = new OperatedHome();
    mkdirSync(home.path, { mode: 0o700 });
    const node = {
      store: "postgres://reins@127.0.0.1:1/reins",
      node: { name: "one", secret: "0".repeat(64) },
    };
    await writeFile(join(home.path, "reins.yaml"), JSON.stringify(node), { mode: 0o600 });
    const lost = {
      type: "about:blank",
      title: "Bad gateway",
      status: 502,
      code: "bad_gateway",
      detail: "the node was lost",
    };
    const server = createHttpServer((_request, response) => {
      response.writeHead(502, { "content-type": "application/problem+json" }).end(JSON.stringify(lost));
    }).listen(join(home.path, "reins.sock"));
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const killed = await home.run("kill", "--all");
    expect(killed).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("on the other nodes: NOT KNOWN, The node was lost"),
    });
    expect(killed.stdout).toContain("0 processes gone");
    // Its id may be that of a process of another node.
    expect((await home.run("kill", "--process", "41253")).stderr).toContain("The node was lost");
  });

  it("wants to know what", async () => {
    const home = new OperatedHome();
    expect(await home.run("kill")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Nothing to end is named"),
    });
    expect((await home.run("kill", "claude", "--all")).code).toBe(2);
    expect(await home.run("kill", "--all")).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("is not the home of a Reins"),
    });
  });
});
