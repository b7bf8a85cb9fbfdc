import { describe, expect, it, test } from "vitest";
import { inputOf } from "../../test/recorded.ts";
import type { DecisionInput, Effect } from "../action.ts";
import { PlainCondition } from "../constitution/condition.ts";
import type { Subject } from "../subject.ts";
import { compilePlain, isHarmless } from "./conditions.ts";

const tools = { deploy: { scopes: ["ship"], sensitivity: "high" }, look: { scopes: [] } };

/** Whether a condition holds of an input, in a rule that allows or in one that does not. */
function holds(condition: object, input: DecisionInput, permits = false): boolean {
  const clauses = compilePlain(PlainCondition.parse(condition), { tools, permits });
  return clauses.every((clause) => clause.holds(input));
}

const by = (subject: Partial<Subject>) => inputOf({ subject });
const doing = (...effects: Effect[]) => inputOf({ effects });
const read = (path: string, more: object = {}): Effect => ({
  ...{ kind: "read", path: path === "" ? "/w" : `/w/${path}`, place: "workspace", inside: path },
  ...more,
});
const write = (path: string, more: object = {}): Effect => ({
  ...{
    kind: "write",
    path: path === "" ? "/w" : `/w/${path}`,
    place: "workspace",
    inside: path,
    destroys: false,
  },
  ...more,
});
const exec = (command: string, words: (string | null)[] = [], opaque = false): Effect => ({
  ...{ kind: "exec", command, arguments: words, opaque },
});
const net = (host: string, more: object = {}): Effect => ({ kind: "net", host, ...more });

/** Each member with a value, a subject for which it holds, and subjects for which it does not. */
const SUBJECTS: readonly (readonly [object, Partial<Subject>, readonly Partial<Subject>[]])[] = [
  [{ agent_trust: "standing" }, { trust: "standing" }, [{ trust: "registered" }, { trust: "unknown" }]],
  [{ agent_trust: ["standing", "registered"] }, { trust: "registered" }, [{ trust: "unknown" }]],
  [{ agent: "coder" }, { agent: "coder" }, [{ agent: "coder2" }, { agent: "Coder" }, { agent: "" }]],
  [{ agent: "code*" }, { agent: "coder" }, [{ agent: "decoder" }, { agent: "cod" }]],
  [{ agent: ["a", "b?"] }, { agent: "bx" }, [{ agent: "b" }, { agent: "bxx" }, { agent: "ab" }]],
  [{ user: "ann" }, { user: "ann" }, [{ user: "anna" }, { user: "bob" }]],
  [{ user: "*" }, { user: "anybody" }, []],
  [{ tenant: "acme" }, { tenant: "acme" }, [{ tenant: "default" }]],
  [{ session: "s*" }, { session: "s9" }, [{ session: "t1" }]],
  [{ mode: "plan" }, { mode: "plan" }, [{ mode: "default" }, { mode: "planning" }]],
  [{ role: "admin" }, { roles: ["dev", "admin"] }, [{ roles: [] }, { roles: ["adm"] }]],
  [{ role: ["a", "b*"] }, { roles: ["bee"] }, [{ roles: ["c"] }]],
  [{ scopes: ["x"] }, { scopes: ["x", "y"] }, [{ scopes: [] }, { scopes: ["y"] }]],
  [{ scopes: ["x", "y"] }, { scopes: ["y", "x"] }, [{ scopes: ["x"] }]],
  [{ scopes: ["x", "y"] }, { scopes: ["*"] }, [{ scopes: ["x*"] }]],
  [{ started: "background" }, { started: "background" }, [{ started: "interactive" }, { started: "api" }]],
  [{ depth: { at_least: 1 } }, { depth: 1 }, [{ depth: 0 }]],
  [{ depth: { at_most: 1 } }, { depth: 1 }, [{ depth: 2 }]],
  [{ depth: { at_least: 1, at_most: 2 } }, { depth: 2 }, [{ depth: 0 }, { depth: 3 }]],
  [{ enforcement: "confined" }, { enforcement: "confined" }, [{ enforcement: "asked" }]],
  [{ network: "off" }, { network: "off" }, [{ network: "hosts" }, { network: "open" }, {}]],
  [{ network: "open" }, {}, [{ network: "off" }, { network: "hosts" }]],
  [{ origin: "client" }, { origin: "client" }, [{ origin: "agent" }, {}]],
  [{ origin: "agent" }, {}, [{ origin: "client" }]],
];

describe("a condition on the subject", () => {
  test.each(SUBJECTS)("%j", (condition, matching, others) => {
    expect(holds(condition, by(matching))).toBe(true);
    for (const other of others) expect(holds(condition, by(other)), JSON.stringify(other)).toBe(false);
    expect(holds({ not: condition }, by(matching))).toBe(false);
    for (const other of others) expect(holds({ not: condition }, by(other))).toBe(true);
  });

  it("says the same in a rule that allows", () => {
    for (const [condition, matching, others] of SUBJECTS) {
      expect(holds(condition, by(matching), true)).toBe(true);
      for (const other of others) expect(holds(condition, by(other), true)).toBe(false);
    }
  });
});

describe("a condition on the tool", () => {
  const tool = (name: string, subject: Partial<Subject> = {}) => inputOf({ tool: name, subject });

  it("compares the whole name", () => {
    expect(holds({ tool_name_matches: ["bash"] }, tool("bash"))).toBe(true);
    for (const other of ["Bash", "bash2", "abash", ""])
      expect(holds({ tool_name_matches: ["bash"] }, tool(other)), other).toBe(false);
    expect(holds({ tool_name_matches: ["mcp__*"] }, tool("mcp__x"))).toBe(true);
  });

  it("allows an agent no tool under a name that belongs to clients", () => {
    for (const name of ["session/new", "providers/x", "initialize", "authenticate", "logout"]) {
      expect(holds({ tool_name_matches: ["*"] }, tool(name), true), name).toBe(false);
      expect(holds({ tool_name_matches: ["*"] }, tool(name, { origin: "client" }), true), name).toBe(true);
      expect(holds({ tool_name_matches: ["*"] }, tool(name), false), name).toBe(true);
    }
  });

  it("looks up what is declared of it, and of a tool that is not declared nothing", () => {
    expect(holds({ sensitivity: "high" }, tool("deploy"))).toBe(true);
    expect(holds({ sensitivity: "high" }, tool("look"))).toBe(false);
    expect(holds({ sensitivity: "high" }, tool("constructor"))).toBe(false);
    expect(holds({ lacks_scopes: true }, tool("deploy"))).toBe(true);
    expect(holds({ lacks_scopes: true }, tool("deploy", { scopes: ["ship"] }))).toBe(false);
    expect(holds({ lacks_scopes: false }, tool("look"))).toBe(true);
    expect(holds({ lacks_scopes: true }, tool("__proto__"))).toBe(false);
  });

  it("compares events by name and pattern", () => {
    const event = (event_type: string) => inputOf({ event_type });
    expect(holds({ event: "pre_action" }, event("pre_action"))).toBe(true);
    expect(holds({ event: "pre_action" }, event("post_action"))).toBe(false);
    expect(holds({ event: "pre_*" }, event("pre_prompt"))).toBe(true);
    expect(holds({ event: ["idle", "planning"] }, event("planning"))).toBe(true);
  });
});

describe("a condition on arguments", () => {
  const given = (args: unknown) => inputOf({ arguments: args });
  const rows: readonly (readonly [object, unknown, boolean])[] = [
    [{ a: "x" }, { a: "x" }, true],
    [{ a: "x" }, { a: "y" }, false],
    [{ a: "x" }, {}, false],
    [{ a: "x" }, null, false],
    [{ a: "x" }, "x", false],
    [{ a: "x" }, ["x"], false],
    [{ "a.b": "x" }, { a: { b: "x" } }, true],
    [{ "a.b": "x" }, { "a.b": "x" }, false],
    [{ "a.b": "x" }, { a: "x" }, false],
    [{ "a.0": "x" }, { a: ["x"] }, true],
    [{ a: "1" }, { a: 1 }, true],
    [{ a: "true" }, { a: true }, true],
    [{ a: "null" }, { a: null }, true],
    [{ a: '{"b":1}' }, { a: { b: 1 } }, true],
    [{ a: "*secret*" }, { a: "my secret key" }, true],
    [{ a: "*secret*" }, { a: { nested: "secret" } }, true],
    [{ a: "*" }, {}, true],
    [{ constructor: "*x*" }, {}, false],
    [{ a: ["x", "y"] }, { a: "y" }, true],
    [{ a: "x", b: "y" }, { a: "x" }, false],
  ];
  test.each(rows)("%j of %j: %s", (asked, args, expected) => {
    expect(holds({ arguments: asked }, given(args))).toBe(expected);
  });
});

/** Each `every` with effects of which it holds, and some of which it does not. */
const EVERY: readonly (readonly [object, readonly Effect[], readonly (readonly Effect[])[]])[] = [
  [{ effects: { every: ["read"] } }, [read("a")], [[read("a"), write("b")], [net("h")]]],
  [{ paths: { every: { place: "workspace" } } }, [read("a"), write("b")], [[read("a", { place: "home" })]]],
  [{ reads: { every: { match: "src/**" } } }, [read("src/a")], [[read("a")], [read("src/a"), read("b")]]],
  [{ reads: { every: { match: "src/**" } } }, [read("src/a", { deep: true })], [[read("", { deep: true })]]],
  [{ writes: { every: { match: "src/**", except: "src/x/**" } } }, [write("src/a")], [[write("src/x/a")]]],
  [
    { writes: { every: { match: "src/**" } } },
    [write("src/a/b/c.ts"), write("src/.hidden/d")],
    [[write("srcx/a")], [write("other/src/a")], [write("src/a"), write("package.json")]],
  ],
  [{ writes: { every: { except: "src/x" } } }, [write("src/a")], [[write("src", { deep: true })]]],
  [{ writes: { every: { destroys: false } } }, [write("a")], [[write("a", { destroys: true })]]],
  [{ writes: { every: { inside: true } } }, [write("a")], [[write("a", { inside: undefined })]]],
  [{ commands: { every: "git status" } }, [exec("git", ["status", "-s"])], [[exec("git", ["push"])]]],
  [{ commands: { every: "git status" } }, [exec("git", ["status"])], [[exec("git", ["-C", "x", "status"])]]],
  [{ commands: { every: "git *" } }, [exec("git", ["x"])], [[exec("gitk")], [exec("*")]]],
  [{ commands: { every: "git status" } }, [exec("git", ["status"])], [[exec("git", [null])], [exec("git")]]],
  [{ commands: { every: ["ls", "cat"] } }, [exec("ls"), exec("cat")], [[exec("ls"), exec("rm")]]],
  [{ hosts: { every: "*.example.com" } }, [net("a.example.com")], [[net("example.com")], [net("*")]]],
  [{ hosts: { every: "*" } }, [net("a")], [[net("*")]]],
];

describe("`every`", () => {
  test.each(EVERY)("%j", (condition, matching, others) => {
    expect(holds(condition, doing(...matching), true)).toBe(true);
    for (const other of others)
      expect(holds(condition, doing(...other), true), JSON.stringify(other)).toBe(false);
  });

  test.each(EVERY)("of nothing never allows: %j", (condition) => {
    expect(holds(condition, doing(), true)).toBe(false);
    expect(holds(condition, doing(), false)).toBe(true);
  });

  const MORE: readonly Effect[] = [
    write("b", { place: "home", destroys: true }),
    exec("make", [], true),
    net("evil.com"),
    read("k", { place: "credentials" }),
  ];
  const NAMES = { read: /paths|reads|"read"/, write: /paths|writes/, exec: /commands/, net: /hosts/ };

  test.each(EVERY)("does not allow what it does not name: %j", (condition, matching) => {
    for (const effect of MORE)
      if (!NAMES[effect.kind].test(JSON.stringify(condition)))
        expect(holds(condition, doing(...matching, effect), true), effect.kind).toBe(false);
  });
});

/** Each `any` with effects of which it holds, and some of which it does not. */
const ANY: readonly (readonly [object, readonly (readonly Effect[])[], readonly (readonly Effect[])[]])[] = [
  [{ effects: { any: ["net"] } }, [[net("a"), read("b")]], [[], [read("b")]]],
  [
    { paths: { any: { place: "credentials" } } },
    [[write("a"), read("k", { place: "credentials" })]],
    [[read("a")]],
  ],
  [{ paths: { any: { place: ["home", "system"] } } }, [[read("a", { place: "system" })]], [[read("a")], []]],
  [
    { reads: { any: { match: "**/*.pem" } } },
    [[read("a/b.pem")], [read("a", { deep: true })]],
    [[write("a.pem")]],
  ],
  [
    { writes: { any: { match: "/w/dist/**" } } },
    [[write("dist/a")], [write("", { deep: true })]],
    [[write("src/a")]],
  ],
  [{ writes: { any: { destroys: true } } }, [[write("a", { destroys: true })]], [[write("a")], [read("a")]]],
  [
    { writes: { any: { recoverable: false } } },
    [[write("a", { destroys: true, recoverable: false })]],
    [[write("a", { destroys: true, recoverable: true })], [write("a", { destroys: true })], [write("a")]],
  ],
  [{ reads: { any: { passing: true } } }, [[read("a", { passing: true })]], [[read("a")], [write("a")]]],
  [{ reads: { any: { inside: false } } }, [[read("a", { inside: undefined })]], [[read("a")]]],
  [
    { commands: { any: "git push" } },
    [[exec("git", ["-C", "x", "push"])], [exec("git", [null])], [exec("git", ["push", "-f"])]],
    [[exec("git", ["pull"])], [exec("hg", ["push"])]],
  ],
  [{ commands: { any: ["rm", "dd"] } }, [[exec("ls"), exec("dd")]], [[exec("ls")], []]],
  [{ hosts: { any: "evil.com" } }, [[net("evil.com")], [net("*")]], [[net("good.com")], []]],
];

describe("`any`", () => {
  test.each(ANY)("%j", (condition, matching, others) => {
    for (const effects of matching)
      expect(holds(condition, doing(...effects)), JSON.stringify(effects)).toBe(true);
    for (const effects of others)
      expect(holds(condition, doing(...effects)), JSON.stringify(effects)).toBe(false);
  });

  test.each(ANY)("goes on to hold when the action does more: %j", (condition, matching) => {
    for (const effects of matching)
      for (const more of [read("z"), write("z"), exec("z"), net("z")])
        expect(holds(condition, doing(...effects, more))).toBe(true);
  });
});

describe("conditions in conditions", () => {
  it("hold of one of any_of", () => {
    const condition = { any_of: [{ user: "ann" }, { user: "bob" }] };
    expect(holds(condition, by({ user: "bob" }))).toBe(true);
    expect(holds(condition, by({ user: "eve" }))).toBe(false);
  });

  it("hold where all members do", () => {
    const condition = { user: "ann", mode: "plan", not: { agent: "x" } };
    expect(holds(condition, by({ user: "ann", mode: "plan" }))).toBe(true);
    expect(holds(condition, by({ user: "ann", mode: "plan", agent: "x" }))).toBe(false);
    expect(holds(condition, by({ user: "ann" }))).toBe(false);
  });

  it("never allow by an exception over nothing", () => {
    const condition = { tool_name_matches: ["bash"], not: { writes: { every: { place: "workspace" } } } };
    // Without writes, all writes are in the workspace: the exception holds, and the rule does not.
    expect(holds(condition, doing(read("a")), true)).toBe(false);
    expect(holds(condition, doing(write("a", { place: "home" })), true)).toBe(true);
  });

  it("add up to what a rule names", () => {
    const condition = { reads: { every: { place: "workspace" } }, any_of: [{ hosts: { every: "a" } }] };
    expect(holds(condition, doing(read("x"), net("a")), true)).toBe(true);
    expect(holds(condition, doing(read("x"), net("a"), write("y", { place: "home" })), true)).toBe(false);
  });
});

describe("a condition on the time", () => {
  const at = (text: string) => inputOf({ at: Date.parse(text) });
  const rows: readonly (readonly [object, string, boolean])[] = [
    [{ from: "09:00" }, "2026-01-05T09:00:00Z", true],
    [{ from: "09:00" }, "2026-01-05T08:59:59Z", false],
    [{ until: "17:00" }, "2026-01-05T16:59:59Z", true],
    [{ until: "17:00" }, "2026-01-05T17:00:00Z", false],
    [{ from: "22:00", until: "06:00" }, "2026-01-05T23:00:00Z", true],
    [{ from: "22:00", until: "06:00" }, "2026-01-05T05:59:00Z", true],
    [{ from: "22:00", until: "06:00" }, "2026-01-05T12:00:00Z", false],
    [{ from: "00:00", until: "24:00" }, "2026-01-05T23:59:59Z", true],
    [{ days: ["mon"] }, "2026-01-05T12:00:00Z", true],
    [{ days: ["tue", "sun"] }, "2026-01-05T12:00:00Z", false],
    [{ from: "09:00", zone: "Europe/Berlin" }, "2026-01-05T08:30:00Z", true],
    [{ from: "09:00", zone: "Europe/Berlin" }, "2026-07-06T07:30:00Z", true],
    [{ from: "09:00", zone: "America/New_York" }, "2026-01-05T08:30:00Z", false],
    [{ days: ["mon"], zone: "Asia/Tokyo" }, "2026-01-04T20:00:00Z", true],
  ];
  test.each(rows)("%j at %s: %s", (time, text, expected) => {
    expect(holds({ time }, at(text))).toBe(expected);
  });
});

describe("harmless", () => {
  const rows: readonly (readonly [string, readonly Effect[], boolean])[] = [
    ["nothing", [], true],
    ["a read in the workspace", [read("a")], true],
    ["a read in the session's own folder", [read("a", { place: "temporary" })], true],
    ["a read in a shared folder", [read("a", { place: "shared" })], false],
    ["a read at home", [read("a", { place: "home" })], false],
    ["a read of a key", [read("a", { place: "credentials" })], false],
    ["a read of an unknown path", [read("a", { place: "unknown" })], false],
    ["a read of what all may read", [{ kind: "read", path: "/usr/bin/env", place: "system" }], true],
    ["a read of the rest of the system", [{ kind: "read", path: "/var/lib/x", place: "system" }], false],
    ["a write in the workspace", [write("a")], true],
    ["a loss that can be undone", [write("a", { destroys: true, recoverable: true })], true],
    ["a loss that cannot", [write("a", { destroys: true, recoverable: false })], false],
    ["a write to what runs later", [write("a", { place: "persistence" })], false],
    ["a program whose words say all", [exec("ls")], true],
    ["a program whose words do not", [exec("make", [], true)], false],
    ["speaking to a host", [net("a")], false],
    ["asking a service", [net("service:docker", { looks: true })], true],
  ];
  test.each(rows)("%s", (_, effects, expected) => {
    const { action } = doing(...effects);
    expect(isHarmless(action)).toBe(expected);
    expect(isHarmless({ ...action, opaque: true })).toBe(false);
    expect(isHarmless({ ...action, doubts: ["why"] })).toBe(false);
    expect(holds({ harmless: true }, doing(...effects))).toBe(expected);
    expect(holds({ harmless: false }, doing(...effects))).toBe(!expected);
  });
});
