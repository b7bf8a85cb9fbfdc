import { describe, expect, test } from "vitest";
import { comparedToDecided, diffsOf, isEmpty, isFinal, type Permit, ToolCalls } from "./tool-calls.ts";

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
  decided: { arguments: args, payload: { tool_name: "Bash", arguments: args }, told: { name: "Bash" } },
});

/** A call that ended in this turn with these arguments. */
function ended(rawInput: unknown): ToolCalls {
  const calls = new ToolCalls();
  calls.tell(begun({ rawInput }));
  calls.tell(update({ status: "completed" }));
  calls.conclude("1");
  return calls;
}

describe("what updates say of a call", () => {
  test("adds up, the latest of each member", () => {
    const calls = new ToolCalls();
    calls.tell(begun({ title: "first", rawInput: { command: "ls" } }));
    const call = calls.tell(update({ title: "second" }));
    expect(call.told).toMatchObject({ title: "second", rawInput: { command: "ls" } });
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
    calls.tell(begun({ rawInput: { command: "ls" }, locations: [{ path: "/a" }] }));
    const call = calls.tell(update({ rawInput, locations: [] }));
    expect(call.told).toMatchObject({ rawInput: { command: "ls" }, locations: [{ path: "/a" }] });
  });

  test.each(["completed", "failed"])("never makes a call that is %s run again", (status) => {
    const calls = new ToolCalls();
    calls.tell(begun());
    calls.tell(update({ status }));
    const call = calls.tell(update({ status: "in_progress" }));
    expect(isFinal(call)).toBe(true);
    expect(call.told.status).toBe(status);
  });

  test("keeps calls without a usable id apart from others", () => {
    const calls = new ToolCalls();
    for (const toolCallId of [undefined, 7, null, { a: 1 }]) calls.tell({ ...begun(), toolCallId });
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
    const call = calls.tell(message);
    expect(calls.begun).toBe(2);
    expect(call).toMatchObject({ concluded: false, permit: { kind: "none" } });
  });

  test.each([
    ["a late status", update({ status: "in_progress" })],
    ["the same arguments once more", update({ rawInput: { command: "ls" } })],
    ["output", update({ content: [] })],
  ])("is the same call with %s", (_, message) => {
    const calls = ended({ command: "ls" });
    calls.tell(message);
    expect(calls.begun).toBe(1);
  });

  test("is compared by digest once its turn is over", () => {
    const calls = ended({ command: "ls" });
    calls.endTurn();
    expect(calls.get("1")?.told).toEqual({ status: "completed" });
    calls.tell(update({ rawInput: { command: "ls" } }));
    expect(calls.begun).toBe(1);
    calls.tell(update({ rawInput: { command: "rm" } }));
    expect(calls.begun).toBe(2);
  });
});

describe("the arguments of an allowed call", () => {
  const told = (rawInput: unknown, permit = given({ command: "ls" })) => {
    const calls = new ToolCalls();
    calls.tell(request({ rawInput: { command: "ls" } }));
    calls.permit("1", permit);
    return comparedToDecided(calls.tell(update({ rawInput })));
  };

  test("are the same where nothing else is said", () => {
    expect([told({ command: "ls" }), told(undefined), told({})]).toEqual(["same", "same", "same"]);
  });

  test("are more where members are added", () => {
    expect(told({ command: "ls", cwd: "/w" })).toBe("more");
  });

  test("are others where one differs, is missing, or was not decided", () => {
    expect([told({ command: "rm" }), told({ cwd: "/w" }), told("ls")]).toEqual(["other", "other", "other"]);
    expect(told({ command: "rm" }, given({}))).toBe("other");
  });

  test("are not compared where the agent acts on modified arguments", () => {
    expect(told({ command: "rm" }, { kind: "given", entry: "cid", tool: "Bash" })).toBe("same");
  });

  test("cannot be replaced at the end by those that were decided", () => {
    const calls = new ToolCalls();
    calls.tell(request({ rawInput: { command: "ls" } }));
    calls.permit("1", given({ command: "ls" }));
    calls.tell(update({ rawInput: { command: "rm" }, status: "in_progress" }));
    const call = calls.tell(update({ rawInput: { command: "ls" }, status: "completed" }));
    expect(comparedToDecided(call)).toBe("other");
  });
});

describe("the calls of a turn", () => {
  test("are unfinished where they were allowed, and unasked where they were not decided", () => {
    const calls = new ToolCalls();
    for (const toolCallId of ["a", "b", "c", "d"]) calls.tell({ ...begun(), toolCallId });
    calls.permit("a", given({}));
    calls.permit("b", { kind: "refused" });
    calls.permit("c", { kind: "elsewhere" });
    expect(calls.unfinished.map(({ id }) => id)).toEqual(["a"]);
    expect(calls.unasked.map(({ id }) => id)).toEqual(["d"]);
    expect(calls.open.map(({ id }) => id)).toEqual(["a", "b", "c", "d"]);
    expect(calls.conclude("a")).toBe(true);
    expect(calls.conclude("a")).toBe(false);
    expect(calls.unfinished).toEqual([]);
  });

  test("remember a refusal until the next turn", () => {
    const calls = new ToolCalls();
    calls.tell(begun());
    expect(calls.hasRefused).toBe(false);
    calls.permit("1", { kind: "refused" });
    expect(calls.hasRefused).toBe(true);
    calls.beginTurn(1);
    expect(calls.hasRefused).toBe(false);
  });

  test("start when they are announced, or when it was last quiet", () => {
    const calls = new ToolCalls();
    calls.beginTurn(100);
    expect(calls.tell(begun({ status: "completed" }), 150).since).toBe(100);
    expect(calls.tell({ ...begun(), toolCallId: "2" }, 170).since).toBe(170);
    expect(calls.tell({ ...begun({ status: "failed" }), toolCallId: "3" }, 190).since).toBe(150);
  });
});

describe("the claims of a call", () => {
  const diff = (path: string) => ({ content: [{ type: "diff", path, newText: "x" }] });

  test("are collected from all of its updates and weighed once", () => {
    const calls = new ToolCalls();
    calls.tell(begun(diff("/a")));
    calls.tell(update(diff("/b")));
    calls.tell(update(diff("/a")));
    expect(calls.weigh("1")).toEqual([
      { kind: "write", path: "/a" },
      { kind: "write", path: "/b" },
    ]);
    expect(calls.weigh("1")).toEqual([]);
    calls.tell(update(diff("/c")));
    expect(calls.weigh("1")).toEqual([{ kind: "write", path: "/c" }]);
    expect(calls.weigh("unknown")).toEqual([]);
  });

  test("are bounded, with one more to show that there are others", () => {
    const calls = new ToolCalls();
    for (let index = 0; index < 300; index += 1) calls.tell(update(diff(`/${index}`)));
    expect(calls.get("1")?.claims).toHaveLength(201);
  });

  test("name what a path is to become", () => {
    const content = [
      { type: "diff", path: "/a", newText: "x" },
      { type: "diff", path: 1 },
      { type: "content" },
      null,
    ];
    expect(diffsOf({ told: { content } })).toEqual([{ path: "/a", newText: "x" }]);
    expect(diffsOf({ told: { content: "none" } })).toEqual([]);
  });
});

test("a value is empty without a member that says something", () => {
  expect([undefined, null, "", {}, [], { a: null }, [undefined]].every(isEmpty)).toBe(true);
  expect([0, false, "x", { a: 0 }, [""]].some(isEmpty)).toBe(false);
});
