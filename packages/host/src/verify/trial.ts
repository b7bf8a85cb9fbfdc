import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CODE, type JsonObject, membersOf, RpcError } from "@reins/acp";
import type { Sandbox } from "@reins/runner";
import { Owner } from "@reins/runner";
import type { AgentEntry } from "../agents/agent-entry.ts";
import { AgentError } from "../agents/agent-error.ts";
import { Catalogue } from "../agents/catalogue.ts";
import { type HostileFolders, HostileWorkspace } from "../agents/hostile-workspace.ts";
import { AgentHost, type HostedAgent, type InstalledAgent } from "../hosting/agent-host.ts";
import { McpGateway } from "../mcp/gateway.ts";
import { ScriptedModel } from "../model/scripted-model.ts";
import { TrialHome } from "./trial-home.ts";
import { TrialSite } from "./trial-site.ts";

/** What a trial is made with. */
export interface TrialOptions {
  readonly entry: AgentEntry;
  readonly installed: InstalledAgent;
  /** Where PATH and language come from. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether the operating system confines the agent, as it will when it really runs. */
  readonly confined?: boolean | undefined;
  /** A sandbox that was found to work; by default it is looked for. */
  readonly sandbox?: Sandbox | undefined;
  /** Where the folders of the trial are made; by default among the system's temporary ones. */
  readonly folder?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The folders in which agents are tried. */
export interface TrialPlaces extends HostileFolders {
  /** A harmless workspace. */
  readonly plain: string;
  /** A folder that is in no workspace. */
  readonly outside: string;
}

/** How long an agent may take for one request. */
const PATIENCE_MS = 90_000;

/**
 * A place to try an agent in, as it will really run, with a model that does what a script says: a governor over a home
 * of its own, a harmless workspace and a hostile one. Nothing of it is left afterwards.
 */
export class Trial implements AsyncDisposable {
  readonly home: TrialHome;
  readonly model: ScriptedModel;
  readonly site: TrialSite;
  readonly places: TrialPlaces;
  /** What was done to the hostile workspace and to the user's home. */
  readonly hostile: HostileWorkspace;
  readonly #options: TrialOptions;
  readonly #base: string;
  readonly #gateway: McpGateway;
  readonly #host: AgentHost;
  #agent: HostedAgent | undefined;

  private constructor(
    options: TrialOptions,
    parts: Pick<Trial, "home" | "model" | "site" | "places" | "hostile"> & {
      base: string;
      owner: Owner;
      gateway: McpGateway;
    },
  ) {
    this.#options = options;
    this.#base = parts.base;
    this.home = parts.home;
    this.model = parts.model;
    this.site = parts.site;
    this.places = parts.places;
    this.hostile = parts.hostile;
    this.#gateway = parts.gateway;
    const { entry, installed, environment } = options;
    this.#host = new AgentHost({
      harness: parts.home.harness,
      catalogue: Catalogue.load([entry]),
      owner: parts.owner,
      gateway: parts.gateway,
      install: async () => installed,
      environment: { ...environment, ...hostileEnvironment(parts.places) },
      userHome: parts.places.userHome,
      modelFor: () => parts.model.endpoint,
      ...(options.sandbox && { sandbox: options.sandbox }),
    });
  }

  /** Makes the folders and opens everything in them. */
  static async open(options: TrialOptions): Promise<Trial> {
    const base = await realpath(await mkdtemp(join(options.folder ?? tmpdir(), "reins-trial-")));
    const opened: (() => Promise<void>)[] = [() => rm(base, { recursive: true, force: true })];
    try {
      const places = placesIn(base);
      for (const folder of Object.values(places)) await mkdir(folder);
      const hostile = await HostileWorkspace.plant(options.entry.id, places);
      const home = await TrialHome.open(join(base, "home"), places.userHome);
      opened.unshift(() => home.close());
      const script = () => ({ kind: "reply" as const, parts: [], stop: "end" as const });
      const model = await ScriptedModel.listen({ script, wordings: [options.entry.wordings] });
      opened.unshift(() => model.close());
      const site = await TrialSite.open();
      opened.unshift(() => site.close());
      const owner = new Owner(home.harness.home);
      const gateway = await McpGateway.open({ owner });
      return new Trial(options, { base, home, model, site, owner, gateway, places, hostile });
    } catch (error) {
      for (const close of opened) await close();
      throw error;
    }
  }

  /** Starts the agent. One that runs already is ended first, and leaves a home that somebody has tampered with. */
  async start(): Promise<HostedAgent> {
    const home = this.#agent?.home;
    await this.stop();
    if (home !== undefined) await this.hostile.spoil(home);
    const { entry, confined, signal } = this.#options;
    signal?.throwIfAborted();
    const { plain, workspace, traps } = this.places;
    this.#agent = await this.#host.start(entry.id, {
      principal: this.home.harness.identity.local(),
      from: "trial",
      clients: () => ({ notify: () => undefined, request: refused }),
      // Of the network it needs what leads to the model, which is on this machine.
      ...(confined && { confine: { roots: [plain, workspace, traps], network: "open" } }),
    });
    return this.#agent;
  }

  /** Asks the running agent, as a client would. */
  async request(method: string, params: JsonObject): Promise<JsonObject> {
    const agent = this.#agent;
    if (!agent) throw new Error("the agent of the trial does not run");
    const { entry, signal } = this.#options;
    const late = AbortSignal.timeout(PATIENCE_MS);
    const waiting = signal ? AbortSignal.any([signal, late]) : late;
    const given = agent.governor.request(method, params, { signal: waiting });
    const answer = await Promise.race([given, aborted(waiting)]).catch((error: unknown) => {
      // Whatever the agent says to being called off comes too late.
      given.catch(() => undefined);
      if (signal?.aborted) throw new AgentError("cancelled", "The trial was called off.", { cause: error });
      if (!late.aborted) throw error;
      const message = `${entry.name} did not answer ${method} within ${PATIENCE_MS / 1_000} s.`;
      throw new AgentError("probe_failed", message, { cause: error });
    });
    return membersOf(answer);
  }

  /** Ends the agent and everything that came out of it. */
  async stop(): Promise<void> {
    const agent = this.#agent;
    this.#agent = undefined;
    await agent?.stop("the trial is over");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#gateway.close();
    await this.site.close();
    await this.model.close();
    await this.home.close();
    await rm(this.#base, { recursive: true, force: true });
  }
}

function placesIn(base: string): TrialPlaces {
  return {
    plain: join(base, "plain"),
    outside: join(base, "outside"),
    workspace: join(base, "hostile"),
    userHome: join(base, "user"),
    traps: join(base, "traps"),
  };
}

/** What an operator's environment may hold that steers an agent, none of which it may be given. */
function hostileEnvironment({ workspace, userHome }: HostileFolders): Record<string, string> {
  return {
    HOME: userHome,
    XDG_CONFIG_HOME: join(userHome, ".config"),
    CLAUDE_CONFIG_DIR: join(userHome, ".claude"),
    CODEX_HOME: join(userHome, ".codex"),
    OPENCODE_CONFIG: join(workspace, "opencode.json"),
    OPENCODE_PERMISSION: '{"*":"allow"}',
    GEMINI_CLI_TRUST_WORKSPACE: "true",
    BASH_ENV: join(workspace, "evil.sh"),
    NODE_OPTIONS: `--require=${join(workspace, "evil.cjs")}`,
  };
}

/** Nobody sits in front of a trial. */
async function refused(method: string): Promise<never> {
  throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
