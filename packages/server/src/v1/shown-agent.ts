import { access } from "node:fs/promises";
import { join } from "node:path";
import {
  type AgentEntry,
  type Catalogue,
  type Installed,
  type Installer,
  type ProbeCache,
  probeAgent,
  type RegistryState,
  type Stamps,
} from "@reins/agents";
import {
  type Agent,
  type AgentInstall,
  type AgentProcess,
  type AgentVerification,
  type agentsOperations,
  KeptStderr,
} from "@reins/api";
import { type Hosting, memoryOf } from "@reins/host";
import { isAdmin, isOperator, Redactor } from "@reins/supervisor";
import { z } from "zod";
import { HttpProblem } from "../problems.ts";
import type { AuthorizedCall, ResponseBody, Wire } from "../routes/router.ts";

/** The agents of a home: catalogue, installs and verifications. */
export interface AgentRegistry {
  readonly catalogue: Catalogue;
  readonly installer: Installer;
  readonly stamps: Stamps;
  readonly probes: ProbeCache;
  /** Catalogue entries added by the operator. */
  readonly added: readonly unknown[];
  /** Whether an agent runs in the sandbox. */
  isConfined(agent: string): boolean;
}

/** The catalogue's entry of an agent. */
export function entryIn({ catalogue }: AgentRegistry, id: string): AgentEntry {
  const entry = catalogue.entries.find((one) => one.id === id);
  if (entry) return entry;
  throw new HttpProblem("not_found", `there is no agent "${id}"`);
}

export interface AgentSurroundings {
  readonly registry: AgentRegistry;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  /** Whether the caller may see the names of credentials. */
  readonly seesCredentials: boolean;
  /** The number of running processes that the caller may see. */
  readonly running: number;
  readonly installing: boolean;
  /** The ACP registry as it is known. */
  readonly published: RegistryState | undefined;
}

/** Maps an agent to the API. */
export async function shownAgent(
  entry: AgentEntry,
  installed: Installed | undefined,
  around: AgentSurroundings,
): Promise<Omit<Wire<Agent>, "capabilities">> {
  const { registry, environment, userHome, seesCredentials, running, installing } = around;
  const { found, missing } = await foundCredentials(entry, environment, userHome);
  return {
    agent: entry.id,
    id: entry.id,
    installed: entry.builtIn || installed !== undefined,
    credentialsAvailable: missing.length === 0 || found.length > 0,
    name: entry.name,
    support: entry.support,
    built_in: entry.builtIn,
    registry: entry.registry ?? null,
    added: registry.added.some((one) => Added.safeParse(one).data?.id === entry.id),
    platforms: entry.install?.platforms ?? [],
    megabytes: entry.install?.megabytes ?? null,
    install: installOf(entry, installed, registry.installer.updateOf(entry, installed, around.published)),
    installing,
    verification: await verificationOf(registry, entry, installed),
    enforcement: enforcementOf(registry, entry, await levelOf(registry, entry, installed)),
    hostile: entry.hostile ?? null,
    credentials: seesCredentials ? { found: [...found], missing: [...missing] } : { found: [], missing: [] },
    running,
  };
}

const Added = z.looseObject({ id: z.string() });

/** What a running agent has reported about itself. */
export async function toldBy(
  { hub }: Hosting,
  { principal }: Pick<AuthorizedCall, "principal">,
  { id }: AgentEntry,
) {
  const running = (await hub.running()).find(({ entry }) => entry.id === id);
  const { modes, models, configOptions } = await hub.settingsOfAgent(principal, id);
  return {
    capabilities: running?.initialized ?? null,
    ...(modes !== undefined && { modes }),
    ...(models !== undefined && { models }),
    ...(configOptions !== undefined && { config_options: configOptions }),
  };
}

/** The cached probe of an installed agent. */
export async function probedAgent(
  registry: AgentRegistry,
  entry: AgentEntry,
  installed: Installed | undefined,
) {
  const probed = installed && (await registry.probes.find(entry, installed.version));
  const { modes, models, configOptions } = Session.parse(probed?.session ?? {});
  return {
    ...(probed && { capabilities: probed.initialized }),
    ...(modes !== undefined && { modes }),
    ...(models !== undefined && { models }),
    ...(configOptions !== undefined && { config_options: configOptions }),
    ...(probed?.refused && { refused: probed.refused }),
  };
}

/** How long an agent that was installed may take to say what it can do. */
const ASKED_MS = 60_000;

/** Asks an installed agent what it can do, unless that is known. One that does not say is installed all the same. */
export async function askOnce(
  { probes }: AgentRegistry,
  entry: AgentEntry,
  installed: Installed,
  { environment, signal }: Pick<AgentSurroundings, "environment"> & { readonly signal: AbortSignal },
): Promise<void> {
  if (entry.builtIn || (await probes.find(entry, installed.version))) return;
  try {
    const probed = await probeAgent({
      ...{ entry, installed, environment, redactor: Redactor.create(), now: () => new Date() },
      signal: AbortSignal.any([signal, AbortSignal.timeout(ASKED_MS)]),
    });
    await probes.keep(entry, probed);
  } catch {
    // It is asked again when it is verified, or runs.
    signal.throwIfAborted();
  }
}

/** The members that only the view of a single agent has. */
export async function agentDetails(
  registry: AgentRegistry,
  entry: AgentEntry,
  installed: Installed | undefined,
) {
  const standing = installed && (await registry.stamps.standing(runningAs(registry, entry, installed)));
  return {
    versions: entry.install || entry.fromRegistry ? [...(await registry.installer.versions(entry.id))] : [],
    packages: installed?.provenance?.packages.map(plainPackage) ?? [],
    ...(await probedAgent(registry, entry, installed)),
    quirks: entry.quirks ?? null,
    probes: standing && standing.state !== "unverified" ? standing.stamp.probes : [],
  };
}

const Session = z.looseObject({
  modes: z.unknown().optional(),
  models: z.unknown().optional(),
  configOptions: z.unknown().optional(),
});

/** Maps an install to the API; `update` is the version that is offered in its place. */
export function installOf(
  entry: AgentEntry,
  installed: Installed | undefined,
  update?: string | undefined,
): AgentInstall | null {
  const none = { non_registry: true, outdated: false, update: null };
  if (entry.builtIn) return { source: "built_in", provenance: "builtin", version: "built in", ...none };
  if (!installed) return null;
  const { version, outdated, provenance } = installed;
  if (!provenance) return { source: "local", provenance: "local_path", version, ...none, outdated };
  const { source, agentProcess, native, packages, lock, platform, verified, installedAt } = provenance;
  const { registry, artifact } = provenance;
  return {
    ...{ source, version, outdated, lock, platform, said: verified, installed_at: installedAt },
    provenance: registry ? "registry" : "fallback",
    non_registry: !registry,
    update: update ?? null,
    ...(registry && { registry }),
    ...(artifact && { artifact }),
    agent_process: plainPackage(agentProcess),
    ...(native && { native: plainPackage(native) }),
    packages: packages.length,
  };
}

/** Maps an install to the one answer of the operation that made it. */
export function installAnswer(entry: AgentEntry, installed: Installed, alreadyInstalled: boolean): object {
  const install = installOf(entry, installed);
  const { folder: path, version, provenance } = installed;
  const source = install?.provenance ?? "local_path";
  const native = provenance?.native;
  return {
    already_installed: alreadyInstalled,
    artifacts: [
      { kind: "agent_process", path, source, version },
      ...(native ? [{ kind: "native_agent", path, source, version: native.version }] : []),
    ],
    install,
  };
}

/** Maps the registry to the API. */
export function registryOf(
  { installer }: AgentRegistry,
  state: RegistryState | undefined,
): ResponseBody<typeof agentsOperations.listAgents>["registry"] {
  const offered = state ? installer.offered(state) : [];
  return {
    state: state?.state ?? "off",
    url: state?.url ?? null,
    confirmed_at: state?.confirmedAt?.toISOString() ?? null,
    fault: state?.fault ?? null,
    offered: offered.map(({ id, name, version, description }) => ({ id, name, version, description })),
    refused: state?.refused ?? [],
  };
}

function plainPackage({
  name,
  version,
  integrity,
}: {
  name: string;
  version: string;
  integrity?: string | undefined;
}) {
  return { name, version, ...(integrity !== undefined && { integrity }) };
}

/** The state of an agent's verification. */
export async function verificationOf(
  registry: AgentRegistry,
  entry: AgentEntry,
  installed: Installed | undefined,
): Promise<AgentVerification> {
  if (entry.builtIn) return { state: "not_needed" };
  if (!installed) return { state: "unverified" };
  const standing = await registry.stamps.standing(runningAs(registry, entry, installed));
  if (standing.state === "unverified") return { state: "unverified" };
  const { level, live, unasked, held, faults, at } = standing.stamp;
  return {
    ...{ state: standing.state, level, live, unasked, held, faults, at },
    ...(standing.state === "outdated" && { why: standing.why }),
  };
}

function runningAs(registry: AgentRegistry, entry: AgentEntry, installed: Installed) {
  return { entry, installed, confined: registry.isConfined(entry.id) };
}

/** What the entry says, of an agent that is not installed; else what its install was shown to do. */
async function levelOf(
  registry: AgentRegistry,
  entry: AgentEntry,
  installed: Installed | undefined,
): Promise<"asked" | "observed"> {
  if (!installed || entry.builtIn) return entry.enforcement.level;
  return registry.stamps.level(runningAs(registry, entry, installed));
}

function enforcementOf(
  registry: AgentRegistry,
  { id, builtIn, enforcement }: AgentEntry,
  shown: "asked" | "observed",
): Agent["enforcement"] {
  const { unasked } = enforcement;
  if (builtIn) return { level: "performed", reason: "Reins itself carries out what its tools do", unasked };
  if (registry.isConfined(id))
    return { level: "confined", reason: "the operating system keeps it to its folders and network", unasked };
  if (shown === "observed") {
    const why =
      enforcement.level === "asked" ? "this version is not verified" : "it does not ask, or is not verified";
    return { level: "observed", reason: `${why}; what it does is seen afterwards`, unasked };
  }
  const besides = unasked.length === 0 ? "" : `; without asking: ${unasked.join(", ")}`;
  return { level: "asked", reason: `it asks, and is trusted to respect the answer${besides}`, unasked };
}

/** The running processes that the caller may see, oldest first. */
export async function shownProcesses(
  { register, hub }: Hosting,
  { principal, harness }: Pick<AuthorizedCall, "principal" | "harness">,
  agent?: string,
): Promise<AgentProcess[]> {
  const admin = isAdmin(principal);
  const operator = isOperator(principal);
  const seen = register.all.filter(
    (live) =>
      (agent === undefined || live.agent === agent) &&
      (operator || live.tenant === principal.tenant) &&
      (admin || live.principal === principal.id),
  );
  const uses = memoryOf(seen.map(({ roots }) => roots.map(({ pid }) => pid)));
  const versions = new Map((await hub.running()).map(({ id, version }) => [id, version]));
  return seen.map((live, index) => {
    const { id, agent, pid, principal: holder, started_at, confined, sessions } = live;
    const kept = admin ? register.processOf(id)?.stderr() : undefined;
    return {
      ...{ id, agent, pid, principal: holder, started_at, confined, sessions: [...sessions] },
      version: versions.get(id) ?? "starting",
      memory_bytes: uses?.[index]?.bytes ?? null,
      processes: uses?.[index]?.processes ?? null,
      stderr: kept ? KeptStderr.parse(harness.redact(kept)) : null,
    };
  });
}

/** Names of an agent's credentials. */
export interface FoundCredentials {
  readonly found: readonly string[];
  readonly missing: readonly string[];
}

/** Checks which credential variables and files exist, without reading them. */
export async function foundCredentials(
  { credentials }: AgentEntry,
  environment: Readonly<Record<string, string | undefined>>,
  userHome: string,
): Promise<FoundCredentials> {
  const files = await Promise.all(
    credentials.files.map(async ({ from }) => ({
      name: `~/${from}`,
      there: await isThere(join(userHome, from)),
    })),
  );
  const variables = credentials.variables.map((name) => ({ name, there: Boolean(environment[name]) }));
  const all = [...variables, ...files];
  const named = (there: boolean) => all.filter((one) => one.there === there).map(({ name }) => name);
  return { found: named(true), missing: named(false) };
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
