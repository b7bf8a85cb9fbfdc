import type { AgentEntry, Catalogue } from "@reins/agents";
import type { McpGateway } from "@reins/mcp";
import type { AgentHost } from "../hosting/agent-host.ts";
import type { ToolPins } from "../mcp/tool-pins.ts";
import type { Subagents } from "../native/subagents.ts";
import type { FileSnapshots } from "../rewind/file-snapshots.ts";
import type { Messaging } from "../turn/messaging.ts";
import { agentExecutors, boundedTurn } from "./agent-executors.ts";
import type { RunExecutor } from "./executor.ts";
import { type PipelineSettings, pipelineExecutors } from "./pipeline-executors.ts";
import { ExecutorRegistry } from "./registry.ts";
import type { RunPlace } from "./run-place.ts";
import { humanExecutors, runtimeExecutors } from "./runtime-executors.ts";
import { type ServiceSettings, serviceExecutors } from "./service-executors.ts";

export interface RunExecutorsOptions {
  readonly catalogue: Catalogue;
  readonly host: () => AgentHost;
  readonly subagents: Subagents;
  /** Whether an agent is installed: only those that are can be given work. */
  readonly isInstalled: (entry: AgentEntry) => Promise<boolean>;
  readonly messaging?: Messaging | undefined;
  /** Keeps what files were before actions change them. */
  readonly snapshots?: Pick<FileSnapshots, "change"> | undefined;
  /** By which the MCP servers of sessions are reached. */
  readonly gateway: Pick<McpGateway, "wrap">;
  /** The definitions of their tools as they were pinned. */
  readonly pins: ToolPins;
  readonly pipelines?: Readonly<Record<string, PipelineSettings>> | undefined;
  readonly services?: Readonly<Record<string, ServiceSettings>> | undefined;
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
}

interface HeldRegistry {
  readonly registry: ExecutorRegistry;
  /** Ends what its executors started. */
  readonly release: () => void;
}

/** The executors of runs and sessions. Each run has a registry of its own, until it is over. */
export class RunExecutors {
  readonly #options: RunExecutorsOptions;
  readonly #held = new Map<string, Promise<HeldRegistry>>();
  readonly #closing = new AbortController();
  /** Of sessions that are served, as long as they are: these execute nothing, so what they started is ended at once. */
  readonly #ofSessions = new WeakMap<RunPlace["session"], Promise<HeldRegistry>>();

  constructor(options: RunExecutorsOptions) {
    this.#options = options;
  }

  /** The executors that a session may declare. */
  async ofSession(place: RunPlace): Promise<ExecutorRegistry> {
    const { session } = place;
    const known = this.#ofSessions.get(session) ?? this.#make(place, true);
    if (!this.#ofSessions.has(session)) {
      this.#ofSessions.set(session, known);
      known.then(
        ({ release }) => release(),
        () => this.#ofSessions.delete(session),
      );
    }
    return (await known).registry;
  }

  /** The executors of a run. */
  async of(run: string, place: RunPlace): Promise<ExecutorRegistry> {
    const known = this.#held.get(run) ?? this.#make(place, false);
    this.#held.set(run, known);
    known.catch(() => this.#held.delete(run));
    return (await known).registry;
  }

  /** Releases what a run held. */
  async release(run: string): Promise<void> {
    const held = this.#held.get(run);
    this.#held.delete(run);
    (await held)?.release();
  }

  /** Releases everything. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("Reins is stopping"));
    for (const run of [...this.#held.keys()]) await this.release(run);
  }

  /** `isUnattended` where no person is asked about starting servers. */
  async #make(place: RunPlace, isUnattended: boolean): Promise<HeldRegistry> {
    const { messaging, subagents, gateway, pins, pipelines = {}, services = {}, onError } = this.#options;
    const { snapshots } = this.#options;
    // The tools of the native agent are loaded with the first run.
    const { toolContextOf, toolExecutors, meantTool } = await import("./tool-executors.ts");
    const { mcpExecutors } = await import("./mcp-executors.ts");
    let owned: ReturnType<AgentHost["commandsFor"]> | undefined;
    const commands = () => {
      const { workspace, identities, principal, session } = place;
      const { agent, id } = session.record;
      owned ??= this.#options
        .host()
        .commandsFor({ principal, agent, session: id }, { roots: workspace.roots, identities });
      return owned;
    };
    const context = toolContextOf({
      ...{ place, snapshots },
      messaging: messaging?.forTenant(place.session.record.tenant),
      commands: { run: async (command, signal) => (await commands()).commands.run(command, signal) },
    });
    const { agent } = place.session.record;
    const served = await mcpExecutors({
      ...{ place, context, gateway, pins, isUnattended, signal: this.#closing.signal },
      configured: this.#options.host().serversFor(agent, place.principal.tenant),
      isConfined: this.#options.host().networkFor(agent) !== undefined,
    });
    const tools = [...toolExecutors(context), ...served.executors];
    const executors = [
      ...tools,
      ...agentExecutors(subagents, await this.#agents()),
      ...runtimeExecutors,
      ...humanExecutors,
      ...pipelineExecutors(pipelines, tools),
      ...serviceExecutors(services),
    ];
    const bounded = this.#options.host().hasModel
      ? (some: readonly RunExecutor[]) => boundedTurn(subagents, some)
      : undefined;
    return {
      registry: new ExecutorRegistry(executors, meantTool, bounded),
      release: () => {
        owned?.then(({ release }) => release()).catch(onError);
        served.close().catch(onError);
      },
    };
  }

  /** The agents that can be given work: those that are installed. */
  async #agents(): Promise<readonly AgentEntry[]> {
    const { catalogue, isInstalled } = this.#options;
    const found = await Promise.all(
      catalogue.entries.map(async (entry) => {
        if (entry.builtIn) return this.#options.host().hasModel ? entry : [];
        return entry.support.level !== "unsupported" && (await isInstalled(entry)) ? entry : [];
      }),
    );
    return found.flat();
  }
}
