import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type JsonObject, membersOf } from "@reins/acp";
import { McpGateway, readServer } from "@reins/mcp";
import { type Harness, Redactor } from "@reins/supervisor";
import { describe, expect, onTestFinished, test } from "vitest";
import { stdioServer } from "../../mcp/system/fixtures/home.ts";
import { RawAgent } from "../../mcp/system/fixtures/raw-agent.ts";
import { bash, govern, UNASKED } from "./fixtures/governed.ts";
import { openTestHome, type TestHome } from "./fixtures/home.ts";
import { openNative } from "./fixtures/native.ts";
import { ScriptedAgent, type Stage } from "./fixtures/scripted-agent.ts";

const RULES = `
tool_rules: [{ name: all, condition: {}, verdict: allowed }]
limits: [{ name: calls, per: user, within: 1h, calls: 10000 }]`;

/** Everything that is counted once for an action: its event on the record, its verdict, its charge. */
interface Counts {
  readonly events: readonly string[];
  readonly verdicts: number;
  readonly charges: number;
}

/** What is counted while something is done. */
function counting({ harness, entries }: Pick<TestHome, "harness" | "entries">) {
  let verdicts = 0;
  const decided = () => {
    verdicts += 1;
  };
  onTestFinished(harness.supervisor.observe({ decided, turnEnded: () => undefined }));
  const now = async () => ({ events: await eventsOf(entries), verdicts, charges: await chargesOf(harness) });
  return async (act: () => Promise<unknown>): Promise<Counts> => {
    const before = await now();
    await act();
    const after = await now();
    return {
      events: after.events.slice(before.events.length),
      verdicts: after.verdicts - before.verdicts,
      charges: after.charges - before.charges,
    };
  };
}

async function eventsOf(entries: TestHome["entries"]): Promise<readonly string[]> {
  return (await entries("policy_verdict"))
    .map(({ target, payload }) => ({ target, type: String(membersOf(payload).event_type) }))
    .filter(({ type }) => type !== "tool_offer")
    .map(({ target, type }) => `${type} ${target}`.trim());
}

async function chargesOf({ identity, supervisor }: Harness): Promise<number> {
  const principal = identity.local();
  const who = { principal, agent: "claude", hosted: true, session: "s", enforcement: "asked" } as const;
  const [limit] = await supervisor.budget(identity.subjectFor(who));
  return limit?.used.calls ?? 0;
}

const ALWAYS = { optionId: "always", name: "Always", kind: "allow_always" };
const NEVER = { optionId: "no", name: "No", kind: "reject_once" };
const OPTIONS = [{ optionId: "yes", name: "Yes", kind: "allow_once" }, NEVER];

const once = (event: string): Counts => ({ events: [event], verdicts: 1, charges: 1 });

async function open() {
  const home = await openTestHome({ rules: RULES });
  const agent = new ScriptedAgent({
    initialize: () => ({ protocolVersion: 1, agentCapabilities: {}, _meta: { acme: {} } }),
  });
  const capabilities = { terminal: true, elicitation: { form: {} }, _meta: { acme: {} } };
  const servers = await McpGateway.open({ redactor: Redactor.create() });
  onTestFinished(() => servers.close());
  const governed = await govern({ home, agent, capabilities, servers });
  return { ...governed, count: counting(home) };
}

/** The ways by which an action of an agent arrives in a turn, each with the event that it becomes. */
const IN_A_TURN: Readonly<
  Record<string, readonly [event: string, act: (stage: Stage, file: string) => Promise<unknown>]>
> = {
  "a permission request": [
    "pre_action Bash",
    async ({ ask, update }) => {
      await ask(bash("ls"));
      await update({ sessionUpdate: "tool_call_update", toolCallId: "call-1", status: "completed" });
    },
  ],
  "a permission request for a call that was announced and runs": [
    "pre_action Bash",
    async ({ ask, update }) => {
      await update({ sessionUpdate: "tool_call", status: "pending", ...bash("ls") });
      await ask(bash("ls"));
      for (const status of ["in_progress", "in_progress", "completed", "completed"])
        await update({ sessionUpdate: "tool_call_update", status, ...bash("ls") });
    },
  ],
  "a file that is read": [
    "pre_action fs/read_text_file",
    ({ request, sessionId }, path) => request("fs/read_text_file", { sessionId, path }),
  ],
  "a file that is written": [
    "pre_action fs/write_text_file",
    ({ request, sessionId }, path) => request("fs/write_text_file", { sessionId, path, content: "new" }),
  ],
  "a permission request whose file is then written through Reins": [
    "pre_action Write",
    async ({ ask, request, update, sessionId }, path) => {
      const content = [{ type: "diff", path, oldText: "", newText: "new" }];
      const rawInput = { file_path: path, content: "new" };
      await ask({ toolCallId: "w", name: "Write", kind: "edit", title: "Write", rawInput, content });
      await request("fs/write_text_file", { sessionId, path, content: "new" });
      await update({ sessionUpdate: "tool_call_update", toolCallId: "w", status: "completed" });
    },
  ],
  "a terminal with its output and its end": [
    "pre_action terminal/create",
    async ({ request, sessionId }) => {
      const { terminalId } = membersOf(await request("terminal/create", { sessionId, command: "ls" }));
      for (const method of ["terminal/output", "terminal/kill", "terminal/release"])
        await request(method, { sessionId, terminalId });
    },
  ],
  "a question to people": [
    "pre_action elicitation/create",
    ({ request, sessionId }) =>
      request("elicitation/create", { sessionId, mode: "form", message: "?", requestedSchema: {} }),
  ],
  "a custom method of a client": [
    "pre_action _acme/run",
    ({ request, sessionId }) => request("_acme/run", { sessionId, x: 1 }),
  ],
  "an act that was not asked for": ["post_action Bash", ({ update }) => update(UNASKED)],
};

describe("an action has one event, one verdict and one charge", () => {
  test.each(Object.entries(IN_A_TURN))("as %s", async (_, [event, act]) => {
    const { begin, prompt, workspace, count } = await open();
    const file = join(workspace, "a.txt");
    await writeFile(file, "old");
    let counts: Counts | undefined;
    await prompt(await begin(), async (stage) => {
      counts = await count(async () => {
        await act(stage, file);
        // What was sent before it was taken in when this is answered.
        await stage.request("unknown/method", { sessionId: stage.sessionId }).catch(() => undefined);
      });
      return undefined;
    });
    expect(counts).toEqual(once(event));
  });

  const PROMPTS: Readonly<
    Record<string, readonly [more: readonly string[], prompt: (file: string) => JsonObject[]]>
  > = {
    "its text": [[], () => [{ type: "text", text: "hello" }]],
    "a file that it mentions, twice": [
      ["pre_action fs/read_text_file"],
      (file) => [{ type: "text", text: `look at @${file} and @${file}` }],
    ],
    "a link to a file": [
      ["pre_action fs/read_text_file"],
      (file) => [{ type: "resource_link", name: "a", uri: `file://${file}` }],
    ],
    "a command that switches asking off": [
      ["pre_action session/set_mode"],
      () => [{ type: "text", text: "/yolo" }],
    ],
  };
  test.each(Object.entries(PROMPTS))("as a prompt with %s", async (_, [more, blocks]) => {
    const { begin, call, workspace, count } = await open();
    const file = join(workspace, "a.txt");
    await writeFile(file, "text");
    const sessionId = await begin();
    const counts = await count(() => call("session/prompt", { sessionId, prompt: blocks(file) }));
    const events = ["pre_prompt", ...more];
    expect(counts).toEqual({ events, verdicts: events.length, charges: events.length });
  });

  test.each([
    ["a request", "request"],
    ["a notification", "notification"],
  ] as const)("as a setting by %s", async (_, way) => {
    const { begin, governor, count } = await open();
    const params = { sessionId: await begin(), modeId: "plan" };
    const { signal } = new AbortController();
    const counts = await count(() =>
      way === "request"
        ? governor.request("session/set_mode", params, { signal })
        : governor.notification("session/set_mode", params),
    );
    expect(counts).toEqual(once("pre_action session/set_mode"));
  });

  test("as the start of a session, of its MCP server, and as a call of a tool there", async () => {
    const { begin, prompt, agent, count } = await open();
    const log = join((await openTestHome()).workspace, "mcp.log");
    const mcpServers = [stdioServer("hostile.ts", [log, "[[[]]]"])];
    let id = "";
    const counts = await count(async () => {
      id = await begin({ mcpServers });
    });
    expect(counts.events).toEqual(["session_start session/new", "pre_action mcp/start"]);
    expect([counts.verdicts, counts.charges]).toEqual([2, 2]);
    const started = agent.got.find(({ method }) => method === "session/new");
    const [server] = (started?.params.mcpServers ?? []) as unknown[];
    const raw = RawAgent.start(readServer(server));
    await raw.introduce();
    let called: Counts | undefined;
    await prompt(id, async () => {
      called = await count(() => raw.ask(1, "tools/call", { name: "polite", arguments: {} }));
      return undefined;
    });
    expect(called).toEqual(once(`pre_action mcp:${readServer(mcpServers[0]).name}/polite`));
  });

  test("as a tool of the native agent", async () => {
    const native = await openNative({ rules: RULES });
    await writeFile(join(native.workspace, "README.md"), "# Heather\n");
    const counts = await counting(native)(() => native.client.prompt(native.id, "what is in this folder?"));
    expect(counts.events.filter((event) => event === "pre_action list_files")).toHaveLength(1);
    expect([counts.verdicts, counts.charges]).toEqual([counts.events.length, counts.events.length]);
  });
});

describe("the ledger, the agent and its clients have one verdict", () => {
  const rules = (rule: string) => `
tool_rules: [${rule}, { name: all, condition: {}, verdict: allowed }]
limits: [{ name: calls, per: user, within: 1h, calls: 10000 }]`;
  const verdictsIn = async (entries: TestHome["entries"]) =>
    (await entries("policy_verdict"))
      .map(({ target, payload }) => ({ target, ...membersOf(payload) }) as JsonObject)
      .filter(({ event_type }) => event_type === "pre_action" || event_type === "post_action")
      .map(({ target, verdict }) => `${target} ${verdict}`);

  test.each([
    ["a modified call, whose new arguments the agent cannot be sent", bash("make deploy"), OPTIONS],
    ["an allowed call, for an agent that takes no permission for once", bash("ls"), [ALWAYS, NEVER]],
  ])("on %s", async (_, toolCall, options) => {
    const dry = `{ name: dry, condition: { arguments: { command: "make deploy" } }, verdict: modify, patch: { command: "ls" } }`;
    const home = await openTestHome({ rules: rules(dry) });
    const { begin, prompt, shown } = await govern({ home });
    const id = await begin();
    const before = await chargesOf(home.harness);
    let answer: JsonObject = {};
    await prompt(id, async ({ request }) => {
      answer = membersOf(await request("session/request_permission", { toolCall, options }));
      return undefined;
    });
    const { outcome, _meta } = answer;
    expect([outcome, _meta]).toMatchObject([{ optionId: "no" }, { reins: { verdict: "blocked" } }]);
    expect(JSON.stringify(shown)).toContain('"verdict":"blocked"');
    expect(await verdictsIn(home.entries)).toEqual(["Bash blocked"]);
    // The prompt alone.
    expect((await chargesOf(home.harness)) - before).toBe(1);
  });

  test("on a file that a rule would have written with other content", async () => {
    const dry = `{ name: dry, condition: { arguments: { content: mine } }, verdict: modify, patch: { content: ours } }`;
    const home = await openTestHome({ rules: rules(dry) });
    const { begin, prompt } = await govern({ home });
    await prompt(await begin(), async ({ request }) => {
      const path = join(home.workspace, "a.txt");
      const written = request("fs/write_text_file", { path, content: "mine" });
      await expect(written).rejects.toMatchObject({ data: { reins: { verdict: "blocked" } } });
      return undefined;
    });
    expect(await verdictsIn(home.entries)).toEqual(["fs/write_text_file blocked"]);
  });

  test("on an act that a rule asks about and that is done: blocked, with no question", async () => {
    const ask = "{ name: ask, condition: { tool_name_matches: [Bash] }, verdict: ask }";
    const home = await openTestHome({ rules: rules(ask) });
    const { begin, prompt, offered, agent } = await govern({ home });
    await prompt(await begin(), async ({ update, cancelled }) => {
      await update(UNASKED);
      await cancelled;
      return undefined;
    });
    expect(await verdictsIn(home.entries)).toEqual(["Bash blocked"]);
    expect(agent.got.map(({ method }) => method)).toContain("session/cancel");
    expect(offered).toEqual([]);
    expect(await home.harness.approvals.list({ tenant: "default", state: "pending" })).toEqual([]);
  });
});
