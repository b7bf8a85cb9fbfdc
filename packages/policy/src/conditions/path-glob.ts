import picomatch from "picomatch";

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

type SegmentTest = (segment: string) => boolean;

/** Compiles a glob. Paths are written as it is: absolute ones with a slash in front, others without. */
export function pathGlob(glob: string): PathGlob {
  const matches = picomatch(glob, { dot: true });
  // What ends like this goes on for ever, unless it says what it does not match.
  const isEndless = /(?:^|\/)\*\*(?:\/\*)?$/.test(glob) && !glob.startsWith("!");
  const segments = segmentsOf(glob);
  return {
    matches,
    covers: (path) => isEndless && (path === "" ? /^\*\*(?:\/\*)?$/.test(glob) : matches(path)),
    reaches: (path) => (matches(path) ? "here" : reachOf(segments, path)),
  };
}

/** The segments up to the first of which nobody can say how many it matches; that one is `undefined`. */
function segmentsOf(glob: string): readonly (SegmentTest | undefined)[] {
  const segments: (SegmentTest | undefined)[] = [];
  for (const segment of glob
    .replace(/^(?:\.\/)+/, "")
    .replace(/^\//, "")
    .split("/")) {
    const isPlainGlob = segment !== "" && !/^!|\*\*/.test(segment) && isBalanced(segment);
    segments.push(isPlainGlob ? picomatch(segment, { dot: true }) : undefined);
    if (!isPlainGlob) break;
  }
  return segments;
}

/** Whether no group begins in a segment and ends in another. */
function isBalanced(segment: string): boolean {
  return !/[\\{}()[\]]/.test(segment) || /^[^\\{}()[\]]*(?:\{[^\\{}()[\]]*\}[^\\{}()[\]]*)*$/.test(segment);
}

function reachOf(segments: readonly (SegmentTest | undefined)[], path: string): GlobReach {
  const names = path === "" || path === "/" ? [] : path.replace(/^\//, "").split("/");
  for (const [index, name] of names.entries()) {
    if (index >= segments.length) return "nowhere";
    const test = segments[index];
    if (test === undefined) return "here";
    if (!test(name)) return "nowhere";
  }
  return names.length < segments.length && segments[names.length] === undefined ? "here" : "below";
}
