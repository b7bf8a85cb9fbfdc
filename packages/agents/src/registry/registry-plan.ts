import { createHash } from "node:crypto";
import type { AgentEntry } from "../agent-entry.ts";
import { AgentError } from "../agent-error.ts";
import {
  type AgentLockfile,
  isNewer,
  type NpmPlan,
  planOf,
  type RequestedVersions,
} from "../install/install-plan.ts";
import type { InstallTarget } from "../install/installation.ts";
import { type ModelApi, undescribed } from "../undescribed-agent.ts";
import type { Distribution, RegistryAgent } from "./registry-document.ts";
import type { RegistryState } from "./registry-source.ts";

/** Why the pinned version of the catalogue is installed, and not the registry's. */
export function whyPinned(entry: AgentEntry, registry: RegistryState): string | undefined {
  const found = publishedVersion(entry, registry);
  return "version" in found ? undefined : found.why;
}

/** The version of a catalogue's agent that the registry names, or why none of it is used. */
export function publishedVersion(
  { registry: id, install }: AgentEntry,
  { agents, state }: RegistryState,
): { readonly version: string } | { readonly why: string } {
  if (state === "off") return { why: "no registry is used" };
  if (state === "unavailable") return { why: "the registry cannot be reached, and was never read" };
  const published = id === undefined ? undefined : agents.get(id);
  if (!published || !install) return { why: "it is not in the registry" };
  const npx = published.distributions.find(
    (one) => one.kind === "npx" && one.package === install.agentProcess,
  );
  if (!npx) return { why: "the registry has it as another package" };
  const pinned = install.packages[install.agentProcess] ?? "";
  // A registry that was rolled back must not bring back what was mended since.
  if (isNewer(pinned, npx.version)) return { why: `the registry has ${npx.version}, which is older` };
  return { version: npx.version };
}

/**
 * Plans the install of an agent of the catalogue: at the version of the registry, from the lockfile where that is the same.
 * The registry says nothing but the version; how the agent is started is the catalogue's.
 */
export function catalogueTarget(
  entry: AgentEntry,
  locked: AgentLockfile | undefined,
  versions: RequestedVersions,
  { platform, registry }: { readonly platform: string; readonly registry: RegistryState | undefined },
): InstallTarget {
  const isRequested = versions.agentVersion !== undefined || versions.agentProcessVersion !== undefined;
  const published = registry && !isRequested ? publishedVersion(entry, registry) : undefined;
  if (!registry?.url || !published || !("version" in published))
    return { entry, plan: planOf(entry, locked, versions, platform) };
  const { version } = published;
  const origin = { url: registry.url, id: entry.registry ?? entry.id, version };
  const isPinned = entry.install?.packages[entry.install.agentProcess] === version;
  if (isPinned) return { entry, plan: { ...planOf(entry, locked, {}, platform), registry: origin } };
  const plan = planOf(entry, locked, { agentProcessVersion: version }, platform);
  return { entry, plan: { ...plan, source: "registry", registry: origin } };
}

/** Plans the install of an agent that only the registry describes. */
export function registryTarget(
  agent: RegistryAgent,
  { url, modelApi, hasUv }: { url: string; modelApi?: ModelApi | undefined; hasUv: boolean },
): InstallTarget {
  const usable = agent.distributions.filter(({ kind }) => kind !== "uvx" || hasUv);
  const [distribution] = usable;
  if (!distribution) {
    const why =
      agent.distributions.length > 0
        ? "it needs uv, which is not on PATH"
        : "it is not made for this platform";
    throw new AgentError("unsupported_agent", `${agent.name} cannot be installed: ${why}.`);
  }
  const { id, name } = agent;
  const registry = { url, id, version: agent.version };
  const digest = createHash("sha256").update(JSON.stringify(distribution)).digest("hex").slice(0, 12);
  const folder = `${distribution.version.replaceAll(/[^\w.-]/g, "_")}-registry-${digest}`;
  const entry = undescribed({
    ...{ id, name, modelApi, fromRegistry: true, registry: id, env: distribution.run.env },
    // Replaced by what the installed files say.
    start: { with: "file", file: "files", args: [] },
  });
  return { entry, plan: planFor(distribution, id, { source: "registry", registry, folder }) };
}

function planFor(
  distribution: Distribution,
  id: string,
  origin: Pick<NpmPlan, "source" | "registry" | "folder">,
): InstallTarget["plan"] {
  const { version } = distribution;
  const { args } = distribution.run;
  switch (distribution.kind) {
    case "npx": {
      const dependencies = { [distribution.package]: version };
      const manifest = JSON.stringify(
        { name: `reins-agent-${id}`, private: true, dependencies },
        undefined,
        2,
      );
      const npm = [["ci", "--ignore-scripts"]];
      const packages = { agentProcess: distribution.package, manifest: `${manifest}\n`, lockfile: undefined };
      return { kind: "npm", ...origin, ...packages, packages: 1, npm, args };
    }
    case "binary": {
      const { archive: url, cmd, sha256 } = distribution;
      return { kind: "archive", ...origin, url, cmd, sha256, version, args };
    }
    case "uvx":
      return { kind: "python", ...origin, package: distribution.package, version, args };
  }
}
