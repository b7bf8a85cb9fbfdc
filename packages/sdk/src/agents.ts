import type {
  Agent,
  AgentDetail,
  AgentInstallProgress,
  AgentProcess,
  AgentRemoveProgress,
  AgentVerifyProgress,
  agentsOperations,
} from "@reins/api";
import type { z } from "zod";
import { ConnectionError } from "./errors.ts";
import type { Abortable, Http } from "./http.ts";

/** How an agent is installed: again, as an update, or in another version. */
export type AgentInstallOptions = Abortable & z.input<typeof agentsOperations.installAgent.body>;

const load = async () => (await import("./agent-operations.ts")).agentsOperations;

/** The agents that this server knows. */
export class AgentsClient {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists the agents of the catalogue with their installs and enforcement levels. */
  async list({ signal }: Abortable = {}): Promise<readonly Agent[]> {
    return (await this.#http.call((await load()).listAgents, { signal })).agents;
  }

  /** Returns everything known about an agent. */
  async get(agent: string, { signal }: Abortable = {}): Promise<AgentDetail> {
    return this.#http.call((await load()).getAgent, { params: { agent }, signal });
  }

  /** Installs an agent and yields its progress; the last is `installed` or `failed`. Aborting does not stop it. */
  async *install(
    agent: string,
    { signal, ...body }: AgentInstallOptions = {},
  ): AsyncGenerator<AgentInstallProgress> {
    const { installAgent } = await load();
    yield* whole(this.#http.progress(installAgent, { params: { agent }, body, signal }));
  }

  /** Removes every installed version of an agent and yields the progress; the last is `removed` or `failed`. */
  async *remove(agent: string, { signal }: Abortable = {}): AsyncGenerator<AgentRemoveProgress> {
    const { removeInstall } = await load();
    yield* whole(this.#http.progress(removeInstall, { params: { agent }, signal }));
  }

  /** Proves whether an installed agent always asks, and yields the progress; the last is `verified` or `failed`. */
  async *verify(agent: string, { signal }: Abortable = {}): AsyncGenerator<AgentVerifyProgress> {
    const { verifyAgent } = await load();
    yield* whole(this.#http.progress(verifyAgent, { params: { agent }, signal }));
  }

  /** Lists the agents that run. */
  async processes({ signal }: Abortable = {}): Promise<readonly AgentProcess[]> {
    return (await this.#http.call((await load()).listAgentProcesses, { signal })).processes;
  }
}

const LAST: ReadonlySet<string> = new Set(["installed", "removed", "verified", "failed"]);

/** Rejects where the server ends the progress before its last event. */
async function* whole<Progress extends { readonly phase: string }>(
  progress: AsyncIterable<Progress>,
): AsyncGenerator<Progress> {
  for await (const step of progress) {
    yield step;
    if (LAST.has(step.phase)) return;
  }
  throw new ConnectionError("unreachable", "The progress ended before its result.");
}
