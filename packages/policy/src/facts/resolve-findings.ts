import { posix } from "node:path";
import { type Effect, PLACES, type Place, type ReadEffect, type WriteEffect } from "../action.ts";
import { ALL_FILES } from "./file-filter.ts";
import type { Finding, Findings, Obeyed, Target } from "./findings.ts";
import type { FactsContext } from "./gather.ts";
import { isRecoverable } from "./git/recoverable.ts";
import { fileAround, repositoryPrograms } from "./git/repository.ts";
import { shownCredentials } from "./git/shown.ts";
import {
  credentialsBelow,
  credentialsByHash,
  linksFound,
  type Search,
  trackedCredentials,
} from "./path/credentials.ts";
import { HardLinks, type Places, type Touch } from "./path/places.ts";
import { PathResolver, type ResolvedPath } from "./path/resolve.ts";
import { CopyDestinations, type Touched, targetPaths } from "./path/target-paths.ts";

/** More matches of a glob than this are summed up by the folders they lie in. */
const LIST_LIMIT = 24;

type PathFinding = Finding & { kind: "read" | "write" };
type PathEffect = ReadEffect | WriteEffect;

/** Follows the paths of findings on the file system, and says where they lie. */
export class FindingResolver {
  readonly #context: FactsContext;
  readonly #places: Places;
  readonly #findings: Findings;
  readonly #resolver: PathResolver;
  readonly #destinations: CopyDestinations;
  readonly #links: HardLinks;

  constructor(context: FactsContext, places: Places, findings: Findings) {
    this.#context = context;
    this.#places = places;
    this.#findings = findings;
    this.#resolver = new PathResolver(context.files);
    this.#destinations = new CopyDestinations(context, findings, this.#resolver);
    this.#links = new HardLinks(context);
  }

  /** The effects of all findings, in their order, each once. */
  async effects(): Promise<readonly Effect[]> {
    const found = this.#findings.found;
    const effects = await Promise.all(found.map((finding) => this.#effectsOf(finding)));
    const seen = new Map<string, Effect>();
    for (const effect of effects.flat()) {
      const own = this.#asOwn(effect);
      seen.set(JSON.stringify(own), own);
    }
    const all = [...seen.values()];
    const named = new Set(
      all.map((effect) => (effect.kind === "read" && !effect.passing ? effect.path : null)),
    );
    // What is named is not read in passing.
    return all.filter((effect) => !(effect.kind === "read" && effect.passing && named.has(effect.path)));
  }

  /** What one part of an action makes in a shared folder is its own in the others. */
  #asOwn(effect: Effect): Effect {
    if ((effect.kind !== "read" && effect.kind !== "write") || effect.place !== "shared") return effect;
    const touch = { writes: effect.kind === "write", deep: effect.deep === true };
    if (this.#places.placeOf(effect.path, touch) !== "temporary") return effect;
    if (effect.kind === "read") return { ...effect, place: "temporary" };
    const { recoverable: _, ...rest } = effect;
    return { ...rest, place: "temporary" };
  }

  async #effectsOf(finding: Finding): Promise<readonly Effect[]> {
    switch (finding.kind) {
      case "net":
        return [{ kind: "net", host: finding.host, ...(finding.looks && { looks: true as const }) }];
      case "exec": {
        const { command, arguments: words, repository, hooks, obeys } = finding;
        const opaque =
          finding.opaque ||
          (await this.#runsMore(repository, hooks === true)) ||
          (await this.#runsOther(command, obeys));
        return [{ kind: "exec", command, arguments: words, opaque }];
      }
      case "shown":
        return this.#shownEffects(finding);
      case "object":
        return this.#objectEffects(finding);
      case "tracked":
      case "only":
        return this.#trackedEffects(finding);
      default:
        return this.#pathEffects(finding);
    }
  }

  /** Files with keys that git shows or that a search names. */
  async #trackedEffects({
    kind,
    target,
    glob,
  }: Finding & { kind: "tracked" | "only" }): Promise<readonly Effect[]> {
    const named = kind === "only" && !/[*?[]/.test(glob) ? await this.#namedBelow(target, glob) : [];
    if (named.length > 0) return named;
    const known = await targetPaths({ ...target, text: "." }, this.#context, this.#findings);
    if ("unknown" in known) return [{ kind: "read", path: known.unknown, place: "unknown", deep: true }];
    const filter = { ...ALL_FILES, only: glob === undefined ? [] : [posix.basename(glob)] };
    const found = await Promise.all(
      known.paths.map(async (folder) => [
        ...(glob === undefined ? [] : await credentialsBelow(this.#context.files, folder, filter)),
        ...(kind === "tracked" ? await trackedCredentials(this.#context.files, folder, filter) : []),
      ]),
    );
    // Up to the first sign that stands for others, a glob of paths names a folder.
    const within =
      glob
        ?.replace(/[*?[].*$/s, "")
        .replace(/[^/]*$/, "")
        .replace(/\/$/, "") ?? "";
    const isWithin = (path: string): boolean => within === "" || `${path}/`.includes(`/${within}/`);
    return [...new Set(found.flat())].filter(isWithin).map((path) =>
      this.#withInside({
        kind: "read",
        path,
        place: "credentials",
        ...(glob === undefined && { passing: true as const }),
      }),
    );
  }

  /** Files with keys that git kept earlier, and shows among others. */
  async #shownEffects({ target, shown }: Finding & { kind: "shown" }): Promise<readonly Effect[]> {
    const known = await targetPaths(target, this.#context, this.#findings);
    const folders = "unknown" in known ? [] : known.paths;
    const found = await Promise.all(folders.map((one) => shownCredentials(this.#context.files, one, shown)));
    return found.flatMap((one) => {
      if (one?.unclear !== undefined) this.#findings.doubt(one.unclear);
      return (one?.paths ?? []).map((path) =>
        this.#withInside({
          kind: "read",
          path: posix.join(one?.root ?? "", path),
          place: "credentials",
          passing: true,
        }),
      );
    });
  }

  async #objectEffects({ target, hash }: Finding & { kind: "object" }): Promise<readonly Effect[]> {
    const known = await targetPaths(target, this.#context, this.#findings);
    const folders = "unknown" in known ? [] : known.paths;
    const found = await Promise.all(folders.map((one) => credentialsByHash(this.#context.files, one, hash)));
    if (found.includes("unknown"))
      this.#findings.doubt(`git's object ${hash} is the content of a file that is not known`);
    return found.flatMap((path) =>
      path === undefined || path === "unknown"
        ? []
        : [this.#withInside({ kind: "read", path, place: "credentials" })],
    );
  }

  /** A plain name that a search is limited to, where files of that name are guarded. */
  async #namedBelow(target: Target, name: string): Promise<readonly Effect[]> {
    const finding = { kind: "read", target: { ...target, text: name, isGuess: true }, deep: false } as const;
    const effects = await this.#pathEffects(finding);
    return effects.filter((effect) => "place" in effect && effect.place === "credentials");
  }

  async #runsMore(repository: readonly string[] | undefined, hooks: boolean): Promise<boolean> {
    if (repository === undefined) return false;
    const reasons = await Promise.all(
      repository.map((folder) => repositoryPrograms(this.#context.files, folder, hooks)),
    );
    const reason = reasons.find((one) => one !== undefined);
    if (reason !== undefined) this.#findings.hideIn(reason);
    return reason !== undefined;
  }

  /** Whether a file of the project chooses what runs under a name; what the action itself writes may be that file. */
  async #runsOther(command: string, obeys: Obeyed | undefined): Promise<boolean> {
    if (obeys === undefined) return false;
    const files = this.#context.files;
    const found = await Promise.all(
      (obeys.folders ?? []).map((folder) => fileAround(files, folder, obeys.names)),
    );
    const file = found.find((one) => one !== undefined);
    const isLate = obeys.folders === undefined || this.#findings.found.some(({ kind }) => kind === "write");
    if (file !== undefined) this.#findings.hideIn(`${file} chooses what ${command} runs`);
    else if (isLate) this.#findings.hideIn(`${command} may run what a file chooses that is not there yet`);
    return file !== undefined || isLate;
  }

  async #pathEffects(finding: PathFinding): Promise<readonly Effect[]> {
    const known = await targetPaths(finding.target, this.#context, this.#findings);
    if ("unknown" in known) {
      const { deep, only } = finding;
      const place = this.#placeOfStart(finding);
      return [effectOf(finding, known.unknown, place, { exists: true, deep: deep && only !== "names" })];
    }
    const linked = finding.search ? await this.#linked(finding, finding.search, known.paths) : [];
    const touched =
      finding.kind === "write"
        ? await this.#destinations.at(known.paths, finding)
        : known.paths.map((path) => ({ path, deep: finding.deep }));
    const all = await Promise.all(touched.map((one) => this.#pathEffect(finding, one)));
    const effects = all.filter((effect) => effect !== undefined);
    const told = effects.length > LIST_LIMIT ? summary(effects) : effects;
    const passed = await Promise.all(effects.map((effect) => this.#passed(finding, effect)));
    return [...told.flatMap((effect) => [effect, ...this.#below(effect)]), ...passed.flat(), ...linked].map(
      (effect) => this.#withInside(effect),
    );
  }

  /** What links lead to that are found below folders; anything, where that is too much to look at. */
  async #linked(
    finding: PathFinding,
    search: Search,
    folders: readonly string[],
  ): Promise<readonly PathEffect[]> {
    const effects = folders.map(async (folder): Promise<readonly PathEffect[]> => {
      const { path } = await this.#resolver.resolve(folder);
      const links = await linksFound(this.#context.files, path, search).catch(() => undefined);
      if (links === undefined) {
        this.#findings.doubt("what is found is only known at run time");
        return [{ kind: "read", path: "*", place: "unknown" }];
      }
      const single = { ...finding, deep: false, search: undefined };
      const found = await Promise.all(
        links.map((link) => this.#pathEffect(single, { path: link, deep: false })),
      );
      return found.filter((effect) => effect !== undefined);
    });
    return (await Promise.all(effects)).flat();
  }

  /** Files with keys that are read because they lie below a path that the call names. */
  async #passed(
    { filter }: PathFinding,
    { kind, path, place, deep }: PathEffect,
  ): Promise<readonly PathEffect[]> {
    if (!filter || kind !== "read" || !deep || (place !== "workspace" && place !== "temporary")) return [];
    const paths = await credentialsBelow(this.#context.files, path, filter);
    return paths.map((found) => ({ kind, path: found, place: "credentials", passing: true }));
  }

  /** Returns a path in the workspace as rules name it, from the session's root. */
  #withInside(effect: PathEffect): PathEffect {
    if (effect.place === "unknown") return effect;
    const inside = this.#places.insideOf(effect.path);
    return inside === undefined ? effect : { ...effect, inside };
  }

  /** What reaches folders of the session from above touches them as what they are. */
  #below(effect: PathEffect): readonly PathEffect[] {
    if (!effect.deep || effect.place === "unknown") return [];
    const touch = { writes: effect.kind === "write", deep: true };
    return this.#places
      .foldersBelow(effect.path)
      .map((path) => this.#withInside({ ...effect, path, place: this.#places.placeOf(path, touch) }))
      .filter(({ place, inside }) => place !== effect.place || inside !== undefined);
  }

  async #pathEffect(finding: PathFinding, { path, deep }: Touched): Promise<PathEffect | undefined> {
    const writes = finding.kind === "write";
    const touch = { writes, deep: deep && finding.only !== "some" };
    const resolved =
      writes && finding.onLink ? await this.#resolveLink(path) : await this.#resolver.resolve(path);
    const { exists } = resolved;
    if (finding.target.ifExists && !exists) return undefined;
    if (finding.target.isGuess && !exists && resolved.doubt === undefined) {
      const named = this.#guardedPlace(path, touch, this.#places.placeOf(resolved.path, touch));
      if (named !== "harness" && named !== "credentials" && named !== "persistence") return undefined;
    }
    if (resolved.doubt !== undefined) {
      this.#findings.doubt(resolved.doubt);
      const place = this.#guarded(resolved.path, touch) ?? this.#guarded(path, touch) ?? "unknown";
      return effectOf(finding, resolved.path, place, { exists, deep: deep && finding.only !== "names" });
    }
    const place = await this.#ownedPlace(
      resolved,
      (exists ? await this.#links.placeOf(resolved.path) : undefined) ??
        this.#guardedPlace(path, touch, this.#places.placeOf(resolved.path, touch)),
      writes,
    );
    const isWhole = /(?:^|\/)\*$/.test(finding.target.text ?? "") && finding.target.pattern !== undefined;
    const touched =
      isWhole && writes && finding.destroys === "always" ? posix.dirname(resolved.path) : resolved.path;
    if (writes && touch.deep && this.#places.roots.includes(touched)) {
      this.#findings.doubt("everything in the session's folder may be replaced or removed");
    }
    if (finding.kind === "write" && finding.barsFolders && !(await this.#isLeaf(resolved.path)))
      this.#findings.doubt(`the folder ${posix.basename(resolved.path)} could no longer be used`);
    const reaches = deep && finding.only !== "names" && !(await this.#isLeaf(resolved.path));
    const effect = effectOf(finding, resolved.path, place, { exists, deep: reaches });
    const isTaken = effect.kind === "write" && effect.destroys && finding.kind === "write" && !finding.keeps;
    if (!isTaken || (place !== "workspace" && place !== "shared")) return effect;
    return { ...effect, recoverable: await isRecoverable(this.#context.files, resolved.path) };
  }

  /** A path in a shared folder that does not exist has no owner; what a session creates there is its own. */
  async #ownedPlace({ path, exists }: ResolvedPath, place: Place, writes: boolean): Promise<Place> {
    if (place !== "shared" || exists) return place;
    if (!writes) return "temporary";
    for (let above = posix.dirname(path); !this.#places.isShared(above); above = posix.dirname(above))
      if ((await this.#context.files.lstat(above)) !== undefined) return place;
    this.#places.noteMade(path);
    return "temporary";
  }

  /** Whether something is there that has nothing below it. */
  async #isLeaf(path: string): Promise<boolean> {
    const kind = await this.#context.files.lstat(path).catch(() => undefined);
    return kind !== undefined && kind !== "folder";
  }

  /** A link is removed itself, not what it leads to, unless a slash behind it says otherwise. */
  async #resolveLink(path: string): Promise<ResolvedPath> {
    const name = posix.basename(path);
    if (path.endsWith("/") || name === "." || name === ".." || name === "")
      return this.#resolver.resolve(path);
    const parent = await this.#resolver.resolve(posix.dirname(path));
    const found = posix.join(parent.path, name);
    const isThere = (await this.#context.files.lstat(found).catch(() => "other")) !== undefined;
    return { ...parent, path: found, exists: isThere };
  }

  /** Of a path that is only known at run time, the folder that it starts with may say enough. */
  #placeOfStart({ kind, target }: PathFinding): Place {
    const { start = "", base } = target;
    const touch = { writes: kind === "write", deep: false };
    const starts = start.startsWith("/") ? [start] : (base ?? []).map((folder) => `${folder}/${start}`);
    if (starts.some((path) => /^\/proc\/[^/]*$/.test(posix.normalize(path)))) return "credentials";
    const places = starts.map((path) => this.#guarded(`${path}x`, touch));
    return places.find((place) => place !== undefined) ?? "unknown";
  }

  /** The place of a path if only its owner may touch it. */
  #guarded(path: string, touch: Touch): "harness" | "credentials" | undefined {
    const place = this.#places.placeOf(posix.normalize(path).replace(/(.)\/$/, "$1"), touch);
    return place === "harness" || place === "credentials" ? place : undefined;
  }

  /** A guarded name counts, whatever a link behind it leads to. */
  #guardedPlace(path: string, touch: Touch, place: Place): Place {
    const tidy = posix.normalize(path).replace(/(.)\/$/, "$1");
    const named = this.#places.placeOf(tidy, touch);
    const isGuarded = named === "harness" || named === "credentials" || named === "persistence";
    return isGuarded && PLACES.indexOf(named) < PLACES.indexOf(place) ? named : place;
  }
}

function effectOf(
  finding: PathFinding,
  path: string,
  place: Place,
  { exists, deep }: { readonly exists: boolean; readonly deep: boolean },
): PathEffect {
  const reach = deep ? { deep } : {};
  if (finding.kind === "read") return { kind: "read", path, place, ...reach };
  const destroys = finding.destroys === "always" || (finding.destroys === "existing" && exists);
  return { kind: "write", path, place, destroys, ...reach };
}

/** Of many effects alike, the folder they lie in says enough. */
function summary(effects: readonly PathEffect[]): readonly PathEffect[] {
  const seen = new Map<string, PathEffect>();
  for (const effect of effects) {
    const isPlain = effect.place === "workspace" || effect.place === "temporary" || effect.place === "system";
    const summed: PathEffect = isPlain ? { ...effect, path: posix.dirname(effect.path), deep: true } : effect;
    seen.set(JSON.stringify(summed), summed);
  }
  return [...seen.values()];
}
