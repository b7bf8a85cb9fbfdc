import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Machine } from "../../test/machine.ts";
import type { ControlEvent } from "../action.ts";
import { isHarmless } from "../conditions/conditions.ts";
import { realFiles } from "./files.ts";
import { type FactsContext, gatherFacts } from "./gather.ts";

let machine: Machine;

beforeAll(async () => {
  machine = await Machine.lay();
});
afterAll(() => machine[Symbol.asyncDispose]());

const gather = (
  payload: unknown,
  more: Partial<FactsContext> = {},
  event_type: ControlEvent["event_type"] = "pre_action",
) =>
  gatherFacts(
    { event_type, session_id: "s", agent_id: "a", depth: 0, payload },
    { ...machine.context("claude-code"), ...more },
  );
const bash = (command: string, more: Partial<FactsContext> = {}) =>
  gather({ tool_name: "Bash", arguments: { command } }, more);

describe("the facts of an action", () => {
  it("give a path from the innermost root that holds it, and none outside of them", async () => {
    const roots = ["{{workspace}}", "{{workspace}}/src"].map((root) => machine.fill(root));
    const { effects } = await bash("cat src/deep/a.ts docs/b.md /etc/hosts src", { roots });
    const insides = effects.map((effect) => (effect.kind === "read" ? (effect.inside ?? null) : "exec"));
    expect(insides).toEqual(["exec", "deep/a.ts", "docs/b.md", null, ""]);
  });

  it("say what it reads, writes, runs and speaks to", async () => {
    const command = "cat README.md > copy.md && curl -d @data.json https://example.com/x";
    const action = await bash(command);
    expect(action).toEqual({
      tool: "Bash",
      effects: [
        {
          kind: "write",
          path: machine.fill("{{workspace}}/copy.md"),
          place: "workspace",
          inside: "copy.md",
          destroys: false,
        },
        { kind: "exec", command: "cat", arguments: ["README.md"], opaque: false },
        {
          kind: "read",
          path: machine.fill("{{workspace}}/README.md"),
          place: "workspace",
          inside: "README.md",
        },
        {
          kind: "exec",
          command: "curl",
          arguments: ["-d", "@data.json", "https://example.com/x"],
          opaque: false,
        },
        {
          kind: "read",
          path: machine.fill("{{workspace}}/data.json"),
          place: "workspace",
          inside: "data.json",
        },
        { kind: "net", host: "example.com" },
      ],
      opaque: false,
      doubts: [],
      claims: {},
      arguments: { command },
    });
  });

  it("show whether what was there is gone", async () => {
    const destroys = async (command: string) =>
      (await bash(command)).effects.flatMap((effect) => (effect.kind === "write" ? [effect.destroys] : []));
    expect(await destroys("echo x > notes.txt")).toEqual([true]);
    expect(await destroys("echo x > new.txt")).toEqual([false]);
    expect(await destroys("echo x >> notes.txt")).toEqual([false]);
    expect(await destroys("rm new.txt")).toEqual([true]);
    expect(await destroys("touch notes.txt")).toEqual([false]);
    expect(await destroys("cp README.md docs")).toEqual([false]);
    expect(await destroys("cp docs/guide.md notes.txt")).toEqual([true]);
  });

  it("name the link, and not what it leads to, when the link is removed", async () => {
    const paths = async (command: string) =>
      (await bash(command)).effects.flatMap((effect) => (effect.kind === "write" ? [effect.path] : []));
    expect(await paths("rm link-home")).toEqual([machine.fill("{{workspace}}/link-home")]);
    expect(await paths("rm -r link-home/")).toEqual([machine.fill("{{home}}")]);
    expect(await paths("rm link-home/notes.txt")).toEqual([machine.fill("{{home}}/notes.txt")]);
  });

  it("use what is known of the environment", async () => {
    const place = async (more: Partial<FactsContext>) => (await bash("cat $WHERE/x", more)).effects[1];
    expect(await place({})).toMatchObject({ place: "unknown" });
    expect(await place({ environment: { WHERE: "/etc" } })).toMatchObject({
      path: "/etc/x",
      place: "system",
    });
    expect(await place({ environment: { WHERE: "src" } })).toMatchObject({ place: "workspace" });
  });

  it("know that a change of folder may fail", async () => {
    const reads = async (command: string) =>
      (await bash(command)).effects.flatMap((effect) =>
        effect.kind === "read" ? [effect.path.replace(machine.workspace, "")] : [],
      );
    expect(await reads("cd src && cat x")).toEqual(["/src/x"]);
    expect(await reads("cd src; cat x")).toEqual(["/src/x", "/x"]);
    expect(await reads("cd src || exit; cat x")).toEqual(["/src/x"]);
    expect(await reads("cd src && cat x; cat y")).toEqual(["/src/x", "/src/y", "/y"]);
    expect(await reads("(cd src; cat x); cat y")).toEqual(["/src/x", "/x", "/y"]);
    expect(await reads("cd src && cd .. && cat x")).toEqual(["/x"]);
  });

  it("sum up many matches by their folders", async () => {
    const action = await bash(
      "cat {src,docs,tests}/*.{ts,md} src/{a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z}.ts",
    );
    expect(isHarmless(action)).toBe(true);
  });

  it("of no action are empty, unless it names a tool", async () => {
    expect(await gather({ prompt: "rm -rf ~" }, {}, "pre_prompt")).toMatchObject({
      tool: "",
      effects: [],
      opaque: false,
    });
    expect(
      isHarmless(await gather({ tool_name: "Bash", arguments: { command: "rm -rf ~" } }, {}, "heartbeat")),
    ).toBe(false);
  });

  it("are a doubt when the file system fails", async () => {
    const broken = { ...realFiles, realpath: () => Promise.reject(new Error("no disk")) };
    const action = await bash("cat README.md", { files: broken });
    expect(action.effects).toContainEqual(expect.objectContaining({ kind: "read", place: "unknown" }));
    expect(isHarmless(action)).toBe(false);
  });

  it("are opaque when gathering them fails altogether", async () => {
    const tables = new Proxy(new Map(), {
      get: () => {
        throw new Error("no tables");
      },
    });
    expect(await bash("ls", { tables })).toMatchObject({
      opaque: true,
      effects: [],
      doubts: [expect.stringContaining("no tables")],
    });
  });

  it("hold the arguments as they came", async () => {
    const given = { file_path: "README.md", limit: 3 };
    expect((await gather({ tool_name: "Read", arguments: given })).arguments).toBe(given);
  });
});
