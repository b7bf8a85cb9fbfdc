import { compileGlob, matchesGlob, type Segment } from "./glob.ts";

/** Where a glob can match, seen from a folder: nowhere at or below it, there, or only further down. */
export type GlobReach = "nowhere" | "here" | "below";

/** A glob over paths, asked in the three ways in which rules need it. */
export interface PathGlob {
  /** Whether it matches the path. */
  matches(path: string): boolean;
  /** Whether it certainly matches everything below the path, and the path itself. */
  covers(path: string): boolean;
  /** Whether it could match the path or something below it. */
  reaches(path: string): GlobReach;
}

/** Compiles a glob. Paths are written as it is: absolute ones with a slash in front, others without. */
export function pathGlob(text: string): PathGlob {
  const glob = compileGlob(text);
  const matches = (path: string) => matchesGlob(glob, path);
  // What ends like this goes on for ever, unless it says what it does not match.
  const isEndless = /(?:^|\/)\*\*(?:\/\*)?$/.test(text) && !glob.isNegated;
  const reaches = (path: string): GlobReach => {
    if (glob.isNegated || matches(path)) return "here";
    const found = new Set(glob.options.map((segments) => reachOf(segments, path)));
    if (found.has("below")) return "below";
    return found.has("here") ? "here" : "nowhere";
  };
  return {
    matches,
    covers: (path) => isEndless && (path === "" ? /^\*\*(?:\/\*)?$/.test(text) : matches(path)),
    reaches,
  };
}

function reachOf(option: readonly Segment[], path: string): GlobReach {
  const names = path === "" || path === "/" ? [] : path.replace(/^\//, "").split("/");
  const segments = path.startsWith("/") ? option.slice(1) : option;
  for (const [index, name] of names.entries()) {
    const segment = segments[index];
    if (segment === undefined) return "nowhere";
    if (segment === "any") return "here";
    if (!segment(name)) return "nowhere";
  }
  const next = segments[names.length];
  return next === "any" || next === undefined ? "here" : "below";
}
