import { describe, expect, test } from "vitest";
import type { Effect, EffectKind } from "../action.ts";
import { loadPolicy } from "../constitution/load.ts";
import type { Subject } from "../subject.ts";

const subject: Subject = {
  user: "ann",
  tenant: "acme",
  roles: [],
  scopes: [],
  agent: "coder",
  trust: "registered",
  session: "s1",
  started: "interactive",
  chain: [],
  depth: 0,
  mode: "default",
  enforcement: "asked",
};

interface Given {
  readonly tool?: string;
  readonly effects?: readonly Effect[];
  readonly opaque?: boolean;
  readonly unaccounted?: true;
  readonly doubts?: readonly string[];
  readonly subject?: Partial<Subject>;
}

function matches(condition: string, verdict: string, given: Given): boolean {
  const policy = loadPolicy({
    file: "c.yaml",
    rules: `tool_rules: [{ name: r, condition: ${condition}, verdict: ${verdict} }]`,
    prose: new Uint8Array(),
  });
  const { tool = "Bash", effects = [], opaque = false, unaccounted, doubts = [] } = given;
  const action = {
    tool,
    effects,
    opaque,
    doubts,
    claims: {},
    arguments: {},
    ...(unaccounted && { unaccounted }),
  };
  const who = { ...subject, ...given.subject };
  return policy.decide({ event_type: "pre_action", action, subject: who, counters: {}, at: 0 }).rule === "r";
}

const EVERY: readonly (readonly [condition: string, kind: readonly EffectKind[]])[] = [
  ["effects: { every: [read, write, exec, net] }", ["read", "write", "exec", "net"]],
  ["paths: { every: { place: [workspace, home] } }", ["read", "write"]],
  ["reads: { every: { place: [workspace, home] } }", ["read"]],
  ["writes: { every: { place: [workspace, home] } }", ["write"]],
  ["commands: { every: ['*'] }", ["exec"]],
  ["hosts: { every: ['*'] }", ["net"]],
];
const EFFECTS: Readonly<Record<EffectKind, Effect>> = {
  read: { kind: "read", path: "/h/a", place: "home" },
  write: { kind: "write", path: "/h/a", place: "home", destroys: false },
  exec: { kind: "exec", command: "python3", arguments: ["x.py"], opaque: true },
  net: { kind: "net", host: "example.com" },
};
const isOpaque = (effects: readonly Effect[]) => effects.some((one) => one.kind === "exec" && one.opaque);

describe("a rule that allows", () => {
  test.each(EVERY)("does not hold by %s over nothing", (every) => {
    for (const condition of [
      `{ ${every} }`,
      `{ any_of: [{ ${every} }] }`,
      `{ not: { not: { ${every} } } }`,
      `{ tool_name_matches: [Bash], ${every} }`,
    ]) {
      expect(matches(condition, "allowed", {}), condition).toBe(false);
      expect(matches(condition, "allowed", { opaque: true, doubts: ["unknown"] }), condition).toBe(false);
    }
  });

  test.each(EVERY)("by %s lets no effect pass that it does not name", (every, named) => {
    const kinds = Object.keys(EFFECTS) as EffectKind[];
    for (const kind of kinds)
      for (const other of kinds) {
        const effects = [EFFECTS[kind], EFFECTS[other]];
        const given = { effects, opaque: isOpaque(effects) };
        const isNamed = named.includes(kind) && named.includes(other);
        expect(matches(`{ ${every} }`, "allowed", given), `${kind}, ${other}`).toBe(isNamed);
      }
  });

  test("by any lets only harmless effects pass beside the one that it found", () => {
    const git: Effect = { kind: "exec", command: "git", arguments: ["status"], opaque: false };
    const condition = "{ commands: { any: ['git status'] } }";
    expect(matches(condition, "allowed", { effects: [git] })).toBe(true);
    for (const effect of Object.values(EFFECTS)) {
      const effects = [git, effect];
      expect(matches(condition, "allowed", { effects, opaque: isOpaque(effects) })).toBe(false);
    }
  });

  test("answers for the programs it names, and not for what changes them", () => {
    const effects: Effect[] = [{ kind: "exec", command: "npm", arguments: ["test"], opaque: true }];
    const given = { effects, opaque: true, doubts: ["npm runs what the project's scripts say"] };
    const condition = "{ commands: { every: ['npm test'] } }";
    expect(matches(condition, "allowed", given)).toBe(true);
    expect(matches(condition, "allowed", { ...given, unaccounted: true })).toBe(false);
  });

  test("takes options of any_of together with what surrounds them, and each by itself", () => {
    const condition =
      "{ hosts: { every: [example.com] }, any_of: [{ commands: { every: [curl] } }, { writes: { every: { place: workspace } } }] }";
    const curl: Effect = { kind: "exec", command: "curl", arguments: [], opaque: false };
    const write: Effect = { kind: "write", path: "/w/a", inside: "a", place: "workspace", destroys: false };
    expect(matches(condition, "allowed", { effects: [curl, EFFECTS.net] })).toBe(true);
    expect(matches(condition, "allowed", { effects: [write, EFFECTS.net] })).toBe(true);
    expect(matches(condition, "allowed", { effects: [curl, EFFECTS.net, EFFECTS.write] })).toBe(false);
    expect(matches(condition, "allowed", { effects: [EFFECTS.net] })).toBe(false);
  });

  test("by a name that belongs to clients holds for them alone, whatever else it says", () => {
    const names = [
      ...["session/set_mode", "session/set_config_option", "session/set_model", "session/new"],
      ...["authenticate", "logout", "initialize", "providers/list", "providers/set"],
    ];
    for (const tool of names) {
      for (const pattern of [tool, "*"]) {
        const condition = `{ tool_name_matches: ["${pattern}"] }`;
        expect(matches(condition, "allowed", { tool, opaque: true })).toBe(false);
        expect(matches(condition, "allowed", { tool, subject: { origin: "client" } })).toBe(true);
        expect(matches(condition, "blocked", { tool, opaque: true })).toBe(true);
      }
    }
  });
});

describe("a rule that stops", () => {
  test.each(EVERY)("holds by %s over nothing", (every) => {
    for (const verdict of ["blocked", "ask", "defer"]) {
      expect(matches(`{ ${every} }`, verdict, {})).toBe(true);
      expect(matches(`{ not: { ${every} } }`, verdict, {})).toBe(false);
    }
  });
});
