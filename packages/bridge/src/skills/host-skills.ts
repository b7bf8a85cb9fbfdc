import { errorMessage, isRecord, type JsonObject } from "@reins/kit";
import { unwrapped } from "../wire/bridge-port.ts";
import type { Discovered } from "./discover.ts";
import { isSkillId, plainLine, readFields } from "./fields.ts";
import { type LoadedSkill, type Skill, SkillError, type SkillFields, type SkillWarning } from "./skill.ts";
import { MAX_SKILL_FILE } from "./skill-file.ts";

/** Sends a request to the host of a session; rejects on an error or a time-out. */
export type HostRequest = (method: string, params: JsonObject, signal: AbortSignal) => Promise<unknown>;

const MAX_HOST_SKILLS = 1_000;
/** How a missing host, and a host that does not know the method, are reported. */
const NO_HOST: ReadonlySet<unknown> = new Set(["no_host", -32_601]);

/** The skills that the host of a session lends: the eighth layer. Listed once, fetched when needed. */
export class HostSkills {
  readonly #request: HostRequest;
  readonly #isOffered: () => boolean;
  #listed: Discovered | undefined;
  #isUnsupported = false;
  #isStale = false;
  /** Fetched skills, and failures, by the ids that the host gave. */
  readonly #fetched = new Map<string, Promise<LoadedSkill>>();
  #versions: ReadonlyMap<string, string> = new Map();

  /** @param isOffered whether the host lists skills, as far as that is known without asking */
  constructor(request: HostRequest, isOffered = () => true) {
    this.#request = request;
    this.#isOffered = isOffered;
  }

  /** Notes that the host's skills have changed; counts at the next turn boundary. */
  invalidate(): void {
    this.#isStale = true;
  }

  /** The host's skills for the turn that begins. An error becomes a warning and an empty list. */
  async list(signal: AbortSignal): Promise<Discovered> {
    if (!this.#isOffered()) return { skills: [], warnings: [] };
    const isStale = this.#isStale;
    this.#isStale = false;
    if (isStale) this.#isUnsupported = false;
    if (this.#isUnsupported) return { skills: [], warnings: [] };
    if (this.#listed && !isStale) return this.#listed;
    try {
      const { skills, warnings, versions } = readSkillList(await this.#request("skills/list", {}, signal));
      this.#forget(versions);
      this.#listed = { skills, warnings };
      return this.#listed;
    } catch (error) {
      signal.throwIfAborted();
      this.#isUnsupported = error instanceof Error && "code" in error && NO_HOST.has(error.code);
      this.#listed = undefined;
      if (this.#isUnsupported) return { skills: [], warnings: [] };
      return { skills: [], warnings: [{ source: "skills/list", message: errorMessage(error) }] };
    }
  }

  /** Fetches a skill once; throws {@link SkillError} when the host cannot serve it. */
  async fetch(skill: Skill, signal: AbortSignal): Promise<LoadedSkill> {
    const known = this.#fetched.get(skill.origin);
    if (known) return known;
    const fetched = this.#request("skills/fetch", { id: skill.origin }, signal).then(
      (reply) => readFetched(reply, skill),
      (error: unknown) => {
        throw new SkillError("unavailable", `the host does not serve ${skill.id}: ${errorMessage(error)}`, {
          cause: error,
        });
      },
    );
    this.#fetched.set(skill.origin, fetched);
    // A failure counts until the host has changed its skills, unless it was this turn that ended.
    fetched.catch(() => {
      if (signal.aborted) this.#fetched.delete(skill.origin);
    });
    return fetched;
  }

  /** Keeps only what was fetched of a version that the host still has. */
  #forget(versions: ReadonlyMap<string, string>): void {
    for (const id of this.#fetched.keys())
      if (!versions.has(id) || versions.get(id) !== this.#versions.get(id)) this.#fetched.delete(id);
    this.#versions = versions;
  }
}

/** Reads the reply of `skills/list`: a list, or a list in `skills`. Entries without a name are left out. */
function readSkillList(reply: unknown): Discovered & { readonly versions: ReadonlyMap<string, string> } {
  const content = unwrapped(reply);
  const entries = isRecord(content) ? content.skills : content;
  if (!Array.isArray(entries))
    throw new SkillError("malformed", "the reply of skills/list is no list of skills");
  const warnings: SkillWarning[] = [];
  const versions = new Map<string, string>();
  const warn = (message: string) => {
    if (warnings.length < 20) warnings.push({ source: "skills/list", message });
  };
  if (entries.length > MAX_HOST_SKILLS) warn(`only the first ${MAX_HOST_SKILLS} skills are used`);
  const skills = entries.slice(0, MAX_HOST_SKILLS).flatMap((entry: unknown, index): Skill[] => {
    try {
      const skill = hostSkill(entry);
      if (isRecord(entry) && typeof entry.version === "string") versions.set(skill.origin, entry.version);
      return [skill];
    } catch (error) {
      warn(`entry ${index + 1} is left out: ${errorMessage(error)}`);
      return [];
    }
  });
  return { skills, warnings, versions };
}

/** The skill that an entry of a host describes; throws {@link SkillError} where it has no name that can be used. */
export function hostSkill(entry: unknown): Skill {
  if (!isRecord(entry)) throw new SkillError("malformed", "it is no object");
  const { name, fields } = fieldsIn(entry);
  if (name === undefined) throw new SkillError("malformed", "it has no name");
  const origin = typeof entry.id === "string" && entry.id !== "" ? entry.id : name;
  // The host's id is the qualified name where it is one: `acme/ops/review` for `review`.
  const id = origin.endsWith(`/${name}`) && isSkillId(origin) ? origin : name;
  if (!isSkillId(id) || origin.length > 500) throw new SkillError("malformed", "its name cannot be used");
  const namespace = id === name ? undefined : id.slice(0, -name.length - 1);
  return {
    ...fields,
    ...{ id, name, layer: "host", origin, trust: { status: "advisory" } },
    ...(namespace !== undefined && { namespace }),
  };
}

/** Reads the reply of `skills/fetch`, with its manifest apart or flattened. */
function readFetched(reply: unknown, skill: Skill): LoadedSkill {
  const content = unwrapped(reply);
  if (!isRecord(content)) throw new SkillError("malformed", `the host sent no skill for ${skill.id}`);
  const { body } = content;
  if (typeof body !== "string") throw new SkillError("malformed", `the host sent ${skill.id} without a body`);
  if (body.length > MAX_SKILL_FILE) throw new SkillError("malformed", `${skill.id} of the host is too long`);
  const { fields } = fieldsIn(content);
  const description = fields.description || skill.description;
  const short = fields.short || skill.short;
  return { skill: { ...skill, ...fields, description, short }, body: body.trim() };
}

/** Fields at the top level, below those of a manifest. */
function fieldsIn(entry: Readonly<Record<string, unknown>>): {
  readonly name: string | undefined;
  readonly fields: SkillFields;
} {
  const manifest = isRecord(entry.manifest) ? entry.manifest : {};
  const { name, fields } = readFields({ ...entry, ...manifest });
  return { name: name === undefined ? undefined : plainLine(name), fields };
}
