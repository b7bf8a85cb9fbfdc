import { hasHidden, readJson, visibleText } from "@reins/kit";
import { z } from "zod";
import { AgentError } from "../agent-error.ts";
import { isSettable } from "../agent-launch.ts";
import { isExactVersion, isPackageName } from "../install/install-plan.ts";

/** How a registry distributes an agent. All of it is outside input: it names a program that others chose. */
export type Distribution =
  | { readonly kind: "npx"; readonly package: string; readonly version: string; readonly run: Run }
  /** `package` may name extras, as in `tool[acp]`. */
  | { readonly kind: "uvx"; readonly package: string; readonly version: string; readonly run: Run }
  | {
      readonly kind: "binary";
      readonly archive: string;
      /** Relative to the archive's root. */
      readonly cmd: string;
      /** In hexadecimal, where the registry says one. */
      readonly sha256?: string | undefined;
      readonly version: string;
      readonly run: Run;
    };

/** What a registry adds to the command of an agent. */
interface Run {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** An agent as a registry describes it. */
export interface RegistryAgent {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** Those for this platform, the preferred one first; none if it is not made for it. */
  readonly distributions: readonly Distribution[];
}

/** The agents of a registry that are usable, and why others are not. */
export interface RegistryDocument {
  readonly agents: ReadonlyMap<string, RegistryAgent>;
  readonly refused: readonly { readonly id: string; readonly reason: string }[];
}

const MOST_AGENTS = 1_000;

const text = (longest: number) =>
  z
    .string()
    .max(longest)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
    .refine((value) => !/[\u0000-\u001f\u007f]/.test(value), "holds control characters");

const Run = {
  args: z.array(text(2_048)).max(64).default([]),
  env: z
    .record(
      z
        .string()
        .regex(/^[A-Za-z_]\w{0,127}$/, "is no name of a variable")
        .refine(isSettable, "is a variable that no registry may set"),
      text(4_096).refine((value) => !value.includes("${"), "holds a placeholder"),
    )
    .refine((env) => Object.keys(env).length <= 64, "sets too many variables")
    .default({}),
};

/** A path in an archive. */
const Command = text(512)
  .transform((path) => path.replace(/^\.\//, ""))
  .refine(
    (path) => path !== "" && path.split("/").every((part) => part !== "" && part !== "." && part !== ".."),
    "must be a path below the archive's root",
  )
  .refine((path) => !/[\\:]/.test(path), "must be a plain path");

const Packaged = z.looseObject({ package: text(256), ...Run });
const Binary = z.looseObject({
  archive: z.url({ protocol: /^https?$/ }).max(2_048),
  cmd: Command,
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, "is no SHA-256")
    .optional(),
  ...Run,
});

const Agent = z.looseObject({
  id: z.string().regex(/^[a-z][a-z0-9-]{0,63}$/, "must be small letters, digits and dashes"),
  name: text(128)
    .min(1)
    .refine((name) => !hasHidden(name), "holds characters that cannot be seen"),
  version: text(128).refine(isExactVersion, "is not an exact version, such as 1.2.3"),
  description: text(2_048).default("").transform(visibleText),
  distribution: z.looseObject({
    npx: Packaged.optional(),
    uvx: Packaged.optional(),
    binary: z.record(z.string().max(64), z.unknown()).optional(),
  }),
});

const Document = z.looseObject({ agents: z.array(z.unknown()).max(MOST_AGENTS) });

/** Reads a registry for a platform, which is `process.platform`-`process.arch`. Throws for what is no registry. */
export function readRegistry(body: string, platform: string): RegistryDocument {
  const { agents } = Document.parse(readJson(body).value);
  const usable = new Map<string, RegistryAgent>();
  const refused: { id: string; reason: string }[] = [];
  const seen = new Set<string>();
  for (const one of agents) {
    const id = z.looseObject({ id: z.string() }).safeParse(one).data?.id.slice(0, 64) ?? "without an id";
    const read = readAgent(one, platform);
    if ("reason" in read) refused.push({ id: visibleText(id), reason: visibleText(read.reason) });
    else if (seen.has(read.id)) refused.push({ id, reason: "the registry has it twice" });
    else usable.set(read.id, read);
    // Which of two is meant is not known.
    if (seen.has(id)) usable.delete(id);
    seen.add(id);
  }
  return { agents: usable, refused };
}

function readAgent(document: unknown, platform: string): RegistryAgent | { readonly reason: string } {
  const read = Agent.safeParse(document);
  if (!read.success) return { reason: faultsOf(read.error) };
  const { id, name, version, description, distribution } = read.data;
  try {
    const distributions = [
      ...(distribution.npx ? [npxOf(distribution.npx, version)] : []),
      ...binaryOf(distribution.binary?.[platformName(platform)], version),
      ...(distribution.uvx ? [uvxOf(distribution.uvx, version)] : []),
    ];
    return { id, name, version, description, distributions };
  } catch (error) {
    if (error instanceof z.ZodError) return { reason: faultsOf(error) };
    if (error instanceof AgentError) return { reason: error.message };
    throw error;
  }
}

function faultsOf({ issues }: z.ZodError): string {
  const [first] = issues;
  return `${first?.path.join(".").slice(0, 200) || "entry"}: ${first?.message ?? "is invalid"}`;
}

type Packaged = z.output<typeof Packaged>;

function npxOf({ package: spec, args, env }: Packaged, otherwise: string): Distribution {
  // The first character may be the @ of a scope.
  const at = spec.indexOf("@", 1);
  const [name, version] = at < 0 ? [spec, otherwise] : [spec.slice(0, at), spec.slice(at + 1)];
  if (!isPackageName(name) || !isExactVersion(version))
    throw new AgentError("invalid_entry", `${JSON.stringify(spec)} is no npm package at an exact version`);
  return { kind: "npx", package: name, version, run: { args, env } };
}

const PYTHON =
  /^([A-Za-z0-9](?:[\w.-]{0,126}[A-Za-z0-9])?(?:\[[\w.,-]{1,64}\])?)(?:(?:==|@)(\d[\w.+!-]{0,63}))?$/;

function uvxOf({ package: spec, args, env }: Packaged, otherwise: string): Distribution {
  const [, name, version = otherwise] = PYTHON.exec(spec) ?? [];
  if (name === undefined)
    throw new AgentError("invalid_entry", `${JSON.stringify(spec)} is no Python package at an exact version`);
  return { kind: "uvx", package: name, version, run: { args, env } };
}

function binaryOf(target: unknown, version: string): Distribution[] {
  if (target === undefined) return [];
  const { archive, cmd, sha256, args, env } = Binary.parse(target);
  const { username, password } = new URL(archive);
  if (username !== "" || password !== "")
    throw new AgentError("invalid_entry", "its archive's address holds a login");
  return [{ kind: "binary", archive, cmd, sha256: sha256?.toLowerCase(), version, run: { args, env } }];
}

/** A platform as registries name it, such as `linux-x86_64`. */
function platformName(platform: string): string {
  const [os = "", arch = ""] = platform.split("-");
  const systems: Readonly<Record<string, string>> = { win32: "windows" };
  const machines: Readonly<Record<string, string>> = { x64: "x86_64", arm64: "aarch64" };
  return `${systems[os] ?? os}-${machines[arch] ?? arch}`;
}
