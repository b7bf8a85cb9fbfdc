import type { PathTest } from "../constitution/condition.ts";
import type { ReadEffect, WriteEffect } from "../effect.ts";
import { type GlobReach, type PathGlob, pathGlob } from "./path-glob.ts";

/** An effect on a path. */
export type PathEffect = ReadEffect | WriteEffect;

/** Whether an effect on a path is of a kind. */
export type PathEffectTest = (effect: PathEffect) => boolean;

/** Compiles what all paths must be. What lies below a deep one must be so, too, as far as globs say. */
export function everyPathTest({ place, match, destroys, passing }: PathTest): PathEffectTest {
  const isThere = placeTest(place);
  const globs = match === undefined ? undefined : new Globs(match);
  return (effect) =>
    isThere(effect) &&
    destroysAs(effect, destroys) &&
    passesAs(effect, passing) &&
    (globs === undefined || (effect.deep ? globs.cover(effect) : globs.match(effect)));
}

/**
 * Compiles what one path must be. A deep one is whatever could lie below it: a glob need only be able to match there,
 * and where that is only further down, nobody can say of what place it is.
 */
export function anyPathTest({ place, match, destroys, passing }: PathTest): PathEffectTest {
  const isThere = placeTest(place);
  const globs = match === undefined ? undefined : new Globs(match);
  return (effect) => {
    if (!destroysAs(effect, destroys) || !passesAs(effect, passing)) return false;
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

function destroysAs(effect: PathEffect, destroys: boolean | undefined): boolean {
  return destroys === undefined || (effect.kind === "write" && effect.destroys) === destroys;
}

function passesAs(effect: PathEffect, passing: boolean | undefined): boolean {
  return passing === undefined || (effect.kind === "read" && effect.passing === true) === passing;
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
