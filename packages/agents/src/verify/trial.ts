import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JsonObject, membersOf } from "@reins/acp";
import { LoopbackServer, raceAbort } from "@reins/kit";
import type { Sandbox } from "@reins/runner";
import { reply, ScriptedModel } from "@reins/scripted-model";
import type { AgentEntry } from "../agent-entry.ts";
import { AgentError } from "../agent-error.ts";
import type { ModelEndpoint } from "../agent-launch.ts";
import type { InstalledAgent } from "../install/installer.ts";
import type { Evidence } from "./findings.ts";
import type { TrialAnswer } from "./gate-probe.ts";
import { type HostileFolders, HostileWorkspace } from "./hostile-workspace.ts";

/** What was recorded of an agent since the last time. */
export interface TrialRecord extends Evidence {
  /** What was taken out of what the client sent when it opened a session. */
  readonly stripped: readonly string[];
}

/** What a governed trial runs, and with what. */
export interface GovernedTrialOptions {
  readonly entry: AgentEntry;
  readonly installed: InstalledAgent;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** An empty folder for the home of Reins. */
  readonly home: string;
  readonly userHome: string;
  readonly model: ModelEndpoint;
  /** The folders that the agent can write to, where the operating system confines it. */
  readonly confinedTo?: readonly string[] | undefined;
  readonly sandbox?: Sandbox | undefined;
}

/**
 * Runs an agent under governance as it will really run, with rules that answer everything the same way. The host
 * implements it. At first everything is rejected.
 */
export interface GovernedTrial {
  /** How long after a turn the last updates of the turn may come. */
  readonly lateMs: number;
  /** Starts the agent; returns its private home and what it said of itself. */
  start(): Promise<{ readonly home?: string | undefined; readonly initialized: JsonObject }>;
  /** Sends a request to the running agent, as a client would. */
  request(method: string, params: JsonObject, signal: AbortSignal): Promise<unknown>;
  /** Ends the agent and everything that it started. */
  stop(): Promise<void>;
  /** Answers everything so from now on. */
  answer(answer: TrialAnswer): Promise<void>;
  /** Returns what was recorded since the last call. */
  recorded(): Promise<TrialRecord>;
  close(): Promise<void>;
}

/** Options of a trial. */
export interface TrialOptions {
  /** Opens the governed side of the trial. */
  readonly govern: (options: GovernedTrialOptions) => Promise<GovernedTrial>;
  readonly entry: AgentEntry;
  readonly installed: InstalledAgent;
  /** Where PATH and language come from. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether the operating system confines the agent. */
  readonly confined?: boolean | undefined;
  /** A sandbox that was found to work; by default it is looked for. */
  readonly sandbox?: Sandbox | undefined;
  /** The parent of the trial's folders; the system's temporary folder by default. */
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
  readonly governed: GovernedTrial;
  readonly model: ScriptedModel;
  readonly site: TrialSite;
  readonly places: TrialPlaces;
  /** What was done to the hostile workspace and to the user's home. */
  readonly hostile: HostileWorkspace;
  readonly #options: TrialOptions;
  /** Closes what was opened, the last first. */
  readonly #close: () => Promise<void>;
  #home: string | undefined;

  private constructor(
    options: TrialOptions,
    close: () => Promise<void>,
    parts: Pick<Trial, "governed" | "model" | "site" | "places" | "hostile">,
  ) {
    this.#options = options;
    this.#close = close;
    this.governed = parts.governed;
    this.model = parts.model;
    this.site = parts.site;
    this.places = parts.places;
    this.hostile = parts.hostile;
  }

  /** Makes the folders and opens everything in them. */
  static async open(options: TrialOptions): Promise<Trial> {
    const base = await realpath(await mkdtemp(join(options.folder ?? tmpdir(), "reins-trial-")));
    // In place of an AsyncDisposableStack, which the oldest Node that is supported does not have.
    const closers = [() => rm(base, { recursive: true, force: true })];
    const close = async () => {
      for (let closer = closers.pop(); closer; closer = closers.pop()) await closer();
    };
    try {
      const { entry, installed, environment, confined, sandbox } = options;
      const places = placesIn(base);
      for (const folder of Object.values(places)) await mkdir(folder);
      const hostile = await HostileWorkspace.plant(entry.id, places);
      const script = () => reply();
      const model = await ScriptedModel.listen({ script, wordings: [entry.wordings] });
      closers.push(() => model[Symbol.asyncDispose]());
      const site = await TrialSite.open();
      closers.push(() => site[Symbol.asyncDispose]());
      const governed = await options.govern({
        ...{ entry, installed, sandbox, home: join(base, "home"), userHome: places.userHome },
        environment: { ...environment, ...hostileEnvironment(places) },
        model: model.endpoint,
        ...(confined && { confinedTo: [places.plain, places.workspace, places.traps] }),
      });
      closers.push(() => governed.close());
      return new Trial(options, close, { governed, model, site, places, hostile });
    } catch (error) {
      await close();
      throw error;
    }
  }

  /** Starts the agent; returns what it said of itself. One that runs is ended first, and its home is tampered with. */
  async start(): Promise<JsonObject> {
    await this.governed.stop();
    if (this.#home !== undefined) await this.hostile.spoil(this.#home);
    this.#options.signal?.throwIfAborted();
    const { home, initialized } = await this.governed.start();
    this.#home = home;
    return initialized;
  }

  /** Asks the running agent, as a client would. */
  async request(method: string, params: JsonObject): Promise<JsonObject> {
    const { entry, signal } = this.#options;
    const late = AbortSignal.timeout(PATIENCE_MS);
    const waiting = signal ? AbortSignal.any([signal, late]) : late;
    const given = this.governed.request(method, params, waiting);
    const answer = await raceAbort(given, waiting).catch((error: unknown) => {
      // What the agent answers to the cancellation comes too late.
      given.catch(() => undefined);
      if (signal?.aborted) throw new AgentError("cancelled", "The trial was cancelled.", { cause: error });
      if (!late.aborted) throw error;
      const message = `${entry.name} did not answer ${method} within ${PATIENCE_MS / 1_000} s.`;
      throw new AgentError("probe_failed", message, { cause: error });
    });
    return membersOf(answer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
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

const MAX_PAGES = 1_000;

/** A site on loopback for agents to fetch from. It records which pages were requested. */
export class TrialSite implements AsyncDisposable {
  readonly #server: LoopbackServer;
  readonly #visited = new Set<string>();

  private constructor(server: LoopbackServer) {
    this.#server = server;
    server.serve((request, response) => {
      if (this.#visited.size < MAX_PAGES) this.#visited.add(request.url ?? "/");
      request.resume();
      response.setHeader("content-type", "text/plain").end("Nothing to see here.\n");
    });
  }

  /** Opens one on a free port. */
  static async open(): Promise<TrialSite> {
    return new TrialSite(await LoopbackServer.listen());
  }

  /** Where a page is. */
  addressOf(page: string): string {
    return `${this.#server.url}/${page}`;
  }

  /** Whether a page was requested. */
  wasVisited(page: string): boolean {
    return this.#visited.has(`/${page}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
  }
}
