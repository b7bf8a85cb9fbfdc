import { CODE, RpcError } from "@reins/acp";
import type {
  AgentEntry,
  Installed,
  InstallOptions,
  InstallProgress,
  PlannedInstall,
  Probed,
} from "@reins/agents";
import {
  type AgentInstallProgress,
  type AgentRemoveProgress,
  type AgentVerifyProgress,
  agentsOperations,
  type ProblemCode,
} from "@reins/api";
import {
  type AgentMethods,
  agentInstall,
  agentRemoval,
  type Hosting,
  verifyAgent as proveAgent,
  REFUSED,
} from "@reins/host";
import { errorMessage, SingleFlight, type SseWriter, sseText } from "@reins/kit";
import { actorOf, type Harness, isAdmin, isOperator } from "@reins/supervisor";
import { z } from "zod";
import { requireAudience, required } from "../access/authenticator.ts";
import { frameworkProblem, HttpProblem } from "../problems.ts";
import type { AuthorizedCall, ResponseBody, Routes } from "../routes/router.ts";
import {
  type AgentRegistry,
  type AgentSurroundings,
  agentDetails,
  askOnce,
  entryIn,
  installAnswer,
  installOf,
  probedAgent,
  registryOf,
  shownAgent,
  shownProcesses,
  toldBy,
  verificationOf,
} from "./shown-agent.ts";

const { listAgents, getAgent, installAgent, removeInstall, verifyAgent, ...agentProcesses } =
  agentsOperations;
const { listAgentProcesses, restartAgentProcess } = agentProcesses;

export interface AgentsRoutesOptions {
  readonly hosting: () => Promise<Hosting>;
  readonly agents: () => Promise<AgentRegistry>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The user's home folder, the source of credentials. */
  readonly userHome: string;
}

/** The catalogue's agents: state, install, verification and processes. */
export class AgentsRoutes implements Routes {
  readonly name = "agents";
  readonly #options: AgentsRoutesOptions;
  readonly #installs = new SingleFlight<AgentInstallProgress | Failed>();
  readonly #removals = new SingleFlight<AgentRemoveProgress | Failed>();
  readonly #verifications = new SingleFlight<AgentVerifyProgress | Failed>();
  readonly #closing = new AbortController();

  constructor(options: AgentsRoutesOptions) {
    this.#options = options;
  }

  readonly mount: Routes["mount"] = (router) => {
    router.handle(listAgents, (call) => this.#list(call));
    router.handle(getAgent, (call) => this.#get(call));
    router.stream(
      installAgent,
      (call, open) => this.#install(call, open),
      (call) => this.#installWhole(call),
    );
    router.stream(removeInstall, (call, open) => this.#remove(call, open));
    router.stream(verifyAgent, (call, open) => this.#verify(call, open));
    router.handle(listAgentProcesses, async (call) => ({
      processes: await shownProcesses(await this.#hosting(), call),
    }));
    router.handle(restartAgentProcess, (call) => this.#restart(call));
  };

  /** The same for clients of ACP, by methods. */
  methods(harness: Harness): AgentMethods {
    return {
      list: (principal) => rpcProblems(async () => ({ ...(await this.#list({ principal, harness })) })),
      install: (principal, params) =>
        rpcProblems(async () => {
          requireAudience(installAgent.audience, principal);
          const { success, data, error } = InstallParams.safeParse(params);
          if (!success) throw new HttpProblem("invalid", z.prettifyError(error));
          const { agent, agentVersion, agentProcessVersion, ...asked } = data;
          const body = {
            agent_version: agentVersion,
            agent_process_version: agentProcessVersion,
            ...asked,
          };
          return { ...(await this.#installWhole({ params: { agent }, body, principal, harness })) };
        }),
    };
  }

  /** Cancels running installs and verifications. */
  async close(): Promise<void> {
    this.#closing.abort();
  }

  #hosting(): Promise<Hosting> {
    return required(this.#options.hosting);
  }

  async #list(call: Caller): Promise<ResponseBody<typeof listAgents>> {
    const registry = await this.#options.agents();
    const hosting = await this.#hosting();
    const [processes, found, published] = await Promise.all([
      shownProcesses(hosting, call),
      registry.installer.list(),
      registry.installer.registry({ background: true }),
    ]);
    const agents = found.map(async ({ entry, installed }) => {
      const running = processes.filter(({ agent }) => agent === entry.id).length;
      const [shown, known, probed] = await Promise.all([
        shownAgent(entry, installed, this.#around(call, registry, entry.id, { running, published })),
        toldBy(hosting, call, entry),
        probedAgent(registry, entry, installed),
      ]);
      return { ...shown, ...known, ...probed };
    });
    return { agents: await Promise.all(agents), registry: registryOf(registry, published) };
  }

  async #get(call: AuthorizedCall<typeof getAgent>): Promise<ResponseBody<typeof getAgent>> {
    const registry = await this.#options.agents();
    const entry = entryIn(registry, call.params.agent);
    const hosting = await this.#hosting();
    const processes = await shownProcesses(hosting, call, entry.id);
    const published = await registry.installer.registry({ background: true });
    const installed = await registry.installer.installed(entry.id);
    const [shown, details, known] = await Promise.all([
      shownAgent(
        entry,
        installed,
        this.#around(call, registry, entry.id, { running: processes.length, published }),
      ),
      agentDetails(registry, entry, installed),
      toldBy(hosting, call, entry),
    ]);
    return { ...shown, ...known, ...details, processes };
  }

  #around(
    { principal }: Caller,
    registry: AgentRegistry,
    agent: string,
    seen: Pick<AgentSurroundings, "running" | "published">,
  ) {
    const { environment, userHome } = this.#options;
    const seesCredentials = isAdmin(principal);
    const installing = this.#installs.keys.some((key) => key.startsWith(`${agent} `));
    return { registry, environment, userHome, seesCredentials, installing, ...seen };
  }

  async #install(call: InstallCall, open: () => SseWriter): Promise<void> {
    const installation = await this.#installation(call);
    await this.#streamProgress(this.#installs, installation.flight, open, (report) =>
      this.#runInstall(installation, report),
    );
  }

  /** Installs an agent and answers when that is done. */
  async #installWhole(call: InstallCall): Promise<object> {
    const installation = await this.#installation(call);
    const { registry, agent, flight, options } = installation;
    const before = registry.catalogue.find(agent) && (await registry.installer.installed(agent));
    let last: AgentInstallProgress | Failed | undefined;
    await this.#flight(
      this.#installs,
      flight,
      (report) => this.#runInstall(installation, report),
      (progress) => {
        last = progress;
      },
    );
    if (last?.phase === "failed")
      throw new HttpProblem(last.code === String(REFUSED) ? "forbidden" : "bad_gateway", last.message);
    const installed = await registry.installer.installed(agent);
    if (!installed) throw new HttpProblem("bad_gateway", `${agent} is not installed`);
    const isSame = before?.folder === installed.folder && options.reinstall !== true;
    return installAnswer(entryIn(registry, agent), installed, isSame);
  }

  /** Checks and permits an install before it starts, while a status is possible. */
  async #installation({ params, body = {}, principal, harness }: InstallCall) {
    harness.quotas.take("installs", principal);
    const registry = await this.#options.agents();
    const { reinstall, update, sha256, model_api: modelApi } = body;
    const { agent_version: agentVersion, agent_process_version: agentProcessVersion } = body;
    const asked = { reinstall, update, modelApi, sha256, agentVersion, agentProcessVersion };
    const agent = params.agent;
    const planned = (await expectInstallable(registry, agent, asked)) ?? null;
    const hosting = await this.#hosting();
    // What is installed and stays needs no verdict.
    // A question stays open when its client has gone: others may answer it, and the install goes on.
    const { signal } = new AbortController();
    const govern: Installation["govern"] = (run, onAsk) =>
      planned ? hosting.governChange(principal, agentInstall(planned), run, { signal, onAsk }) : run();
    // One that asks for something else does not get what another asked for.
    const flight = `${agent} ${JSON.stringify([asked, planned])}`;
    return { registry, agent, flight, options: { ...asked, planned }, govern };
  }

  async #runInstall(
    { registry, agent, options, govern }: Installation,
    report: (progress: AgentInstallProgress) => void,
  ): Promise<void> {
    const onProgress = (progress: InstallProgress) => {
      if (progress.phase !== "installed") report(progress);
    };
    const { signal } = this.#closing;
    const installed = await govern(
      () => registry.installer.install(agent, { ...options, signal, onProgress }),
      (approval) => report({ phase: "asked", approval }),
    );
    const entry = entryIn(registry, agent);
    // What replaces a verified version is verified too before its gate is called live, which asks what it can do.
    if (!options.update || !entry.endpoint)
      await askOnce(registry, entry, installed, { ...this.#options, signal });
    else
      await this.#verifyAgent(registry, entry, installed, (progress) => {
        if (progress.phase === "probing")
          report({ phase: "verifying", done: progress.done, total: progress.total });
      });
    const install = installOf(entry, installed);
    if (install) report({ phase: "installed", install });
  }

  async #remove({ params, principal }: AuthorizedCall<typeof removeInstall>, open: () => SseWriter) {
    const registry = await this.#options.agents();
    const { id } = entryIn(registry, params.agent);
    const hosting = await this.#hosting();
    const { signal } = this.#closing;
    await this.#streamProgress(this.#removals, id, open, async (report) => {
      const onAsk = (approval: string) => report({ phase: "asked", approval });
      const remove = () => registry.installer.remove(id);
      const removed = await hosting.governChange(principal, agentRemoval(id), remove, { signal, onAsk });
      report({ phase: "removed", removed });
    });
  }

  async #verify(call: AuthorizedCall<typeof verifyAgent>, open: () => SseWriter): Promise<void> {
    const { params } = call;
    const registry = await this.#options.agents();
    const entry = entryIn(registry, params.agent);
    const installed = await registry.installer.installed(entry.id);
    if (entry.builtIn || !entry.endpoint)
      throw new HttpProblem(
        "conflict",
        `${entry.name} needs no verification, or cannot be given a scripted model`,
      );
    if (!installed) throw new HttpProblem("conflict", `${entry.name} is not installed; install it first`);
    await this.#streamProgress(this.#verifications, entry.id, open, (report) =>
      this.#verifyAgent(registry, entry, installed, report),
    );
  }

  async #verifyAgent(
    registry: AgentRegistry,
    entry: AgentEntry,
    installed: Installed,
    report: (progress: AgentVerifyProgress) => void,
  ): Promise<void> {
    const confined = registry.isConfined(entry.id);
    const onProgress = ({ setting, name, answer, done, total }: ProbeProgress) =>
      report({ phase: "probing", setting, probe: name, answer, done, total });
    const { signal } = this.#closing;
    let told: Probed | undefined;
    const onProbed = (probed: Probed) => {
      told = probed;
    };
    const how = { environment: this.#options.environment, confined, onProgress, onProbed, signal };
    const verified = await proveAgent({ entry, installed, ...how });
    await registry.stamps.keep(verified, { entry, installed, confined }, new Date());
    if (told) await registry.probes.keep(entry, told);
    report({ phase: "verified", verification: await verificationOf(registry, entry, installed) });
  }

  /** Streams the progress of a single-flight job; an error is its last event. */
  async #streamProgress<Progress>(
    flights: SingleFlight<Progress | Failed>,
    name: string,
    open: () => SseWriter,
    run: (report: (progress: Progress | Failed) => void) => Promise<void>,
  ): Promise<void> {
    const stream = open();
    let count = 0;
    await this.#flight(flights, name, run, (progress) => {
      count += 1;
      void stream.send(sseText({ id: count, event: "progress", json: progress }));
    });
  }

  /** Joins a single-flight job, or starts it. */
  async #flight<Progress>(
    flights: SingleFlight<Progress | Failed>,
    name: string,
    run: (report: (progress: Progress | Failed) => void) => Promise<void>,
    listener: (progress: Progress | Failed) => void,
  ): Promise<void> {
    const begin = async (report: (progress: Progress | Failed) => void) => {
      await run(report).catch((error: unknown) => report(failed(error)));
    };
    await flights.join(name, begin, listener);
  }

  async #restart({ params, principal }: AuthorizedCall<typeof restartAgentProcess>): Promise<undefined> {
    const { register, hub } = await this.#hosting();
    const live = register.all.find(({ id, agent }) => id === params.process && agent === params.agent);
    const isOwn = live && (isOperator(principal) || live.tenant === principal.tenant);
    const hosted = (await hub.running()).find(({ id }) => id === params.process);
    if (!isOwn || !hosted)
      throw new HttpProblem("not_found", `no process ${params.process} of ${params.agent} runs`);
    await hub.restart(hosted, `${actorOf(principal)} restarted it`);
    return undefined;
  }
}

/** An install that is about to start. */
interface Installation {
  readonly registry: AgentRegistry;
  readonly agent: string;
  readonly options: InstallOptions;
  readonly govern: <Value>(run: () => Promise<Value>, onAsk: (approval: string) => void) => Promise<Value>;
}

type InstallCall = Pick<AuthorizedCall<typeof installAgent>, "params" | "body" | "principal" | "harness">;
type Caller = Pick<AuthorizedCall, "principal" | "harness">;

const Version = z.string().min(1).max(128).optional();

/** The parameters of an install by a method, with the names of both forms. */
const InstallParams = z.object({
  agent: z.string().min(1).max(128),
  reinstall: z.boolean().optional(),
  ...{ agentVersion: Version, agent_version: Version },
  ...{ agentProcessVersion: Version, agent_process_version: Version },
});

const RPC_CODES: Readonly<Partial<Record<string, number>>> = {
  ...{ invalid: CODE.invalidParams, not_found: CODE.notFound, conflict: CODE.invalidParams },
  ...{ forbidden: REFUSED },
};

/** Runs a handler and maps its problems to errors of JSON-RPC. */
async function rpcProblems<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    const known = frameworkProblem(error);
    if (!known) throw error;
    const { code, detail } = known.problem;
    throw new RpcError(RPC_CODES[code] ?? CODE.internal, detail, { reins: { code } });
  }
}

type ProbeProgress = Parameters<NonNullable<Parameters<typeof proveAgent>[0]["onProgress"]>>[0];

interface Failed {
  readonly phase: "failed";
  readonly code: string;
  readonly message: string;
}

function failed(error: unknown): Failed {
  const code = error instanceof Error && "code" in error ? String(error.code) : "internal";
  return { phase: "failed", code, message: errorMessage(error) };
}

/** Rejects an invalid install before it starts, while a status is possible. Returns what will be fetched, if anything. */
async function expectInstallable(
  { installer }: AgentRegistry,
  agent: string,
  options: InstallOptions,
): Promise<PlannedInstall | undefined> {
  try {
    return await installer.check(agent, options);
  } catch (error) {
    const { code, message } = failed(error);
    throw new HttpProblem(INSTALL_PROBLEMS[code] ?? "conflict", message, { cause: error });
  }
}

const INSTALL_PROBLEMS: Readonly<Record<string, ProblemCode>> = {
  invalid_version: "invalid",
  unknown_agent: "not_found",
};
