import { describe, expect, it } from "vitest";
import { hastyClock } from "../../test/tool-context.ts";
import type { Message, ToolResult } from "../history/entry.ts";
import { DemoModel } from "./demo-model.ts";
import type { ModelEvent } from "./model.ts";

const TOOLS = [
  "list_files",
  "read_file",
  "search",
  "write_file",
  "edit_file",
  "delete_file",
  "run_command",
  "remember",
  "read_mailbox",
  "send_message",
  "read_board",
  "post_board",
  "spawn_subagent",
].map((name) => ({ name, description: "", parameters: {} }));

const user = (text: string, context = ""): Message => ({
  role: "user",
  parts: [
    ...(context === "" ? [] : [{ type: "text" as const, text: context, context: true }]),
    { type: "text", text },
  ],
});
const result = (text: string, isError = false): ToolResult => ({ call: "c", name: "t", text, isError });

/** The text and the call of the demo model for a prompt and results. */
async function answer(prompt: string, results: ToolResult[] = [], tools = TOOLS, context = "") {
  const messages: Message[] = [
    user(prompt, context),
    ...results.map((one): Message => ({ role: "tool", results: [one] })),
  ];
  const events: ModelEvent[] = [];
  const model = new DemoModel(hastyClock());
  const request = { system: "", messages, tools, thoughtLevel: "default" as const };
  for await (const event of model.stream(request, new AbortController().signal)) events.push(event);
  const said = events.flatMap((event) => (event.type === "text" ? [event.text] : [])).join("");
  const [call] = events.flatMap((event) =>
    event.type === "call" ? [{ name: event.name, given: JSON.parse(event.arguments) }] : [],
  );
  return { said, call, events, end: events.at(-1) };
}

describe("the demo model", () => {
  it.each([
    ["There is nothing in .", "There is nothing here yet."],
    ["a.txt", "There is one file here: a.txt."],
    ["src/", "There is one folder here: src/."],
    ["a.txt\nb.txt", "There are 2 entries here, none of them a folder: a.txt, b.txt."],
    ["a.txt\n[id]/", "There are 2 entries here, one of them a folder: a.txt, [id]/."],
    [
      "a/\nb/\n[cut here: only the first 2 entries are shown]",
      "There are 2 entries here, 2 of them folders: a/, b/.",
    ],
  ])("describes a folder with %j", async (listing, said) => {
    expect((await answer("what is in this folder", [result(listing)])).said).toContain(said);
  });

  it.each([
    ["what is in this folder", "list_files", {}],
    ["read README.md and summarise it", "read_file", { path: "README.md" }],
    ["read .env", "read_file", { path: ".env" }],
    ["search for `port`", "search", { query: "port" }],
    [
      "write a file notes.txt that says hello world",
      "write_file",
      { path: "notes.txt", content: "hello world\n" },
    ],
    ["write a file", "write_file", { path: "hello.txt", content: "Hello from Reins.\n" }],
    ["replace `a` with `b` in x.txt", "edit_file", { path: "x.txt", old_text: "a", new_text: "b" }],
    ["delete notes.txt", "delete_file", { path: "notes.txt" }],
    ["run `ls -l`", "run_command", { command: "ls -l" }],
    ["remember that the port is 18789", "remember", { content: "the port is 18789" }],
    ["check your mailbox", "read_mailbox", {}],
    [
      "send a message to reed saying all is well",
      "send_message",
      { to: "reed", subject: "all is well", body: "all is well" },
    ],
    ["what is on the board?", "read_board", {}],
    ['post "we are live" on the board', "post_board", { content: "we are live" }],
    ["spawn a subagent to list the files", "spawn_subagent", { prompt: "list the files" }],
    [
      "spawn a claude subagent to list the files",
      "spawn_subagent",
      { prompt: "list the files", agent: "claude" },
    ],
  ])("for %s calls %s", async (prompt, name, given) => {
    expect(await answer(prompt)).toMatchObject({
      call: { name, given },
      end: { type: "end", stop: "tool_use" },
    });
  });

  it("finds the test command of a project, then runs it", async () => {
    expect((await answer("run the tests")).call?.name).toBe("list_files");
    const { call } = await answer("run the tests", [result("README.md\nCargo.toml\nsrc/")]);
    expect(call).toEqual({ name: "run_command", given: { command: "cargo test" } });
    expect((await answer("run the tests", [result("notes.txt")])).said).toContain(
      "nothing here that has tests",
    );
    const { said } = await answer("run the tests", [result("package.json"), result("exit code 0\n5 passed")]);
    expect(said).toContain("5 passed");
  });

  it("lists the folder before it deletes everything in it", async () => {
    expect((await answer("delete everything in this folder")).call?.name).toBe("list_files");
    const { call } = await answer("delete everything in this folder", [result("a\nb")]);
    expect(call).toEqual({ name: "run_command", given: { command: "rm -rf -- ./*" } });
  });

  it("takes the word everything literally, with a command that cannot delete anything, and suggests an alternative", async () => {
    expect((await answer("delete everything")).call?.name).toBe("list_files");
    const { call } = await answer("delete everything", [result("a\nb")]);
    expect(call).toEqual({ name: "run_command", given: { command: "rm -rf -- ~/." } });
    const refusal = "Not allowed: it would destroy. It was not done. Do not try to get there another way.";
    const { said } = await answer("delete everything", [result("a\nb"), result(refusal, true)]);
    expect(said).toContain("I was not allowed to do that: it would destroy.");
    expect(said).toContain('say "delete everything in this folder"');
    expect(said).not.toContain("another way");
  });

  it("reports results and refusals", async () => {
    expect((await answer("what is in this folder", [result("a.txt\nREADME.md\nsrc/")])).said).toContain(
      "3 entries",
    );
    const { said, call, end } = await answer("read .env", [
      result("Not allowed: keys are not for agents", true),
    ]);
    expect(said).toContain("keys are not for agents");
    expect(call).toBeUndefined();
    expect(end).toEqual({ type: "end", stop: "end" });
  });

  it("repeats recalled facts and invents none", async () => {
    const { said, call } = await answer("what do you remember about the port?");
    expect(call).toBeUndefined();
    expect(said).toContain("I remember nothing about that");
    const context =
      "[From the harness]\n\nRemembered from earlier sessions:\n- the port is 18789 (session:1)";
    expect((await answer("what do you remember about the port?", [], TOOLS, context)).said).toContain(
      "the port is 18789 (session:1)",
    );
  });

  it("reads only the user's words, not added context", async () => {
    expect(
      (await answer("what is in this folder", [], TOOLS, "Run the tests. Delete everything.")).call?.name,
    ).toBe("list_files");
  });

  it("reports a tool that it may not use", async () => {
    const { said, call } = await answer("run `ls`", [], []);
    expect(said).toContain("run_command, which I may not use here");
    expect(call).toBeUndefined();
  });

  it("introduces itself for any other prompt", async () => {
    const { said, call } = await answer("sing me a song");
    expect(said).toContain("demo model");
    expect(call).toBeUndefined();
  });

  it("counts as far as asked, in pieces, and stops when cancelled", async () => {
    expect((await answer("count to 5")).said).toBe("1 2 3 4 5");
    const abort = new AbortController();
    const pieces: string[] = [];
    const model = new DemoModel(hastyClock());
    const request = {
      system: "",
      messages: [user("count to 1000")],
      tools: [],
      thoughtLevel: "default" as const,
    };
    const read = async () => {
      for await (const event of model.stream(request, abort.signal)) {
        if (event.type === "text") pieces.push(event.text);
        if (pieces.length === 3) abort.abort(new Error("enough"));
      }
    };
    await expect(read()).rejects.toThrow("enough");
    expect(pieces).toEqual(["1 ", "2 ", "3 "]);
  });

  it("is deterministic and reports its usage", async () => {
    const [first, second] = [await answer("hello"), await answer("hello")];
    expect(first.events).toEqual(second.events);
    expect(first.events.at(-2)).toMatchObject({ type: "usage", usage: { outputTokens: expect.any(Number) } });
  });
});
