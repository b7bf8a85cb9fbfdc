import type { JsonObject } from "@reins/acp";
import { describe, expect, test } from "vitest";
import { comparedToDecided, diffsOf, isFinal, type Permit, ToolCalls } from "./tool-calls.ts";

const begun = (more: object = {}) => ({
  sessionUpdate: "tool_call",
  toolCallId: "1",
  status: "pending",
  ...more,
});
const update = (more: object = {}) => ({ sessionUpdate: "tool_call_update", toolCallId: "1", ...more });
const request = (more: object = {}) => ({ toolCallId: "1", ...more });
const given = (args: unknown): Permit => ({
  kind: "given",
  entry: "cid",
  tool: "Bash",
  decided: { arguments: args, payload: { tool_name: "Bash", arguments: args }, reported: { name: "Bash" } },
});

/** A call that ended in this turn with these arguments. */
function ended(rawInput: unknown): ToolCalls {
  const calls = new ToolCalls();
  calls.note(begun({ rawInput }));
  calls.note(update({ status: "completed" }));
  calls.conclude("1");
  return calls;
}

test("lets a file be written for an allowed call until that has ended", async () => {
  const calls = new ToolCalls();
  calls.note({ toolCallId: "1" });
  expect(calls.beginWrite("1", "cid")).toBeUndefined();
  calls.permit("1", { kind: "given", entry: "cid", tool: "Write" });
  expect(calls.beginWrite("1", "another")).toBeUndefined();
  const written = { path: "/w/a", content_hash: "hash", outcome: "completed" } as const;
  calls.beginWrite("1", "cid")?.(written);
  expect(await Promise.all(calls.get("1")?.writes ?? [])).toEqual([written]);
  calls.conclude("1");
  expect(calls.beginWrite("1", "cid")).toBeUndefined();
});

describe("what updates say of a call", () => {
  test("adds up, the latest of each member", () => {
    const calls = new ToolCalls();
    calls.note(begun({ title: "first", rawInput: { command: "ls" } }));
    const call = calls.note(update({ title: "second" }));
    expect(call.reported).toMatchObject({ title: "second", rawInput: { command: "ls" } });
    expect(call.first).toMatchObject({ title: "first" });
    expect(calls.begun).toBe(1);
  });

  test.each([
    ["null", null],
    ["undefined", undefined],
    ["no arguments", {}],
    ["arguments without values", { command: null }],
    ["an empty text", ""],
  ])("removes no arguments by %s", (_, rawInput) => {
    const calls = new ToolCalls();
    calls.note(begun({ rawInput: { command: "ls" }, locations: [{ path: "/a" }] }));
    const call = calls.note(update({ rawInput, locations: [] }));
    expect(call.reported).toMatchObject({ rawInput: { command: "ls" }, locations: [{ path: "/a" }] });
  });

  test.each(["completed", "failed"])("never makes a call that is %s run again", (status) => {
    const calls = new ToolCalls();
    calls.note(begun());
    calls.note(update({ status }));
    const call = calls.note(update({ status: "in_progress" }));
    expect(isFinal(call)).toBe(true);
    expect(call.reported.status).toBe(status);
  });

  test("keeps calls without a usable id apart from others", () => {
    const calls = new ToolCalls();
    for (const toolCallId of [undefined, 7, null, { a: 1 }]) calls.note({ ...begun(), toolCallId });
    expect(calls.begun).toBe(4);
    expect(calls.get("7")).toBeUndefined();
  });
});

describe("an id whose call has ended", () => {
  test.each([
    ["a permission request", request({ rawInput: { command: "rm" } })],
    ["a permission request without arguments", request()],
    ["an announcement", begun({ rawInput: { command: "ls" } })],
    ["other arguments", update({ rawInput: { command: "rm" } })],
    ["arguments with which it runs", update({ rawInput: { command: "ls" }, status: "in_progress" })],
  ])("is another call with %s", (_, message) => {
    const calls = ended({ command: "ls" });
    const call = calls.note(message);
    expect(calls.begun).toBe(2);
    expect(call).toMatchObject({ concluded: false, permit: { kind: "none" } });
  });

  test.each([
    ["a late status", update({ status: "in_progress" })],
    ["the same arguments once more", update({ rawInput: { command: "ls" } })],
    ["output", update({ content: [] })],
  ])("is the same call with %s", (_, message) => {
    const calls = ended({ command: "ls" });
    calls.note(message);
    expect(calls.begun).toBe(1);
  });

  test("is compared by digest once its turn is over", () => {
    const calls = ended({ command: "ls" });
    calls.endTurn();
    expect(calls.get("1")?.reported).toEqual({ status: "completed" });
    calls.note(update({ rawInput: { command: "ls" } }));
    expect(calls.begun).toBe(1);
    calls.note(update({ rawInput: { command: "rm" } }));
    expect(calls.begun).toBe(2);
  });
});

describe("the arguments of an allowed call", () => {
  const reported = (rawInput: unknown, permit = given({ command: "ls" })) => {
    const calls = new ToolCalls();
    calls.note(request({ rawInput: { command: "ls" } }));
    calls.permit("1", permit);
    return comparedToDecided(calls.note(update({ rawInput })));
  };

  test("are the same where nothing else is said", () => {
    expect([reported({ command: "ls" }), reported(undefined), reported({})]).toEqual([
      "same",
      "same",
      "same",
    ]);
  });

  test("are more where members are added", () => {
    expect(reported({ command: "ls", cwd: "/w" })).toBe("more");
  });

  test("are others where one differs, is missing, or was not decided", () => {
    expect([reported({ command: "rm" }), reported({ cwd: "/w" }), reported("ls")]).toEqual([
      "other",
      "other",
      "other",
    ]);
    expect(reported({ command: "rm" }, given({}))).toBe("other");
  });

  test("are not compared where the agent acts on modified arguments", () => {
    expect(reported({ command: "rm" }, { kind: "given", entry: "cid", tool: "Bash" })).toBe("same");
  });

  test("cannot be replaced at the end by those that were decided", () => {
    const calls = new ToolCalls();
    calls.note(request({ rawInput: { command: "ls" } }));
    calls.permit("1", given({ command: "ls" }));
    calls.note(update({ rawInput: { command: "rm" }, status: "in_progress" }));
    const call = calls.note(update({ rawInput: { command: "ls" }, status: "completed" }));
    expect(comparedToDecided(call)).toBe("other");
  });
});

describe("more calls than are remembered", () => {
  const noted = (calls: ToolCalls, count: number, conclude: boolean) => {
    for (let index = 0; index < count; index += 1) {
      const toolCallId = `c${index}`;
      calls.note({ ...begun({ status: conclude ? "completed" : "in_progress" }), toolCallId });
      if (conclude) calls.conclude(toolCallId);
    }
  };

  test("never push out one that has not ended", () => {
    const calls = new ToolCalls();
    calls.note({ ...begun({ status: "in_progress" }), toolCallId: "victim" });
    noted(calls, 10_001, true);
    expect(calls.open.map(({ id }) => id)).toEqual(["victim"]);
    expect([calls.get("c0"), calls.isFull]).toEqual([undefined, false]);
  });

  test("are too many where all are open, until some have ended", () => {
    const calls = new ToolCalls();
    noted(calls, 10_000, false);
    expect(calls.isFull).toBe(false);
    calls.note({ ...begun(), toolCallId: "one more" });
    expect(calls.isFull).toBe(true);
    expect(calls.open).toHaveLength(10_001);
    for (const id of ["c0", "c1"]) calls.conclude(id);
    expect(calls.isFull).toBe(false);
  });
});

describe("the calls of a turn", () => {
  test("keep the name that their tool was first given, wherever it is reported", () => {
    const calls = new ToolCalls(0, { toolNames: { members: ["_meta.tool"], aliases: [], kinds: {} } });
    expect(calls.note(begun()).named).toBeUndefined();
    expect(calls.note(update({ _meta: { tool: "Bash" } })).named).toBe("Bash");
    expect(calls.note(update({ name: "mcp.lab.post", _meta: { tool: "Read" } })).named).toBe("Bash");
  });

  test("are unfinished where they were allowed, and open until they are concluded", () => {
    const calls = new ToolCalls();
    for (const toolCallId of ["a", "b", "c", "d", "e"]) calls.note({ ...begun(), toolCallId });
    calls.permit("a", given({}));
    calls.permit("b", { kind: "refused" });
    calls.permit("c", { kind: "elsewhere", entry: "cid", tool: "mcp:lab/post" });
    calls.permit("e", { kind: "performed" });
    expect(calls.unfinished.map(({ id }) => id)).toEqual(["a"]);
    expect(calls.open.map(({ id }) => id)).toEqual(["a", "b", "c", "d", "e"]);
    expect(calls.conclude("a")).toBe(true);
    expect(calls.conclude("a")).toBe(false);
    expect(calls.unfinished).toEqual([]);
  });

  test("are dropped when another is refused after they were announced, until the next turn", () => {
    const calls = new ToolCalls();
    const announced = calls.note(begun());
    expect(calls.isDropped(announced)).toBe(false);
    calls.permit("1", { kind: "refused" });
    expect(calls.isDropped(announced)).toBe(true);
    expect(calls.isDropped(calls.note({ ...begun(), toolCallId: "later" }))).toBe(false);
    calls.beginTurn(1);
    expect(calls.isDropped(announced)).toBe(false);
  });

  test("are repeated once each in a replay, by tool, arguments and files", () => {
    const calls = new ToolCalls();
    const content = [{ type: "diff", path: "/w/a", newText: "x" }];
    const make = { sessionUpdate: "tool_call", name: "Bash", rawInput: { command: "make" } };
    const write = { sessionUpdate: "tool_call", name: "Write", rawInput: { path: "/w/a" }, content };
    for (const [toolCallId, one] of [
      ["1", make],
      ["2", write],
    ] as const) {
      calls.note({ ...one, toolCallId, status: "completed" });
      calls.conclude(toolCallId);
    }
    calls.endTurn();
    const repeats = (toolCallId: string, one: JsonObject) => calls.repeats({ ...one, toolCallId });
    calls.beginReplay();
    expect(repeats("1", { ...make, rawInput: { command: "make all" } })).toBe(false);
    expect(repeats("1", { ...make, name: "Write" })).toBe(false);
    expect(repeats("numbered anew", make)).toBe(true);
    expect(repeats("numbered anew", { status: "completed" })).toBe(true);
    expect(repeats("unknown", { status: "completed" })).toBe(false);
    expect(repeats("1", make)).toBe(false);
    expect(repeats("2", { ...write, content: [{ ...content[0], path: "/w/b" }] })).toBe(false);
    expect(repeats("2", write)).toBe(true);
    expect(repeats("2", { status: "completed" })).toBe(true);
    calls.beginReplay();
    expect(repeats("1", make)).toBe(true);
  });

  test("start when they are announced, or when it was last quiet", () => {
    const calls = new ToolCalls();
    calls.beginTurn(100);
    expect(calls.note(begun({ status: "completed" }), 150).since).toBe(100);
    expect(calls.note({ ...begun(), toolCallId: "2" }, 170).since).toBe(170);
    expect(calls.note({ ...begun({ status: "failed" }), toolCallId: "3" }, 190).since).toBe(150);
  });
});

describe("the claims of a call", () => {
  const diff = (path: string) => ({ content: [{ type: "diff", path, newText: "x" }] });

  test("are collected from all of its updates and weighed once", () => {
    const calls = new ToolCalls();
    calls.note(begun(diff("/a")));
    calls.note(update(diff("/b")));
    calls.note(update(diff("/a")));
    expect(calls.weigh("1")).toEqual([
      { kind: "write", path: "/a" },
      { kind: "write", path: "/b" },
    ]);
    expect(calls.weigh("1")).toEqual([]);
    calls.note(update(diff("/c")));
    expect(calls.weigh("1")).toEqual([{ kind: "write", path: "/c" }]);
    expect(calls.weigh("unknown")).toEqual([]);
  });

  test("are bounded, with one more to show that there are others", () => {
    const calls = new ToolCalls();
    for (let index = 0; index < 300; index += 1) calls.note(update(diff(`/${index}`)));
    expect(calls.get("1")?.claims).toHaveLength(201);
  });

  test("name what a path is to become", () => {
    const content = [
      { type: "diff", path: "/a", newText: "x" },
      { type: "diff", path: 1 },
      { type: "content" },
      null,
    ];
    expect(diffsOf({ reported: { content } })).toEqual([{ path: "/a", newText: "x" }]);
    expect(diffsOf({ reported: { content: "none" } })).toEqual([]);
  });
});
