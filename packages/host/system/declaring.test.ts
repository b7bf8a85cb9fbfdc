import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@reins/acp";
import { describe, expect, test } from "vitest";
import { ConstitutionalPreparation } from "../src/turn/turn-context.ts";
import { bash, govern } from "./fixtures/governed.ts";
import { openTestHome } from "./fixtures/home.ts";
import type { Play, Stage } from "./fixtures/scripted-agent.ts";
import { ScriptedProtocol } from "./fixtures/scripted-protocol.ts";

const DECLARATION = JSON.stringify({
  type: "agent.protocol",
  version: "1",
  intent: "execute",
  payload: {
    type: "action_graph",
    actions: [
      { type: "action", id: "a", executor: { type: "tool", target: "read_file" }, input: { path: "a" } },
    ],
  },
});
const BLOCK = `\`\`\`json agent-protocol\n${DECLARATION}\n\`\`\``;

const chunk = (text: string): JsonObject => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text },
});

/** Says one text for each prompt, in two pieces. */
function saying(...texts: readonly string[]): Play & { readonly stages: Stage[] } {
  const stages: Stage[] = [];
  const play = async (stage: Stage) => {
    const text = texts[Math.min(stages.length, texts.length - 1)] ?? "";
    stages.push(stage);
    await stage.update(chunk(text.slice(0, 7)));
    await stage.update(chunk(text.slice(7)));
    return { stopReason: "end_turn", usage: { totalTokens: 100, inputTokens: 60, outputTokens: 40 } };
  };
  return Object.assign(play, { stages });
}

const said = (shown: readonly JsonObject[]) =>
  shown
    .map(({ update }) => update as { sessionUpdate: string; content?: { text?: string } })
    .filter(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk")
    .map(({ content }) => content?.text)
    .join("");

const promptText = ({ prompt }: Stage) => prompt.map(({ text }) => text).join("\n");

describe("an agent that is configured for the protocol", () => {
  test("is prompted with what came of its declaration within one turn of the client", async () => {
    const protocol = new ScriptedProtocol();
    const governed = await govern({ protocol });
    const session = await governed.begin();
    const play = saying(BLOCK, "All done.");
    const answer = await governed.prompt(session, play, "read a");
    expect(answer).toMatchObject({
      stopReason: "end_turn",
      usage: { totalTokens: 200, inputTokens: 120, outputTokens: 80 },
    });
    expect(protocol.turns[0]).toBe("## User request\n\nread a");
    expect(protocol.declared).toEqual([
      { text: BLOCK, calls: [], isComplete: true },
      { text: "All done.", calls: [], isComplete: true },
    ]);
    const [first, second] = play.stages.map(promptText);
    expect(first).toBe("read a");
    expect(second).toContain("### Result for a");
    expect(second).not.toContain("read a");
    expect(said(governed.shown)).toBe("All done.");
    const turns = await governed.entries("turn");
    expect(turns).toHaveLength(1);
    expect(turns[0]?.payload).toMatchObject({ usage: { tokens: 200 } });
  });

  test("has each of its prompts decided", async () => {
    const governed = await govern({ protocol: new ScriptedProtocol() });
    const session = await governed.begin();
    await governed.prompt(session, saying(BLOCK, "Done."), "read a");
    const decided = (await governed.entries("policy_verdict"))
      .map(({ payload }) => payload as { event_type: string })
      .filter(({ event_type }) => event_type === "pre_prompt");
    expect(decided).toHaveLength(2);
  });

  test("gets the instructions with the first prompt, and again only when that changes", async () => {
    const home = await openTestHome();
    const protocol = new ScriptedProtocol();
    const preparation = new ConstitutionalPreparation({ harness: home.harness });
    const governed = await govern({ home, protocol, preparation });
    const session = await governed.begin();
    const play = saying("Hello.");
    await governed.prompt(session, play, "hello");
    await governed.prompt(session, play, "hello again");
    protocol.instructions += ", write_file";
    await governed.prompt(session, play, "and again");
    const [first = "", second = "", third = ""] = play.stages.map(promptText);
    expect(first).toContain("# Agent Protocol\n\nExecutors: read_file");
    expect(second).not.toContain("# Agent Protocol");
    expect(third).toContain("Executors: read_file, write_file");
  });

  test("is shown at the next prompt what ended after its turn", async () => {
    const protocol = new ScriptedProtocol();
    const governed = await govern({ protocol });
    const session = await governed.begin();
    await governed.prompt(session, saying("Hello."), "hello");
    await writeFile(join(governed.workspace, "notes.txt"), "not asked for");
    protocol.turns.push("### Result for late\n\nStatus: completed, see @notes.txt");
    const play = saying("I see.");
    await governed.prompt(session, play, "and now?");
    const blocks = play.stages[0]?.prompt.map(({ text }) => text) ?? [];
    expect(blocks).toHaveLength(2);
    expect(blocks[0]).toContain("### Result for late\n\nStatus: completed, see @ notes.txt");
    expect(blocks.join("")).not.toContain("not asked for");
    expect(blocks[1]).toBe("and now?");
  });

  test("is asked again when a declaration is refused", async () => {
    const protocol = new ScriptedProtocol();
    const governed = await govern({ protocol });
    const session = await governed.begin();
    const play = saying(`${BLOCK}\n\n${BLOCK}`, "Sorry.");
    await governed.prompt(session, play);
    expect(promptText(play.stages[1] as Stage)).toContain("2 declarations in one message");
    expect(said(governed.shown)).toBe("Sorry.");
  });

  test("declares nothing by a block in a quote: it is shown as it came", async () => {
    const protocol = new ScriptedProtocol();
    const governed = await govern({ protocol });
    const session = await governed.begin();
    const quoted = BLOCK.split("\n")
      .map((line) => `> ${line}`)
      .join("\n");
    const play = saying(quoted);
    await governed.prompt(session, play);
    expect(play.stages).toHaveLength(1);
    expect(said(governed.shown)).toBe(quoted);
  });

  test("declares by the message that ends its turn, not by one before a tool call", async () => {
    const protocol = new ScriptedProtocol();
    const governed = await govern({ protocol, person: () => "allow_once" });
    const session = await governed.begin();
    await governed.prompt(session, async (stage) => {
      await stage.update(chunk(BLOCK));
      await stage.update({ sessionUpdate: "tool_call", ...bash("ls") });
      await stage.ask(bash("ls"));
      await stage.update(chunk("Done."));
      return undefined;
    });
    expect(protocol.declared.map(({ text }) => text)).toEqual(["Done."]);
    expect(said(governed.shown)).toBe(`${BLOCK}Done.`);
  });

  test.each(["max_tokens", "refusal", "max_turn_requests"])(
    "declares nothing in a turn that ended by %s",
    async (stopReason) => {
      const protocol = new ScriptedProtocol();
      const governed = await govern({ protocol });
      const session = await governed.begin();
      const answer = await governed.prompt(session, async (stage) => {
        await stage.update(chunk(BLOCK));
        return { stopReason };
      });
      expect(answer).toMatchObject({ stopReason });
      expect(protocol.declared).toEqual([]);
      expect(said(governed.shown)).toBe(BLOCK);
    },
  );

  test("is stopped after a hundred prompts", async () => {
    const governed = await govern({ protocol: new ScriptedProtocol() });
    const session = await governed.begin();
    const play = saying(BLOCK);
    expect(await governed.prompt(session, play)).toMatchObject({ stopReason: "max_turn_requests" });
    expect(play.stages).toHaveLength(100);
  });

  test("is cancelled while the runtime works", async () => {
    const protocol = new ScriptedProtocol();
    const running = Promise.withResolvers<void>();
    protocol.run = (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        running.resolve();
      });
    const governed = await govern({ protocol });
    const session = await governed.begin();
    const play = saying(BLOCK);
    const turn = governed.prompt(session, play);
    await running.promise;
    await governed.governor.notification("session/cancel", { sessionId: session });
    expect(await turn).toMatchObject({ stopReason: "cancelled" });
    expect(play.stages).toHaveLength(1);
    expect(await governed.prompt(session, saying("Hello."))).toMatchObject({ stopReason: "end_turn" });
  });

  test("is cancelled while it answers what came of its declaration", async () => {
    const governed = await govern({ protocol: new ScriptedProtocol() });
    const session = await governed.begin();
    const again = Promise.withResolvers<void>();
    let prompts = 0;
    const turn = governed.prompt(session, async (stage) => {
      prompts += 1;
      if (prompts === 1) {
        await stage.update(chunk(BLOCK));
        return undefined;
      }
      again.resolve();
      await stage.cancelled;
      return { stopReason: "cancelled" };
    });
    await again.promise;
    await governed.governor.notification("session/cancel", { sessionId: session });
    expect(await turn).toMatchObject({ stopReason: "cancelled" });
    expect(prompts).toBe(2);
  });
});

test("an agent that is not configured for the protocol only says what looks like a declaration", async () => {
  const governed = await govern();
  const session = await governed.begin();
  const play = saying(BLOCK);
  expect(await governed.prompt(session, play)).toMatchObject({ stopReason: "end_turn" });
  expect(play.stages).toHaveLength(1);
  expect(said(governed.shown)).toBe(BLOCK);
});
