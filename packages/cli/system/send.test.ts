import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { folder, listening, reinsCommand, runReins } from "./support/reins.ts";

const HANDLERS = fileURLToPath(new URL("../../../examples/handlers.ts", import.meta.url));
const home = join(folder, "home");

const send = (...args: string[]) => runReins(["ahp", "send", ...args], { REINS_HOME: home });
const payload = (tool_name: string) => ["--payload", JSON.stringify({ tool_name })];

describe("reins ahp send", () => {
  it("asks the Reins of this home", async () => {
    await listening(["up", "--port", "0", "--home", home]);
    expect(await send("pre_action")).toMatchObject({
      code: 10,
      stdout: expect.stringMatching(/^block: the agent is not on the roster/),
      stderr: "",
    });
    expect(await send("post_action")).toMatchObject({ code: 0, stdout: "sent\n" });
    expect(await send("post_action", "--json")).toMatchObject({ code: 0, stdout: '{"sent":true}\n' });
  });

  it("ends with a code for each decision", async () => {
    const reins = await listening([
      "ahp",
      "serve",
      "--http",
      "--port",
      "0",
      "--token",
      "t",
      "--handlers",
      HANDLERS,
    ]);
    const to = ["--to", reins.addressOf("http"), "--token", "t"];
    expect(await send("pre_action", ...to, ...payload("search"))).toMatchObject({
      code: 0,
      stdout: "allow\n",
    });
    expect((await send("pre_action", ...to, ...payload("rm"))).code).toBe(10);
    const escalated = await send("pre_action", ...to, ...payload("bash"), "--json");
    expect(escalated.code).toBe(13);
    expect(JSON.parse(escalated.stdout)).toMatchObject({
      decision: "escalate",
      escalation_target: "operator",
    });
    const refused = await send("idle", ...to);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("missing field `idle_duration_ms`");
    const stranger = await send("pre_action", "--to", reins.addressOf("http"));
    expect(stranger.code).toBe(3);
    expect(stranger.stderr).toContain("--token");
  });

  it("starts a harness over stdio", async () => {
    const command = [...reinsCommand, "ahp", "serve", "--stdio", "--handlers", HANDLERS];
    const { code, stdout } = await send("pre_action", "--to", "stdio", ...payload("rm"), "--", ...command);
    expect({ code, stdout }).toEqual({ code: 10, stdout: "block: destructive command requires approval\n" });
  });

  it("never succeeds without an answer", async () => {
    const args = ["pre_action", "--to", `unix:${join(folder, "missing.sock")}`];
    const { code, stdout, stderr } = await send(...args, "--json");
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(JSON.parse(stderr)).toMatchObject({
      error: { exit_code: 3, next: expect.stringContaining("reins up") },
    });
  });
});
