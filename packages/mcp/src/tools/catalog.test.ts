import { describe, expect, test } from "vitest";
import { type Fault, Faults } from "../faults.ts";
import type { McpGate, McpTool } from "../gate.ts";
import { ToolCatalog } from "./catalog.ts";

function open(own: Partial<McpGate> = {}, most = 100) {
  const faults: Fault[] = [];
  const pins = new Map<string, string | undefined>();
  const changes: McpTool[] = [];
  const gate: McpGate = {
    mayUse: () => true,
    decide: async (call) => ({ allowed: true, arguments: call.arguments }),
    report: async () => {},
    pin: async (tools) => {
      for (const { name, hash } of tools) if (!pins.has(name)) pins.set(name, hash);
      const changed = tools.filter(({ name, hash }) => pins.get(name) !== hash);
      changes.push(...changed);
      return new Set(changed.map(({ name }) => name));
    },
    ...own,
  };
  const catalog = new ToolCatalog("lab", gate, new Faults("lab", (fault) => faults.push(fault)), most);
  const list = async (tools: unknown[], cursor?: string, next?: string) =>
    (await catalog.admit(cursor, tools, next)).map(({ name }) => name);
  return { catalog, changes, faults, list };
}

const tool = (name: string, more: object = {}) => ({
  name,
  description: "d",
  inputSchema: { type: "object" },
  ...more,
});

describe("a catalogue of tools", () => {
  test("knows what was listed last", async () => {
    const { catalog, list } = open({ mayUse: ({ name }) => name !== "b" });
    expect(catalog.isKnown).toBe(false);
    expect(await list([tool("a"), tool("b")])).toEqual(["a"]);
    expect(catalog.tools().map(({ name, usable }) => [name, usable])).toEqual([
      ["a", true],
      ["b", false],
    ]);
    expect(await list([tool("c")])).toEqual(["c"]);
    expect(catalog.tools().map(({ name }) => name)).toEqual(["c"]);
  });

  test("goes through pages, and may go through one again", async () => {
    const { catalog, list } = open();
    await list([tool("a")], undefined, "2");
    await list([tool("b")], "2", "3");
    await list([tool("b")], "2", "3");
    expect(await list([tool("c")], "3")).toEqual(["c"]);
    expect(catalog.tools().map(({ name }) => name)).toEqual(["a", "b", "c"]);
  });

  test("refuses a name that occurs again on a later page, until a list is clean", async () => {
    const { catalog, list, faults } = open();
    expect(await list([tool("a"), tool("b")], undefined, "2")).toEqual(["a", "b"]);
    expect(await list([tool("a")], "2")).toEqual([]);
    expect(catalog.fault("a")).toBe("its server has several tools of that name");
    expect(catalog.fault("b")).toBeUndefined();
    expect(faults.map(({ kind }) => kind)).toEqual(["tool_refused"]);
    expect(await list([tool("a")])).toEqual(["a"]);
    expect(catalog.fault("a")).toBeUndefined();
  });

  test("notices what a model would notice, and nothing else", async () => {
    const { changes, list } = open();
    await list([tool("a", { _meta: { n: 1 }, icons: [] })]);
    await list([{ inputSchema: { type: "object" }, description: "d", name: "a", _meta: { n: 2 } }]);
    expect(changes).toEqual([]);
    for (const more of [
      { description: "e" },
      { title: "t" },
      { inputSchema: { type: "object", properties: {} } },
      { outputSchema: {} },
      { annotations: { readOnlyHint: true } },
      { execution: { taskSupport: "required" } },
    ])
      expect(await list([tool("a", more)])).toEqual([]);
    expect(changes).toHaveLength(6);
    expect(await list([tool("a")])).toEqual(["a"]);
  });

  test("notices a change also after the tool was away", async () => {
    const { changes, list } = open();
    await list([tool("a")]);
    await list([]);
    await list([tool("a", { description: "other" })]);
    expect(changes).toMatchObject([{ name: "a", description: "other" }]);
  });

  test("does not list a tool that could not be decided", async () => {
    const { list, faults } = open({
      mayUse: () => {
        throw new Error("no policy");
      },
    });
    expect(await list([tool("a")])).toEqual([]);
    expect(faults).toMatchObject([{ kind: "gate_failed", cause: new Error("no policy") }]);
  });

  test("lists nothing that could not be pinned", async () => {
    const pin = () => Promise.reject(new Error("no room on the disk"));
    const { list, faults } = open({ pin });
    expect(await list([tool("a")])).toEqual([]);
    expect(faults.map(({ kind }) => kind)).toEqual(["gate_failed"]);
  });

  test("takes schemas with numbers that are larger than JavaScript's", async () => {
    const { list } = open();
    const maximum = JSON.rawJSON("18446744073709551615");
    expect(await list([tool("a", { inputSchema: { properties: { n: { maximum } } } })])).toEqual(["a"]);
  });

  test("refuses a definition that cannot be compared", async () => {
    const { list } = open();
    const long = tool("b", { description: "x".repeat(70_000) });
    expect(await list([tool("a", { description: "\ud800" }), 5, tool(""), long])).toEqual([]);
  });
});
