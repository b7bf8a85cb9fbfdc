import type { ReadEffect, WriteEffect } from "../action.ts";
import type { PathTest } from "../constitution/condition.ts";
import { type GlobReach, type PathGlob, pathGlob } from "./glob.ts";

/** An effect on a path. */
export type PathEffect = ReadEffect | WriteEffect;

/** Whether an effect on a path is of a kind. */
export type PathEffectTest = (effect: PathEffect) => boolean;

/** Compiles what all paths must be. What lies below a deep one must be so, too, as far as globs say. */
export function everyPathTest(test: PathTest): PathEffectTest {
  const isThere = placeTest(test.place);
  const globs = test.match === undefined ? undefined : new Globs(test.match);
  const except = test.except === undefined ? undefined : new Globs(test.except);
  return (effect) =>
    isThere(effect) &&
    isSuch(effect, test) &&
    (globs === undefined || (effect.deep ? globs.cover(effect) : globs.match(effect))) &&
    (except === undefined ||
      !(effect.deep
        ? except.match(effect) || except.reach(effect, "here") || except.reach(effect, "below")
        : except.match(effect)));
}

/**
 * Compiles what one path must be. A deep one is anything that could lie below it: a glob need only be able to match
 * there, and where that is only further down, its place is unknown.
 */
export function anyPathTest(test: PathTest): PathEffectTest {
  const isThere = placeTest(test.place);
  const globs = test.match === undefined ? undefined : new Globs(test.match);
  const except = test.except === undefined ? undefined : new Globs(test.except);
  return (effect) => {
    if (!isSuch(effect, test)) return false;
    if (except && (effect.deep ? except.cover(effect) : except.match(effect))) return false;
    if (globs === undefined) return isThere(effect);
    if (!effect.deep) return isThere(effect) && globs.match(effect);
    return globs.reach(effect, isThere(effect) ? "here" : "below");
  };
}

function placeTest(place: PathTest["place"]): PathEffectTest {
  if (place === undefined) return () => true;
  const places = new Set<string>(typeof place === "string" ? [place] : place);
  return (effect) => places.has(effect.place);
}

/** Whether an effect is as its yes and no questions ask. */
function isSuch(effect: PathEffect, { inside, destroys, recoverable, passing }: PathTest): boolean {
  const writes = effect.kind === "write" ? effect : undefined;
  const isLost = writes?.destroys === true && writes.recoverable === false;
  return (
    isAs(effect.inside !== undefined, inside) &&
    isAs(writes?.destroys === true, destroys) &&
    isAs(!isLost, recoverable) &&
    isAs(effect.kind === "read" && effect.passing === true, passing)
  );
}

function isAs(is: boolean, asked: boolean | undefined): boolean {
  return asked === undefined || is === asked;
}

/** Absolute globs are held against the path, others against its part inside the session's root. */
class Globs {
  readonly #absolute: readonly PathGlob[];
  readonly #relative: readonly PathGlob[];

  constructor(match: string | readonly string[]) {
    const globs = typeof match === "string" ? [match] : match;
    this.#absolute = globs.filter((glob) => glob.startsWith("/")).map(pathGlob);
    this.#relative = globs.filter((glob) => !glob.startsWith("/")).map(pathGlob);
  }

  match(effect: PathEffect): boolean {
    return this.#some(effect, (glob, path) => glob.matches(path));
  }

  cover(effect: PathEffect): boolean {
    return this.#some(effect, (glob, path) => glob.covers(path));
  }

  /** @param from how near a glob has to reach, at most */
  reach(effect: PathEffect, from: Exclude<GlobReach, "nowhere">): boolean {
    return this.#some(effect, (glob, path) => {
      const reach = glob.reaches(path);
      return reach === "below" || reach === from;
    });
  }

  #some({ path, place, inside }: PathEffect, test: (glob: PathGlob, path: string) => boolean): boolean {
    if (place === "unknown") return false;
    for (const glob of this.#absolute) if (test(glob, path)) return true;
    if (inside !== undefined) for (const glob of this.#relative) if (test(glob, inside)) return true;
    return false;
  }
}
