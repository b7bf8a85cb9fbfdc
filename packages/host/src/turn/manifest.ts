import { realpath } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { hasCode, visibleJson } from "@reins/kit";
import type { PolicyKeeper, Subject, Trust } from "@reins/supervisor";
import { FileError, readText } from "../governor/text-file.ts";

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
  readonly policies: Pick<PolicyKeeper, "roster" | "inForce">;
}

/** The mandate of a roster agent without one of its own. */
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
  const policy = policies.inForce.get(tenant);
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

const MAX_LENGTH = 32 << 10;
/** What a mandate is written in. Keys and databases have other names, so that no roster can make one of them known. */
const EXTENSIONS: ReadonlySet<string> = new Set([".md", ".markdown", ".txt"]);

/** A mandate, or why it cannot be had. */
type MandateText =
  | { readonly text: string; readonly fault?: undefined }
  | { readonly text?: undefined; readonly fault: string };

/** Reads the file that a roster names, from the home or its folder `mandates`. Nothing outside of the home is read. */
export async function readMandate(home: string, name: string): Promise<MandateText> {
  for (const path of [resolve(home, name), resolve(home, "mandates", name)]) {
    const found = await readInside(home, path);
    if (found) return found;
  }
  return { fault: "there is no such file in the home or in its folder mandates" };
}

async function readInside(home: string, path: string): Promise<MandateText | undefined> {
  try {
    const kind = extname(await realpath(path)).toLowerCase();
    if (!EXTENSIONS.has(kind)) return { fault: "a mandate is a .md or .txt file" };
    const { content } = await readText(path, {}, [await realpath(home)]);
    if (content.length <= MAX_LENGTH) return { text: content };
    return { fault: `a mandate has at most ${MAX_LENGTH} characters` };
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    if (error instanceof FileError) return { fault: "it is not a plain file inside of the home" };
    if (error instanceof Error && "code" in error) return { fault: `it cannot be read (${error.message})` };
    throw error;
  }
}
