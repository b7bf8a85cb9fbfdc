import { visibleJson } from "@reins/kit";
import type { PolicyKeeper, Subject, Trust } from "@reins/supervisor";
import { readMandate } from "./mandate-file.ts";

/** What an agent is under this constitution. */
export interface Manifest {
  readonly agent: string;
  readonly trust: Trust;
  readonly mandate: string;
  readonly constitutionHash: string | undefined;
  /** The constitution in words. */
  readonly prose: string;
  /** Why the agent's own mandate could not be read, if it has one. */
  readonly fault?: string;
}

/** Where manifests come from. */
export interface ManifestSources {
  readonly home: string;
  readonly policies: Pick<PolicyKeeper, "roster" | "policyFor">;
}

/** What an agent on the roster does when nobody wrote it down. */
const REGISTERED_MANDATE =
  "Do what the user asks of you, in the workspace you were given. Say what you did and what is left to do.";

/** The prose of constitutions, read once. */
const proses = new WeakMap<object, string>();

function proseOf(text: { readonly prose: Uint8Array }): string {
  const prose = proses.get(text) ?? Buffer.from(text.prose).toString();
  proses.set(text, prose);
  return prose;
}

/**
 * The manifest of an agent. How far it is trusted is what the harness found out when the session began, never more: an
 * agent that only claims a name on the roster does not get that name's mandate.
 */
export async function manifestOf(
  { agent, trust, tenant }: Pick<Subject, "agent" | "trust" | "tenant">,
  { home, policies }: ManifestSources,
): Promise<Manifest> {
  const policy = policies.policyFor(tenant);
  const manifest = {
    agent,
    trust,
    constitutionHash: policy?.hashes.constitution_hash,
    prose: policy ? proseOf(policy.text) : "",
  };
  if (trust === "unknown") return { ...manifest, mandate: policy?.file.default_mandate ?? "" };
  const name = policies.roster.find(agent)?.mandate;
  if (name === undefined) return { ...manifest, mandate: REGISTERED_MANDATE };
  const { text, fault } = await readMandate(home, name);
  if (text !== undefined) return { ...manifest, mandate: text };
  return {
    ...manifest,
    mandate: REGISTERED_MANDATE,
    fault: `the mandate ${visibleJson(name)} of ${visibleJson(agent)}: ${fault}`,
  };
}
