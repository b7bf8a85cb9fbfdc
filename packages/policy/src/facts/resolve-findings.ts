import { posix } from "node:path";
import type { Effect, Place } from "../effect.ts";
import { PLACES } from "../effect.ts";
import type { FactsContext } from "./facts-context.ts";
import type { Finding, Findings } from "./findings.ts";
import type { Places, Touch } from "./path/places.ts";
import { PathResolver, type ResolvedPath } from "./path/resolve.ts";
import { targetPaths } from "./path/target-paths.ts";
import { repositoryPrograms } from "./repository.ts";

/** More matches of a glob than this are summed up by the folders they lie in. */
const LIST_LIMIT = 24;

type PathFinding = Finding & { kind: "read" | "write" };

/** Follows the paths of findings on the file system, and says where they lie. */
export class FindingResolver {
  readonly #context: FactsContext;
  readonly #places: Places;
  readonly #findings: Findings;
  readonly #resolver: PathResolver;

  constructor(context: FactsContext, places: Places, findings: Findings) {
    this.#context = context;
    this.#places = places;
    this.#findings = findings;
    this.#resolver = new PathResolver(context.files);
  }

  /** The effects of all findings, in their order, each once. */
  async effects(): Promise<readonly Effect[]> {
    const found = this.#findings.found;
    const effects = await Promise.all(found.map((finding) => this.#effectsOf(finding)));
    const seen = new Map<string, Effect>();
    for (const effect of effects.flat()) seen.set(JSON.stringify(effect), effect);
    return [...seen.values()];
  }

  async #effectsOf(finding: Finding): Promise<readonly Effect[]> {
    switch (finding.kind) {
      case "net":
        return [{ kind: "net", host: finding.host }];
      case "exec": {
        const { command, arguments: words, repository } = finding;
        const opaque = finding.opaque || (await this.#runsMore(repository));
        return [{ kind: "exec", command, arguments: words, opaque }];
      }
      default:
        return this.#pathEffects(finding);
    }
  }

  async #runsMore(repository: readonly string[] | undefined): Promise<boolean> {
    if (repository === undefined) return false;
    const reasons = await Promise.all(
      repository.map((folder) => repositoryPrograms(this.#context.files, folder)),
    );
    const reason = reasons.find((one) => one !== undefined);
    if (reason !== undefined) this.#findings.hide(reason);
    return reason !== undefined;
  }

  async #pathEffects(finding: PathFinding): Promise<readonly Effect[]> {
    const known = await targetPaths(finding.target, this.#context, this.#findings);
    if ("unknown" in known) return [effectOf(finding, known.unknown, "unknown", true)];
    const paths = await this.#arrivals(finding, known.paths);
    const all = await Promise.all(paths.map((path) => this.#pathEffect(finding, path)));
    const effects = all.filter((effect) => effect !== undefined);
    const told = effects.length > LIST_LIMIT ? summary(effects) : effects;
    return told.map((effect) => this.#withInside(effect));
  }

  /** Tells a path in the workspace as rules name it, from the session's root. */
  #withInside(effect: Effect): Effect {
    if (effect.kind === "exec" || effect.kind === "net" || effect.place === "unknown") return effect;
    const inside = this.#places.insideOf(effect.path);
    return inside === undefined ? effect : { ...effect, inside };
  }

  /** What is copied into a folder arrives under its own name. */
  async #arrivals(finding: PathFinding, paths: readonly string[]): Promise<readonly string[]> {
    if (finding.kind === "read" || finding.names === undefined) return paths;
    const { names } = finding;
    const all = paths.map(async (path) => {
      const { path: real } = await this.#resolver.resolve(path);
      const isFolder = (await this.#context.files.lstat(real).catch(() => undefined)) === "folder";
      if (!isFolder && !/(?:^|\/)\.{0,2}$/.test(path)) return [path];
      return names.map((name) => {
        const base = name === null ? "." : posix.basename(name);
        return base === "." || base === ".." ? path : `${path}/${base}`;
      });
    });
    return (await Promise.all(all)).flat();
  }

  async #pathEffect(finding: PathFinding, path: string): Promise<Effect | undefined> {
    const writes = finding.kind === "write";
    const touch = { writes, deep: finding.deep };
    const resolved =
      writes && finding.onLink ? await this.#resolveLink(path) : await this.#resolver.resolve(path);
    if (finding.target.ifExists && !resolved.exists) return undefined;
    if (resolved.doubt !== undefined) {
      this.#findings.doubt(resolved.doubt);
      const named = this.#guardedPlace(path, touch, "unknown");
      return effectOf(finding, resolved.path, named === "harness" ? named : "unknown", resolved.exists);
    }
    const place = this.#guardedPlace(path, touch, this.#places.placeOf(resolved.path, touch));
    const isWhole = /(?:^|\/)\*$/.test(finding.target.text ?? "") && finding.target.pattern !== undefined;
    const touched =
      isWhole && writes && finding.destroys === "always" ? posix.dirname(resolved.path) : resolved.path;
    if (writes && finding.deep && this.#places.roots.includes(touched)) {
      this.#findings.doubt("everything in the session's folder may be replaced or removed");
    }
    return effectOf(finding, resolved.path, place, resolved.exists);
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

  /** A guarded name counts, whatever a link behind it leads to. */
  #guardedPlace(path: string, touch: Touch, place: Place): Place {
    const tidy = posix.normalize(path).replace(/(.)\/$/, "$1");
    const named = this.#places.placeOf(tidy, touch);
    const isGuarded = named === "harness" || named === "credentials" || named === "persistence";
    return isGuarded && PLACES.indexOf(named) < PLACES.indexOf(place) ? named : place;
  }
}

function effectOf(finding: PathFinding, path: string, place: Place, exists: boolean): Effect {
  if (finding.kind === "read") return { kind: "read", path, place };
  const destroys = finding.destroys === "always" || (finding.destroys === "existing" && exists);
  return { kind: "write", path, place, destroys };
}

/** Of many effects alike, the folder they lie in says enough. */
function summary(effects: readonly Effect[]): readonly Effect[] {
  const seen = new Map<string, Effect>();
  for (const effect of effects) {
    if (effect.kind !== "read" && effect.kind !== "write") continue;
    const isPlain = effect.place === "workspace" || effect.place === "temporary" || effect.place === "system";
    const path = isPlain ? posix.dirname(effect.path) : effect.path;
    const summed = { ...effect, path };
    seen.set(JSON.stringify(summed), summed);
  }
  return [...seen.values()];
}
