import { describe, expect, test } from "vitest";
import { BLOCKED, testSession } from "../../test/governed-session.ts";
import { promptText, settleCommands, withFiles, withoutCommands, withRefusals } from "./prompt-content.ts";

const text = (words: string) => ({ type: "text", text: words });
const COMMANDS = { commands: { compact: "harmless", init: { writes: ["AGENTS.md"] }, trust: "gate" } };

describe("a command in a prompt", () => {
  test.each([
    ["that is unknown", "/etc/hosts says what?", "`/etc/hosts` says what?"],
    ["of the shell", "!ls -l", "`!ls` -l"],
    ["behind what cannot be seen", "\u200b \u2215frob it", "\u200b `\u2215frob` it"],
  ])("is text: one %s", async (_, given, passed) => {
    const { session, turn, decided } = testSession({ prompts: COMMANDS });
    const { prompt, commands } = await settleCommands(session, turn, [text(given)]);
    expect([prompt, commands.size, decided]).toEqual([[text(passed)], 0, []]);
  });

  test("that does no harm passes as it is, without what it could expand", async () => {
    const { session, turn, decided } = testSession({ prompts: COMMANDS });
    const { prompt, commands } = await settleCommands(session, turn, [text("/compact !`date`")]);
    expect(prompt).toEqual([text("/compact ! `date`")]);
    expect([commands.has(prompt[0]), decided]).toEqual([true, []]);
  });

  test("that writes is decided as each write", async () => {
    const { session, turn, decided } = testSession({ prompts: COMMANDS });
    await settleCommands(session, turn, [text("/init")]);
    expect(decided.map(({ payload }) => payload)).toEqual([
      { tool_name: "fs/write_text_file", arguments: { path: "/w/AGENTS.md" } },
    ]);
  });

  test.each(["/trust", "/YOLO", "/dangerously-skip-permissions now"])(
    "that keeps the agent from asking is decided as such a mode: %s",
    async (given) => {
      const { session, turn, decided } = testSession({ verdicts: [BLOCKED], prompts: COMMANDS });
      const { refused } = await settleCommands(session, turn, [text(given)]);
      const name = given.slice(1).split(" ")[0]?.toLowerCase();
      expect(decided.map(({ payload }) => payload)).toMatchObject([
        { tool_name: "session/set_mode", arguments: { mode: `/${name}`, asks: "false" } },
      ]);
      expect(refused?.reason).toBe(`/${name} is a command of the agent itself: it may not`);
    },
  );

  test("that only the agent announced is decided by its text", async () => {
    const { session, turn, decided } = testSession({ prompts: COMMANDS });
    session.commands = ["/deploy <where>"];
    await settleCommands(session, turn, [text("/deploy there")]);
    expect(decided.map(({ payload }) => payload)).toMatchObject([
      { tool_name: "agent/command", arguments: { command: "/deploy there", effect: "announced" } },
    ]);
  });

  test("is left alone for an agent that treats a prompt as text", async () => {
    const { session, turn } = testSession({ profile: { interpretsPrompts: false } });
    const prompt = [text("/trust me"), { type: "image", data: "" }];
    expect((await settleCommands(session, turn, prompt)).prompt).toBe(prompt);
    expect(withoutCommands(session, prompt, new Set())).toBe(prompt);
  });

  test("that came with mail or a file is text, unless it was decided", () => {
    const { session } = testSession();
    const decided = text("/compact");
    const image = { type: "image", data: "" };
    const prompt = [text("/trust"), decided, image];
    expect(withoutCommands(session, prompt, new Set([decided]))).toEqual([text("`/trust`"), decided, image]);
  });
});

describe("a prompt", () => {
  test("that names no file is not looked through", async () => {
    const { session, turn } = testSession();
    const prompt = [text("hello"), { type: "image", data: "x" }, 5];
    expect(await withFiles(session, turn, { prompt, commands: new Set() })).toBe(prompt);
  });

  test("is shown by its texts, addresses, or kinds", () => {
    const resource = { uri: "file:///a", text: "content" };
    const prompt = [text("look"), { type: "resource", resource }, { type: "image", data: "" }, null];
    expect(promptText(prompt)).toBe("look\nfile:///a\ncontent\n[image]\n[undefined]");
  });

  test("has what was refused before it, once, but not before a command", () => {
    const { session } = testSession();
    session.refusals.push("Bash: no network");
    expect(withRefusals(session, [text(" /compact")])).toEqual([text(" /compact")]);
    const [first, second] = withRefusals(session, [text("go on")]);
    expect(first).toMatchObject({ text: expect.stringContaining("\n- Bash: no network") });
    expect(second).toEqual(text("go on"));
    expect(withRefusals(session, [text("go on")])).toEqual([text("go on")]);
  });

  test("has no refusals before it for an agent that gets them with the answer", () => {
    const { session } = testSession({ profile: { refusals: "with_answer" } });
    session.refusals.push("Bash: no network");
    expect(withRefusals(session, [text("go on")])).toEqual([text("go on")]);
  });
});
