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
  readTrustedSigners,
  reloadSkill,
  type Skill,
  SkillCatalogue,
  type SkillMatch,
  type SkillRoot,
} from "@reins/bridge";
import { ifExists } from "@reins/kit";
import type { Harness, Principal } from "@reins/supervisor";
import { grantsFor } from "./skill-grants.ts";

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
}

/** Whose skills, and where. */
export interface SkillPlace {
  readonly principal: Pick<Principal, "tenant" | "user">;
  /** The folders of the workspace. */
  readonly roots: readonly string[];
}

const CARD_BUDGET = 8_000;
const MAX_FOLDERS = 200;
/** Where workspaces keep skills, the strongest first. */
const PROJECT_FOLDERS = [".reins/skills", ".claude/skills", ".agents/skills"];
const SIGNERS = "trusted-signers";

/** The skills of folders: those of the operator, and those of workspaces, as far as they are trusted. */
export class SkillLibrary {
  readonly #options: SkillLibraryOptions;

  constructor(options: SkillLibraryOptions) {
    this.#options = options;
  }

  /** Where the keys of trusted signers are. */
  get signersFolder(): string {
    return join(this.#options.harness.home, SIGNERS);
  }

  /** What there is for a workspace, with what is shadowed, untrusted or wrong. */
  async catalogue(place: SkillPlace): Promise<SkillCatalogue> {
    const { skills, warnings, order } = await this.find(place);
    return new SkillCatalogue(skills, warnings, order);
  }

  /** The skills for a session in a workspace. */
  async find(place: SkillPlace): Promise<FoundSkills> {
    const { settings = {}, environment } = this.#options;
    const { lookupOrder, disabled, variables = [] } = settings;
    const options = await this.#discovery(place);
    const roots = (await this.#roots(place.roots)).filter(({ layer }) => !disabled?.includes(layer));
    const { skills, warnings } = await discoverSkills(roots, options);
    const known = variables.flatMap((name) => {
      const value = environment[name];
      return value === undefined ? [] : [[name, value]];
    });
    return {
      ...{ skills, warnings },
      order: { lookupOrder, disabled },
      match: { ...MATCH_DEFAULTS, ...settings.match },
      cardBudget: settings.cardBudget ?? CARD_BUDGET,
      variables: Object.fromEntries(known),
    };
  }

  /** Reads a skill again, with its body; throws when it may no longer be used. */
  async load(place: SkillPlace, skill: Skill): Promise<LoadedSkill> {
    return reloadSkill(skill, await this.#discovery(place));
  }

  /** A skill as it is now, for a person to read before trusting it. */
  async review(skill: Skill): Promise<{ readonly body: string; readonly bundle: Bundle }> {
    const { file, bundle } = await readSkillFolder(skill.origin);
    return { body: file.body, bundle };
  }

  /** The skills that fit a prompt, best first, and how many of them a session uses. */
  async match(
    place: SkillPlace,
    query: MatchQuery,
  ): Promise<{ readonly matches: readonly SkillMatch[]; readonly topN: number }> {
    const { skills, warnings, order, match } = await this.find(place);
    const { usable } = new SkillCatalogue(skills, warnings, order);
    return { matches: rankSkills(usable, query), topN: match.topN };
  }

  /** The service of an agent whose sessions work in the places that a function knows. */
  serviceFor(placeOf: (sessionId: string) => SkillPlace): SkillService {
    return {
      find: (id) => this.find(placeOf(id)),
      load: (id, skill) => this.load(placeOf(id), skill),
    };
  }

  async #discovery({ principal, roots }: SkillPlace): Promise<DiscoveryOptions> {
    const { harness, settings = {} } = this.#options;
    const [signers, grants, workspace] = await Promise.all([
      readTrustedSigners(this.signersFolder),
      grantsFor(harness.store, principal),
      Promise.all(roots.map((root) => realpath(root).catch(() => root))),
    ]);
    return {
      workspace,
      trust: {
        signers,
        grantOf: (digest) => grants.get(digest),
        requireSignatures: settings.requireSignatures ?? false,
      },
    };
  }

  async #roots(workspace: readonly string[]): Promise<readonly SkillRoot[]> {
    const { harness, settings = {} } = this.#options;
    const { cli = [], env = [], paths = [], system = [] } = settings;
    const ofLayer = (layer: SkillRoot["layer"], folders: readonly string[]) =>
      folders.map((path): SkillRoot => ({ layer, path }));
    const manifest = await Promise.all(
      paths.map(async ({ path, namespace }) =>
        (await expanded(path)).map(
          (folder): SkillRoot => ({
            ...{ layer: "manifest", path: folder },
            ...(namespace !== undefined && { namespace }),
          }),
        ),
      ),
    );
    const packages = await Promise.all(workspace.map((root) => packagesIn(join(root, ".reins/packages"))));
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
async function expanded(path: string): Promise<readonly string[]> {
  if (!path.endsWith("/*")) return [path];
  const folder = path.slice(0, -2);
  return (await foldersIn(folder)).map((name) => join(folder, name));
}

/** The skills of packages, each under the name of its package. */
async function packagesIn(folder: string): Promise<readonly SkillRoot[]> {
  return (await foldersIn(folder)).map((name) => ({
    layer: "package",
    path: join(folder, name, "skills"),
    namespace: name,
  }));
}

async function foldersIn(folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  const entries = await ifExists(opendir(folder)).catch(() => undefined);
  if (!entries) return [];
  for await (const entry of entries) {
    if (entry.isDirectory()) names.push(entry.name);
    if (names.length >= MAX_FOLDERS) break;
  }
  return names.toSorted();
}
