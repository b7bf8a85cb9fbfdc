import { posix } from "node:path";
import type { Target } from "../findings.ts";
import { isWithin } from "../path/places.ts";
import type { Scope } from "./scope.ts";
import type { Value } from "./value.ts";

/** A word as the path it names. A path that may have become a link since the script began has an unknown target. */
export function target(value: Value, scope: Scope): Target {
  const { text, pattern } = value;
  const base = scope.folders;
  if (text === null || (scope.moved.length > 0 && passesMoved(value, text, scope)))
    return { text: null, base, ...(text === null && value.start !== "" && { start: value.start }) };
  return {
    text,
    pattern,
    base,
    isLiteral: true,
    mayBeOption: pattern !== undefined && /^[-*?[]/.test(text),
  };
}

function passesMoved(value: Value, text: string, scope: Scope): boolean {
  const isGlob = value.pattern !== undefined;
  return placesOf(text, scope).some((place) => {
    const path = isGlob ? tidied(place.replace(/[^/]*[*?[].*$/, "")) : tidied(place);
    return scope.moved.some(
      (moved) =>
        (isWithin(path, moved.path) && (moved.itself || path !== moved.path)) ||
        (isGlob && isWithin(moved.path, path)),
    );
  });
}

/** Notes that a path, or what lies below it, may lead anywhere from now on. */
export function noteMoved(value: Value, scope: Scope, itself: boolean): void {
  const places = value.text === null ? ["/"] : placesOf(value.text, scope);
  scope.moved = [...scope.moved, ...places.map((place) => ({ path: tidied(place), itself }))];
}

function placesOf(text: string, scope: Scope): readonly string[] {
  return text.startsWith("/") ? [text] : (scope.folders ?? ["/"]).map((folder) => `${folder}/${text}`);
}

function tidied(path: string): string {
  return posix.normalize(path).replace(/(.)\/$/, "$1");
}
