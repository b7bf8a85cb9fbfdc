import picomatch from "picomatch";
import type { PathTest } from "../constitution/condition.ts";
import type { ReadEffect, WriteEffect } from "../effect.ts";

/** An effect on a path. */
export type PathEffect = ReadEffect | WriteEffect;

/** Whether an effect on a path is of a kind. */
export type PathEffectTest = (effect: PathEffect) => boolean;

/** Compiles what a path must be. */
export function pathEffectTest({ place, match, destroys }: PathTest): PathEffectTest {
  const places =
    place === undefined ? undefined : new Set<string>(typeof place === "string" ? [place] : place);
  const globs = match === undefined ? undefined : globTest(typeof match === "string" ? [match] : match);
  return (effect) =>
    (places === undefined || places.has(effect.place)) &&
    (destroys === undefined || (effect.kind === "write" && effect.destroys) === destroys) &&
    (globs === undefined || globs(effect));
}

/** Absolute globs are held against the path, others against its part inside the session's root. */
function globTest(patterns: readonly string[]): PathEffectTest {
  const absolute = patterns.filter((pattern) => pattern.startsWith("/"));
  const relative = patterns.filter((pattern) => !pattern.startsWith("/"));
  const matchAbsolute = absolute.length > 0 ? picomatch(absolute, { dot: true }) : () => false;
  const matchRelative = relative.length > 0 ? picomatch(relative, { dot: true }) : () => false;
  return ({ path, place, inside }) => {
    if (place === "unknown") return false;
    return matchAbsolute(path) || (inside !== undefined && matchRelative(inside));
  };
}
