import { opendir, realpath } from "node:fs/promises";
import { join } from "node:path";
import type { FoundSkills, SkillService } from "@reins/agent";
import {
  type Bundle,
  type DiscoveryOptions,
  discoverSkills,
  type LayerOrder,
  type LoadedSkill,
  MATCH_DEFAULTS,
  type MatchQuery,
  type MatchSettings,
  rankSkills,
  readSkillFolder,
  readSkillText,
  readTrustedSigners,
  reloadSkill,
  type Skill,
  SkillCatalogue,
  type SkillIdentity,
  type SkillMatch,
  type SkillRoot,
  type SkillWarning,
} from "@reins/bridge";
import { type Clock, FileStamps, ifExists, LruCache } from "@reins/kit";
import type { Draft } from "@reins/ledger";
import { change, type Store } from "@reins/store";
import {
  actorOf,
  answererOf,
  type Harness,
  isConcerned,
  type Principal,
  SupervisorError,
} from "@reins/supervisor";
import { type SkillGrant, skillTables } from "./tables.ts";

/** What the operator configures of skills. */
export interface SkillSettings extends LayerOrder {
  /** Folders that the command line names. */
  readonly cli?: readonly string[] | undefined;
  /** Folders that the environment names. */
  readonly env?: readonly string[] | undefined;
  /** Folders that the configuration names; a `*` at the end stands for each folder below. */
  readonly paths?: readonly { readonly path: string; readonly namespace?: string | undefined }[] | undefined;
  /** Folders of the machine. */
  readonly system?: readonly string[] | undefined;
  readonly requireSignatures?: boolean | undefined;
  readonly match?: Partial<MatchSettings> | undefined;
  readonly cardBudget?: number | undefined;
  /** Names of variables that bodies may use. */
  readonly variables?: readonly string[] | undefined;
}

export interface SkillLibraryOptions {
  readonly harness: Pick<Harness, "home" | "store">;
  readonly settings?: SkillSettings | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock | undefined;
}

/** Whose skills, and where. */
export interface SkillPlace {
  readonly principal: Pick<Principal, "tenant" | "user">;
  /** The folders of the workspace. */
  readonly roots: readonly string[];
}

/** The skills that fit a prompt. */
export interface MatchedSkills {
  /** The best first. */
  readonly matches: readonly SkillMatch[];
  /** How many of them a session uses. */
  readonly topN: number;
  /** What is wrong with the skills that there are. */
  readonly warnings: readonly SkillWarning[];
  /** Where there is no skill at all, the files that say so: while they are current, none has come. */
  readonly noneWhile?: FileStamps;
}

type SkillGrants = Awaited<ReturnType<typeof grantsFor>>;

const CARD_BUDGET = 8_000;
const MAX_FOLDERS = 200;
/** Where workspaces keep skills, the strongest first. */
const PROJECT_FOLDERS = [".reins/skills", ".claude/skills", ".agents/skills"];
const SIGNERS = "trusted-signers";
/** The most that is kept of what was found: workspaces, and files that it was read from. */
const KEPT = { entries: 200, size: 100_000 };

/** What was found, and by what it is known to be the same still. */
interface Kept {
  readonly found: FoundSkills;
  readonly catalogue: SkillCatalogue;
  readonly stamps: FileStamps;
}

/** The skills of folders: those of the operator, and those of workspaces, as far as they are trusted. */
export class SkillLibrary {
  readonly #options: SkillLibraryOptions;
  readonly #kept = new LruCache<string, Kept>(KEPT);

  constructor(options: SkillLibraryOptions) {
    this.#options = options;
  }

  /** Where the keys of trusted signers are. */
  get signersFolder(): string {
    return join(this.#options.harness.home, SIGNERS);
  }

  /** What there is for a workspace, with what is shadowed, untrusted or wrong. */
  async catalogue(place: SkillPlace): Promise<SkillCatalogue> {
    return (await this.#current(place)).catalogue;
  }

  /** The skills for a session in a workspace. */
  async find(place: SkillPlace): Promise<FoundSkills> {
    return (await this.#current(place)).found;
  }

  /** What was found for the same folders and grants, if no file has changed since; found anew otherwise. */
  async #current({ principal, roots }: SkillPlace): Promise<Kept> {
    // Where there is no skill, no grant makes one usable.
    const place = JSON.stringify(roots);
    const none = this.#kept.get(place);
    if (none && (await none.stamps.areCurrent())) return none;
    const grants = await grantsFor(this.#options.harness.store, principal);
    const key = JSON.stringify([roots, ...grants]);
    const kept = this.#kept.get(key);
    if (kept && (await kept.stamps.areCurrent())) return kept;
    const now = await this.#discover(roots, grants);
    this.#kept.delete(place);
    this.#kept.set(now.found.skills.length > 0 ? key : place, now, 1 + now.stamps.size);
    return now;
  }

  async #discover(workspace: readonly string[], grants: SkillGrants): Promise<Kept> {
    const { settings = {}, environment, clock } = this.#options;
    const { lookupOrder, disabled, variables = [] } = settings;
    const stamps = new FileStamps(clock);
    const options = await this.#discovery(workspace, grants, stamps);
    const roots = (await this.#roots(workspace, stamps)).filter(({ layer }) => !disabled?.includes(layer));
    const { skills, warnings } = await discoverSkills(roots, { ...options, stamps });
    const known = variables.flatMap((name) => {
      const value = environment[name];
      return value === undefined ? [] : [[name, value]];
    });
    const order = { lookupOrder, disabled };
    return {
      found: {
        ...{ skills, warnings, order },
        match: { ...MATCH_DEFAULTS, ...settings.match },
        cardBudget: settings.cardBudget ?? CARD_BUDGET,
        variables: Object.fromEntries(known),
      },
      catalogue: new SkillCatalogue(skills, warnings, order),
      stamps,
    };
  }

  /** Reads a skill again, with its body; throws when it may no longer be used. */
  async load({ principal, roots }: SkillPlace, skill: Skill): Promise<LoadedSkill> {
    const grants = await grantsFor(this.#options.harness.store, principal);
    return reloadSkill(skill, await this.#discovery(roots, grants));
  }

  /** Reads a file of a skill; throws when the skill may no longer be used, or has no such file. */
  async readFile({ principal, roots }: SkillPlace, skill: Skill, path: string): Promise<string> {
    const grants = await grantsFor(this.#options.harness.store, principal);
    return readSkillText(skill, path, await this.#discovery(roots, grants));
  }

  /** A skill as it is now, for a person to read before trusting it. */
  async review(skill: Skill): Promise<{ readonly body: string; readonly bundle: Bundle }> {
    const { file, bundle } = await readSkillFolder(skill.origin);
    return { body: file.body, bundle };
  }

  /** The skills that fit a prompt, best first, and how many of them a session uses. */
  async match(place: SkillPlace, query: MatchQuery): Promise<MatchedSkills> {
    const { found, catalogue, stamps } = await this.#current(place);
    const { usable, warnings } = catalogue;
    const matches = rankSkills(usable, query);
    const noneWhile = found.skills.length === 0 ? { noneWhile: stamps } : {};
    return { matches, topN: found.match.topN, warnings, ...noneWhile };
  }

  /** The service of an agent whose sessions work in the places that a function knows. */
  serviceFor(placeOf: (sessionId: string) => SkillPlace): SkillService {
    return {
      find: (id) => this.find(placeOf(id)),
      load: (id, skill) => this.load(placeOf(id), skill),
      readFile: (id, skill, path) => this.readFile(placeOf(id), skill, path),
    };
  }

  async #discovery(
    roots: readonly string[],
    grants: SkillGrants,
    stamps?: FileStamps,
  ): Promise<DiscoveryOptions> {
    const { settings = {} } = this.#options;
    const [signers, workspace] = await Promise.all([
      readTrustedSigners(this.signersFolder, stamps),
      Promise.all(roots.map((root) => realpath(root).catch(() => root))),
    ]);
    return {
      workspace,
      trust: {
        signers,
        grantOf: (skill) => grants.get(grantKey(skill)),
        requireSignatures: settings.requireSignatures ?? false,
      },
    };
  }

  async #roots(workspace: readonly string[], stamps: FileStamps): Promise<readonly SkillRoot[]> {
    const { harness, settings = {} } = this.#options;
    const { cli = [], env = [], paths = [], system = [] } = settings;
    const ofLayer = (layer: SkillRoot["layer"], folders: readonly string[]) =>
      folders.map((path): SkillRoot => ({ layer, path }));
    const manifest = await Promise.all(
      paths.map(async ({ path, namespace }) =>
        (await expanded(path, stamps)).map(
          (folder): SkillRoot => ({
            ...{ layer: "manifest", path: folder },
            ...(namespace !== undefined && { namespace }),
          }),
        ),
      ),
    );
    const packages = await Promise.all(
      workspace.map((root) => packagesIn(join(root, ".reins/packages"), stamps)),
    );
    return [
      ...ofLayer("cli", cli),
      ...ofLayer("env", env),
      ...workspace.flatMap((root) =>
        ofLayer(
          "project",
          PROJECT_FOLDERS.map((folder) => join(root, folder)),
        ),
      ),
      ...manifest.flat(),
      ...ofLayer("user", [join(harness.home, "skills")]),
      ...packages.flat(),
      ...ofLayer("system", system),
    ];
  }
}

/** A folder, or the folders below it where its path ends with `*`. */
async function expanded(path: string, stamps: FileStamps): Promise<readonly string[]> {
  if (!path.endsWith("/*")) return [path];
  const folder = path.slice(0, -2);
  return (await foldersIn(folder, stamps)).map((name) => join(folder, name));
}

/** The skills of packages, each under the name of its package. */
async function packagesIn(folder: string, stamps: FileStamps): Promise<readonly SkillRoot[]> {
  return (await foldersIn(folder, stamps)).map((name) => ({
    layer: "package",
    path: join(folder, name, "skills"),
    namespace: name,
  }));
}

async function foldersIn(folder: string, stamps: FileStamps): Promise<readonly string[]> {
  await stamps.note(folder);
  const names: string[] = [];
  const entries = await ifExists(opendir(folder)).catch(() => undefined);
  if (!entries) return [];
  for await (const entry of entries) {
    if (entry.isDirectory()) names.push(entry.name);
    if (names.length >= MAX_FOLDERS) break;
  }
  return names.toSorted();
}

/** The persons who have trusted skills, by {@link grantKey}, as far as it counts for a user. */
async function grantsFor(
  store: Pick<Store, "query">,
  { tenant, user }: Pick<Principal, "tenant" | "user">,
): Promise<ReadonlyMap<string, string>> {
  const grants = await store.query(skillTables, "grants", { tenant, user });
  return new Map(grants.map(({ skill: id, layer, digest, by }) => [grantKey({ id, layer, digest }), by]));
}

/** What a grant is found by: content, id and layer, so that a renamed skill is another one. */
function grantKey({ id, layer, digest }: Record<keyof SkillIdentity, string>): string {
  return JSON.stringify([digest, layer, id]);
}

/**
 * Records a person's word that the content of a skill may be used under its id in its layer: that of an approver counts for the tenant, that of
 * any other person for their own sessions. An agent has no say in it.
 */
export async function grantSkill(
  harness: Pick<Harness, "record" | "store">,
  principal: Principal,
  skill: Skill,
  at: Date,
): Promise<void> {
  const { digest, id, layer } = skill;
  if (digest === undefined)
    throw new SupervisorError("invalid", `${id} comes from a host; there is nothing to trust`);
  const { tenant } = expectPerson(principal);
  const by = actorOf(principal);
  const row = { tenant, user: scopeOf(principal), digest, skill: id, layer, by, at: at.toISOString() };
  await harness.record([draftOf(principal, "skill_trusted", row)], {
    with: [change(skillTables, "grant", row)],
  });
}

/** Takes a person's word for a content back, under whatever id; returns whether there was one. */
export async function revokeSkill(
  harness: Pick<Harness, "record" | "store">,
  principal: Principal,
  digest: string,
): Promise<boolean> {
  const { tenant } = expectPerson(principal);
  const user = scopeOf(principal);
  const grants = await harness.store.query(skillTables, "grants", { tenant, user });
  const revoked = grants.filter((one) => one.digest === digest && one.user === user);
  if (revoked.length === 0) return false;
  const key = { tenant, user, digest };
  await harness.record(
    revoked.map((grant) => draftOf(principal, "skill_trust_revoked", grant)),
    {
      with: [change(skillTables, "revoke", key)],
    },
  );
  return true;
}

function expectPerson(principal: Principal): Principal {
  if (principal.kind !== "agent") return principal;
  throw new SupervisorError("forbidden", "an agent does not say which skills are trusted; a person has to");
}

/** For whose sessions the word of a principal counts; empty for all of the tenant. */
function scopeOf(principal: Principal): string {
  const { tenant, user } = principal;
  const isApprover = isConcerned(answererOf(principal), { tenant, user: "" });
  return isApprover ? "" : user;
}

/** The entry of a grant, signed by its author. */
function draftOf(
  by: Principal,
  changed: "skill_trusted" | "skill_trust_revoked",
  { tenant, user, digest, skill, layer }: Omit<SkillGrant, "by" | "at">,
): Draft {
  const { id: principal, kind } = by;
  return {
    quality: "policy_change",
    actor: actorOf(by),
    target: `skill:${skill}`,
    tags: ["skill", `tenant:${tenant}`],
    payload: { change: changed, skill, layer, digest, tenant, user, by: { principal, kind } },
  };
}
