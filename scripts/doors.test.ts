import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { hookAgents } from "../packages/agents/src/hooks/hook-agents.ts";
import { EventType, SPECIALISED_EVENT_TYPES } from "../packages/ahp/src/protocol/event.ts";
import { OTHER_DOORS } from "../packages/api/src/access-matrix.ts";
import {
  agentOperations,
  hostOperations,
  operations,
  operatorOperations,
} from "../packages/api/src/operations.ts";
import { GATEWAY_METHODS } from "../packages/gateway/src/dialects.ts";
import { ExecutorType } from "../packages/graph/src/declaration/grammar.ts";
import {
  AGENT_DOORS,
  AHP_DOORS,
  CLIENT_DOORS,
  CUSTOM,
  type Door,
  EXECUTOR_DOORS,
  HAAK_DOORS,
  HOOK_DOORS,
  MCP_AGENT_DOORS,
  MCP_SERVER_DOORS,
  MODEL_DOORS,
  PROMPT_DOORS,
  UPDATE_DOORS,
} from "../packages/host/src/control/doors.ts";
import { OPERATION_DOORS, SERVER_DOORS } from "../packages/host/src/control/operation-doors.ts";
import { AGENT_REQUESTS } from "../packages/host/src/governor/agent-requests.ts";
import { AGENT_NOTIFICATIONS } from "../packages/host/src/governor/known-methods.ts";
import { EXTENSIONS } from "../packages/host/src/hub/extensions.ts";
import { isHousekeeping } from "../packages/mcp/src/relay/governed-methods.ts";

const root = join(import.meta.dirname, "..");
const modules = join(root, "node_modules");

/** Methods that are missing from a table of doors. */
const without = (doors: object, methods: Iterable<string>) =>
  [...new Set(methods)].filter((method) => !Object.hasOwn(doors, method)).toSorted();

/** The methods of ACP by the side that answers them, unstable ones included. */
async function acpMethods(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const sides = new Map<string, Set<string>>();
  const collect = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const { "x-side": side, "x-method": method } = { "x-side": "", "x-method": "", ...value };
    if (method !== "") sides.set(side, (sides.get(side) ?? new Set()).add(method));
    for (const member of Object.values(value)) collect(member);
  };
  for (const schema of await acpSchemas()) collect(schema);
  return sides;
}

/** The variants of a union of ACP, by the member that tells them apart. */
async function acpVariants(union: string, member: string): Promise<readonly string[]> {
  const variants = (await acpSchemas()).flatMap(({ $defs }) => $defs[union]?.oneOf ?? []);
  return variants.flatMap(({ properties }) => properties[member]?.const ?? []);
}

interface AcpSchema {
  readonly $defs: Record<string, { oneOf?: { properties: Record<string, { const?: string }> }[] }>;
}

async function acpSchemas(): Promise<readonly AcpSchema[]> {
  const folder = join(modules, "@agentclientprotocol/sdk/schema/v1");
  const read = async (name: string): Promise<AcpSchema> =>
    JSON.parse(await readFile(join(folder, name), "utf8"));
  return Promise.all(["schema.json", "schema.unstable.json"].map(read));
}

describe("ACP", () => {
  test("has a row for every method of clients and agents, unstable ones included", async () => {
    const sides = await acpMethods();
    const of = (...names: string[]) => names.flatMap((name) => [...(sides.get(name) ?? [])]);
    expect([...sides.keys()].toSorted()).toEqual(["agent", "client", "protocol", "proxy"]);
    expect(of("agent").length).toBeGreaterThan(20);
    expect(without(CLIENT_DOORS, of("agent", "protocol", "proxy"))).toEqual([]);
    expect(without(AGENT_DOORS, of("client", "protocol", "proxy"))).toEqual([]);
  });

  test("has a row for every kind of update and of content in a prompt", async () => {
    const updates = await acpVariants("SessionUpdate", "sessionUpdate");
    const contents = await acpVariants("ContentBlock", "type");
    expect([updates.length > 10, contents.length > 4]).toEqual([true, true]);
    expect(without(UPDATE_DOORS, updates)).toEqual([]);
    expect(without(PROMPT_DOORS, contents)).toEqual([]);
  });

  test("is answered for agents by exactly the methods whose row is open", () => {
    const handled = [...AGENT_REQUESTS.keys(), ...AGENT_NOTIFICATIONS];
    const open = Object.entries(AGENT_DOORS).flatMap(([method, door]) => ("closed" in door ? [] : [method]));
    const elsewhere = ["session/update", "$/cancel_request", CUSTOM];
    expect([...handled, ...elsewhere].toSorted()).toEqual(open.toSorted());
  });

  test("is extended by no method without a row", () => {
    expect(without(CLIENT_DOORS, Object.values(EXTENSIONS))).toEqual([]);
  });

  test("is spoken nowhere in the host by a method without a row", async () => {
    const rows = {
      ...CLIENT_DOORS,
      ...AGENT_DOORS,
      ...Object.fromEntries(CALLER_TOOLS.map((tool) => [tool, 1])),
    };
    const found = await namesIn(
      ["governor", "hub", "sessions", "control"].map((folder) => `packages/host/src/${folder}`),
      /"((?:session|fs|terminal|providers|elicitation|auth|proxy|_sandboxagent\/session)\/[a-z_]+)"/g,
    );
    expect(found.size).toBeGreaterThan(20);
    expect(without(rows, found)).toEqual(NO_METHODS);
  });
});

/** The names under which rules know what callers of the API do. */
const CALLER_TOOLS = Object.values(OPERATION_DOORS).flatMap((door: Door) =>
  "tool" in door && door.tool !== undefined ? [door.tool] : [],
);

/** Names in that form that are no methods: tools in rules, and what Reins sends to clients. */
const NO_METHODS = ["_sandboxagent/session/ended", "session/subagent", "session/unprompted_turn"];

describe("hooks of agents in terminals", () => {
  test("have a row for every event, and are decided where the row says so", () => {
    for (const { decides, reports } of hookAgents()) {
      expect(without(HOOK_DOORS, [...decides, ...reports])).toEqual([]);
      for (const event of decides) expect(HOOK_DOORS).toHaveProperty([event, "point"], "agent_event");
      for (const event of reports) expect(HOOK_DOORS).toHaveProperty([event, "none"]);
    }
  });

  test("bring each event as the one of AHP whose row says the same", async () => {
    const program = await readFile(join(root, "packages/agents/catalogue/files/reins-hook.mjs"), "utf8");
    const table = /const EVENTS = \{([^}]*)\}/.exec(program)?.[1] ?? "";
    const events = Object.fromEntries(
      [...table.matchAll(/(\w+): "(\w+)"/g)].map(([, from, to]) => [from, to]),
    );
    expect(Object.keys(events).toSorted()).toEqual(Object.keys(HOOK_DOORS).toSorted());
    for (const [from, to] of Object.entries(events))
      expect([from, Object.entries(HOOK_DOORS).find(([name]) => name === from)?.[1]]).toEqual([
        from,
        Object.entries(AHP_DOORS).find(([name]) => name === to)?.[1],
      ]);
  });
});

test("the gateway to models serves exactly the methods that have a row", () => {
  expect(GATEWAY_METHODS.map(({ name }) => name).toSorted()).toEqual(Object.keys(MODEL_DOORS).toSorted());
});

describe("MCP", () => {
  test("has a row for every request and notification of the specification", async () => {
    const { agent, server } = await mcpMethods();
    expect(agent.length).toBeGreaterThan(20);
    expect(without(MCP_AGENT_DOORS, agent)).toEqual([]);
    expect(without(MCP_SERVER_DOORS, server)).toEqual([]);
  });

  test("passes without a verdict only what its row says", () => {
    const passes = (doors: object) =>
      Object.entries(doors).flatMap(([method, door]) => ("none" in door ? [method] : []));
    const inCode = (doors: object, ...senders: Parameters<typeof isHousekeeping>[1][]) =>
      Object.keys(doors).filter((method) => senders.some((sender) => isHousekeeping(method, sender)));
    // A call of a tool is governed where it is handled.
    const agent = [...passes(MCP_AGENT_DOORS), "tools/call"];
    expect(inCode(MCP_AGENT_DOORS, "agent request", "agent notification").toSorted()).toEqual(
      agent.toSorted(),
    );
    expect(inCode(MCP_SERVER_DOORS, "server request")).toEqual(passes(MCP_SERVER_DOORS));
  });
});

/** The methods of MCP's schemas, by who sends them. */
async function mcpMethods(): Promise<{ readonly agent: string[]; readonly server: string[] }> {
  const core = pathToFileURL(join(modules, "@modelcontextprotocol/core/dist/index.mjs"));
  const schemas: Record<string, unknown> = await import(core.href);
  const of = (...names: string[]) =>
    names.flatMap((name) => {
      const { options } = schemas[name] as { options: { shape: { method: { value: string } } }[] };
      return options.map(({ shape }) => shape.method.value);
    });
  const notifications = of("ClientNotificationSchema", "ServerNotificationSchema");
  return { agent: [...of("ClientRequestSchema"), ...notifications], server: of("ServerRequestSchema") };
}

test("AHP has a row for every event, and decides those that ask", () => {
  expect(Object.keys(AHP_DOORS).toSorted()).toEqual([...EventType.options].toSorted());
  const decided = Object.entries(AHP_DOORS).flatMap(([type, door]) => ("point" in door ? [type] : []));
  expect(decided.toSorted()).toEqual(["pre_action", "pre_prompt", ...SPECIALISED_EVENT_TYPES].toSorted());
});

test("graphs have a row for every type of executor", () => {
  expect(Object.keys(EXECUTOR_DOORS).toSorted()).toEqual([...ExecutorType.options].toSorted());
});

describe("the API", () => {
  const all = [...operations, ...agentOperations, ...hostOperations, ...operatorOperations];

  test("has a row for every operation, and for every other way into the server", () => {
    expect(Object.keys(OPERATION_DOORS).toSorted()).toEqual(all.map(({ id }) => id).toSorted());
    expect(Object.keys(SERVER_DOORS).toSorted()).toEqual(Object.keys(OTHER_DOORS).toSorted());
  });

  test("is decided under names that rules know", async () => {
    const table = await readFile(join(root, "packages/policy/tables/tools/acp.json"), "utf8");
    const { tools }: { tools: object } = JSON.parse(table);
    expect(CALLER_TOOLS.length).toBeGreaterThan(10);
    expect(without(tools, CALLER_TOOLS)).toEqual([]);
  });

  test("is served by the router alone, which takes no route that is not declared", async () => {
    const serves = /\b(?:application|router)\.(route|get|head|post|put|patch|delete|all|any)\(\s*[{"`]/g;
    const upgrades = /\bon\(\s*"(upgrade)"/g;
    const files = async (pattern: RegExp) => namesPerFile(["packages/server/src"], pattern);
    expect(await files(serves)).toEqual([["routes/operation-router.ts", "route"]]);
    expect(await files(upgrades)).toEqual([["gateway/listener.ts", "upgrade"]]);
  });
});

test("HAAK has a row for every message that its gateway answers, and for no other", async () => {
  const found = await namesIn(["packages/server/src/haak"], /case "([a-z]+\.[a-z_]+)":/g);
  expect([...found].toSorted()).toEqual(Object.keys(HAAK_DOORS).toSorted());
});

test("the host has events decided in its control folder alone", async () => {
  const folders = (await readdir(join(root, "packages/host/src"), { withFileTypes: true }))
    .filter((entry) => entry.isDirectory() && entry.name !== "control")
    .map(({ name }) => `packages/host/src/${name}`);
  const decides = /\b(supervisor\.(?:decide|settle|preview|refuse)|awaitVerdict)\(/g;
  expect(folders.length).toBeGreaterThan(3);
  expect([...(await namesIn(folders, decides))]).toEqual([]);
  expect([...(await namesIn(["packages/host/src/control"], decides))]).toContain("supervisor.decide");
});

test("a dry run of the policy gives no permission", async () => {
  const packages = (await readdir(join(root, "packages"))).map((name) => `packages/${name}/src`);
  // Each is followed by a verdict on record, or narrows what one allowed.
  const uses: Readonly<Record<string, readonly string[]>> = {
    "foresee(": ["#stillAllowed", "strictnessIn", "isForeseen"],
    "isForeseen(": ["mcpExecutors", "decideAndPerform", "isAllowedUnasked", "#hold"],
    "isAllowedUnasked(": ["mayRead", "mayRead"],
    "services.mayRead?.(": ["perform"],
  };
  for (const [call, callers] of Object.entries(uses))
    expect([call, ...(await callersOf(packages, call))]).toEqual([call, ...callers]);
});

/** The functions of the production code of some folders in which a call stands. */
async function callersOf(folders: readonly string[], call: string): Promise<readonly string[]> {
  const callers: string[] = [];
  for (const folder of folders)
    for (const file of await readdir(join(root, folder), { recursive: true }).catch(() => [])) {
      if (!file.endsWith(".ts") || file.endsWith(".test.ts")) continue;
      let caller = file;
      for (const line of (await readFile(join(root, folder, file), "utf8")).split("\n")) {
        const named =
          /^(?:export )?(?:async )?function (\w+)|^ {2}(?:async )?(#?\w+)(?:<.*>)?\(|^\s+const (\w+) = (?:async )?\(/.exec(
            line,
          );
        caller = named?.[1] ?? named?.[2] ?? named?.[3] ?? caller;
        const isCall =
          line.includes(call) && !line.includes(`async ${call}`) && !line.includes(`function ${call}`);
        if (isCall && !/^\s*(?:\/?\*|\/\/)/.test(line)) callers.push(caller);
      }
    }
  return callers;
}

/** What a pattern finds in the production code of some folders. */
async function namesIn(folders: readonly string[], pattern: RegExp): Promise<ReadonlySet<string>> {
  return new Set((await namesPerFile(folders, pattern)).map(([, name]) => name));
}

/** The same with the file of each, once. */
async function namesPerFile(
  folders: readonly string[],
  pattern: RegExp,
): Promise<readonly (readonly [string, string])[]> {
  const found = new Map<string, readonly [string, string]>();
  for (const folder of folders)
    for (const file of await readdir(join(root, folder), { recursive: true })) {
      if (!file.endsWith(".ts") || file.endsWith(".test.ts")) continue;
      const text = await readFile(join(root, folder, file), "utf8");
      for (const [, name = ""] of text.matchAll(pattern)) found.set(`${file} ${name}`, [file, name]);
    }
  return [...found.values()].toSorted(([one], [other]) => one.localeCompare(other));
}
