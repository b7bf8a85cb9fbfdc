import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JsonObject, membersOf } from "@reins/acp";
import { Catalogue } from "@reins/agents";
import { KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { McpGateway } from "@reins/mcp";
import type { Sandbox } from "@reins/runner";
import { Owner } from "@reins/runner";
import { reply, ScriptedModel, say } from "@reins/scripted-model";
import { openSqlite } from "@reins/store";
import { Harness, harnessTables, Redactor, writeFirstFiles } from "@reins/supervisor";
import { testAgents } from "../../../agents/test/test-agents.ts";
import { AgentHost } from "../../src/hosting/agent-host.ts";
import { hostTables } from "../../src/hosting/tables.ts";
import type { Connection } from "../../src/hub/connection.ts";
import { Hub } from "../../src/hub/hub.ts";
import { EventLog } from "../../src/log/event-log.ts";

/** What a person does with a question: choose an option of a kind, or leave it open. */
type Choice = "allow_once" | "reject_once" | "silent";
/** A person who does the same with every question, or looks at it first. */
export type Person = Choice | ((question: JsonObject) => Choice);

/** A real agent in a home of its own, with a scripted model, under the rules that every new home has. */
export class MatrixAgent implements AsyncDisposable {
  readonly agent: string;
  readonly model: ScriptedModel;
  readonly workspace: string;
  /** A folder that is neither the workspace nor Reins's. */
  readonly outside: string;
  /** What the person does with the next questions. */
  person: Person = "reject_once";
  readonly asked: JsonObject[] = [];
  readonly updates: JsonObject[] = [];
  readonly #base: string;
  readonly #sandbox: Sandbox | undefined;
  #opened!: Opened;

  private constructor(agent: string, base: string, model: ScriptedModel, sandbox: Sandbox | undefined) {
    this.agent = agent;
    this.#base = base;
    this.model = model;
    this.#sandbox = sandbox;
    this.workspace = join(base, "workspace");
    this.outside = join(base, "outside");
  }

  /** Installs the agent if need be, and starts everything around it. */
  static async open(agent: string, sandbox: Sandbox | undefined): Promise<MatrixAgent> {
    const base = await realpath(await mkdtemp(join(tmpdir(), `reins-matrix-${agent}-`)));
    const { wordings } = Catalogue.load();
    const model = await ScriptedModel.listen({ script: () => reply(say("-")), wordings });
    const opened = new MatrixAgent(agent, base, model, sandbox);
    await mkdir(join(base, "home"), { mode: 0o700 });
    await mkdir(opened.workspace);
    await mkdir(opened.outside);
    await opened.#start();
    return opened;
  }

  /** Begins a session in a new folder of the workspace. */
  async begin(more: JsonObject = {}): Promise<{ readonly id: string; readonly folder: string }> {
    const folder = await mkdtemp(join(this.workspace, "task-"));
    const { sessionId } = await this.request("session/new", { cwd: folder, mcpServers: [], ...more });
    return { id: String(sessionId), folder };
  }

  prompt(sessionId: string, text: string): Promise<JsonObject> {
    return this.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  }

  async request(method: string, params: JsonObject): Promise<JsonObject> {
    return membersOf(await this.#opened.connection.request(method, params, new AbortController().signal));
  }

  cancel(sessionId: string): Promise<void> {
    return this.#opened.connection.notification("session/cancel", { sessionId });
  }

  /** The verdicts on actions since the ledger had so many entries, oldest first, and what was seen to happen unasked. */
  async recordsAfter(size: number): Promise<Recorded> {
    const { harness, ledger } = this.#opened;
    await harness.supervisor.close();
    const entries = (await ledger.read({ after: size, limit: 1_000 })).map(({ entry }) => entry);
    const verdicts = entries.flatMap(({ quality, payload }) => {
      const { event_type, verdict } = membersOf(payload);
      return quality === "policy_verdict" && event_type === "pre_action" ? [String(verdict)] : [];
    });
    const results = entries.flatMap(({ quality, target, tags }) =>
      quality === "tool_result" ? [`${target} ${tags[0]}`] : [],
    );
    return { verdicts, results, ungated: entries.filter(({ tags }) => tags.includes("ungated")).length };
  }

  async recorded(): Promise<number> {
    await this.#opened.harness.supervisor.close();
    return this.#opened.ledger.size();
  }

  /** What agents said in updates since there were so many. */
  saidAfter(count: number): string {
    return this.updates
      .slice(count)
      .map(({ sessionUpdate, content }) =>
        sessionUpdate === "agent_message_chunk" ? String(membersOf(content).text) : "",
      )
      .join("");
  }

  /** The names of the tools that the model was offered. */
  offered(): readonly string[] {
    return this.model.requests.flatMap(({ conversation }) => conversation.tools.map(({ name }) => name));
  }

  /** Whether a text has reached the model. */
  hasReachedModel(text: string): boolean {
    return this.model.requests.some(({ conversation }) => JSON.stringify(conversation.items).includes(text));
  }

  /** Stops everything but the model, as an end of Reins does, and starts it again on the same home. */
  async restart(): Promise<void> {
    await this.#opened.close();
    await this.#start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.close();
    await this.model[Symbol.asyncDispose]();
    await rm(this.#base, { recursive: true, force: true, maxRetries: 5 });
  }

  async #start(): Promise<void> {
    const home = join(this.#base, "home");
    if ((await writeFirstFiles(home)).length > 0) await forbid(join(home, "constitution.yaml"));
    const tables = [ledgerTables, ...harnessTables, ...hostTables];
    const store = await openSqlite({ path: join(home, "reins.db"), tables });
    const signers = new KeyFolder(join(home, "keys"));
    const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/matrix" });
    const harness = await Harness.open({ home, userHome: this.#base, store, ledger });
    const gateway = await McpGateway.open({ redactor: Redactor.create() });
    const sandbox = this.#sandbox;
    const host = new AgentHost({
      harness,
      catalogue: Catalogue.load(),
      owner: new Owner(home),
      gateway,
      install: ({ id }) => testAgents().install(id),
      environment: { PATH: process.env.PATH },
      modelFor: () => this.model.endpoint,
      ...(sandbox && { sandbox, networkFor: () => ({ hosts: [new URL(this.model.endpoint.url).host] }) }),
      userHome: join(this.#base, "no-user"),
    });
    const log = await EventLog.open({ store, now: Date.now, journal: home });
    const hub = await Hub.open({ harness, host, log });
    const connection = await hub.connect({
      principal: harness.identity.local(),
      agent: this.agent,
      outlet: {
        send: (message) => this.#take(message),
        failed: (error) => {
          throw error;
        },
      },
    });
    const close = async () => {
      await hub.close();
      await gateway.close();
      await harness.close();
      await ledger.close();
      await store.close();
    };
    this.#opened = { harness, ledger, connection, close };
  }

  #take({ id, method, params }: JsonObject): void {
    const { update, options } = membersOf(params);
    if (update !== undefined) this.updates.push(membersOf(update));
    if (method !== "session/request_permission") return;
    this.asked.push(membersOf(params));
    const offered: readonly unknown[] = Array.isArray(options) ? options : [];
    const { person } = this;
    const choice = typeof person === "function" ? person(membersOf(params)) : person;
    const chosen = offered.map(membersOf).find(({ kind }) => kind === choice);
    if (!chosen) return;
    const outcome = { outcome: "selected", optionId: chosen.optionId };
    setImmediate(() => this.#opened.connection.answer(String(id), { outcome }));
  }
}

interface Recorded {
  readonly verdicts: readonly string[];
  /** What was called, and what came of it. */
  readonly results: readonly string[];
  readonly ungated: number;
}

interface Opened {
  readonly harness: Harness;
  readonly ledger: Ledger;
  readonly connection: Connection;
  close(): Promise<void>;
}

/** Adds a rule by which one tool of an MCP server may not be used. */
async function forbid(constitution: string): Promise<void> {
  const rules = await readFile(constitution, "utf8");
  const rule = `
  - { name: forbidden_here, condition: { tool_name_matches: ["mcp:lab/forbidden"] }, verdict: blocked }`;
  await writeFile(
    constitution,
    rules.replace(/^tool_rules:$/mu, (heading) => `${heading}${rule}`),
  );
}
