import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { redact } from "@reins/supervisor";
import { expect, test } from "vitest";
import { NativeAgent } from "../../../agent/src/index.ts";
import { channelPair } from "../../src/acp/channel.ts";
import { AgentEntry } from "../../src/agents/agent-entry.ts";
import { Governor } from "../../src/governor/governor.ts";
import { openTestHome, textIn } from "../fixtures/home.ts";

test("governed", async () => {
  const home = await openTestHome();
  const { harness, workspace } = home;
  const entry = AgentEntry.parse({
    id: "native",
    name: "Native",
    support: { level: "supported" },
    start: { with: "file", file: "/bin/true" },
    profile: { mode: "default" },
    modes: ["default", "plan"],
    tools: "native",
    enforcement: { level: "asked" },
  });
  await writeFile(join(workspace, "README.md"), "# Tea\n\nThis project brews tea for everybody.\n");
  await writeFile(join(workspace, ".env"), "KEY=1\n");
  await writeFile(join(workspace, "package.json"), '{"name":"tea","scripts":{"test":"echo ok"}}');
  const [ours, theirs] = channelPair();
  new NativeAgent(ours, { onFault: (f) => console.log("FAULT", f) });
  const shown: any[] = [];
  const offered: any[] = [];
  let person = "allow_once";
  const governor = new Governor({
    harness,
    entry,
    launch: { mode: "default", configOptions: {}, meta: {}, strip: [] },
    channel: theirs,
    principal: harness.identity.local(),
    enforcement: "asked",
    from: "acp",
    clients: () => ({
      notify: async (_: string, p: any) => void shown.push(p.update),
      request: async (_m: string, p: any) => {
        offered.push(p.toolCall);
        const o = p.options.find((x: any) => x.kind === person);
        return { outcome: { outcome: "selected", optionId: o.optionId } };
      },
    }),
    redact,
    onFault: (f) => console.log("GFAULT", f),
  } as any);
  const call = (m: string, p: any) =>
    governor.request(m, p, { signal: new AbortController().signal }) as Promise<any>;
  console.log(JSON.stringify(await call("initialize", { protocolVersion: 1 })));
  const { sessionId } = await call("session/new", { cwd: workspace, mcpServers: [] });
  const prompt = async (text: string) => {
    shown.length = 0;
    offered.length = 0;
    const t = performance.now();
    const end = await call("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    console.log(
      "\n###",
      text,
      JSON.stringify(end),
      "offered:",
      offered.map((o) => o.name + " " + JSON.stringify(o.rawInput)),
      Math.round(performance.now() - t),
      "ms",
    );
    console.log(
      shown
        .filter((u) => u.sessionUpdate === "agent_message_chunk")
        .map((u) => u.content.text)
        .join(""),
    );
    console.log(
      shown
        .filter((u) => /tool/.test(u.sessionUpdate))
        .map((u) => `${u.sessionUpdate} ${u.status} ${u.name ?? ""}`)
        .join(" | "),
    );
  };
  await prompt("what is in this folder");
  await prompt("read README.md and summarise it");
  await prompt("read .env");
  await prompt("read ../secret.txt");
  await prompt("write a file notes.txt that says hello");
  await prompt("run the tests");
  person = "reject_once";
  await prompt("delete everything");
  person = "allow_once";
  await call("session/set_mode", { sessionId, modeId: "plan" });
  await prompt("delete everything");
  expect(await textIn(join(workspace, "notes.txt"))).toBe("hello\n");
  const verdicts = (await home.entries("policy_verdict")).map(
    ({ payload }: any) => `${payload.event_type} ${payload.verdict} ${payload.rule ?? ""}`,
  );
  console.log(verdicts.join("\n"));
  console.log(
    (await home.entries("tool_result"))
      .map((e: any) => JSON.stringify(e.tags) + JSON.stringify(e.payload))
      .join("\n"),
  );
  await governor.close("x");
});
