import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { isObject, type JsonValue } from "../src/json/parse.ts";
import { parseStrict } from "../src/json/strict.ts";
import { type ExportLine, textOf } from "./ledger-maker.ts";

/** An export with one place changed. */
export type Mutated = Uint8Array | readonly ExportLine[];

/** One byte flipped, replaced, removed or added, or everything cut off behind it. */
export function byteMutations(bytes: Buffer): fc.Arbitrary<Mutated> {
  const kinds = fc.constantFrom("flip", "replace", "remove", "insert", "cut");
  return fc
    .tuple(kinds, fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }))
    .map(([kind, place, value]) => {
      const [before, after] = [bytes.subarray(0, place), bytes.subarray(place + 1)];
      const old = bytes[place] ?? 0;
      if (kind === "flip") return Buffer.concat([before, Buffer.of(old ^ (1 << (value % 8))), after]);
      if (kind === "replace") return Buffer.concat([before, Buffer.of(old ^ value), after]);
      if (kind === "remove") return Buffer.concat([before, after]);
      if (kind === "insert") return Buffer.concat([before, Buffer.of(value, old), after]);
      return before;
    });
}

/** One value somewhere in one line replaced by another. */
export function valueMutations(lines: readonly ExportLine[]): fc.Arbitrary<Mutated> {
  return fc.tuple(fc.nat(lines.length - 1), fc.nat(), fc.jsonValue()).map(([line, pick, value]) => {
    const changed: ExportLine = JSON.parse(JSON.stringify(lines[line]));
    const places = placesIn(changed);
    places[pick % places.length]?.(JSON.parse(JSON.stringify(value)));
    return lines.with(line, changed);
  });
}

/**
 * One line removed, repeated or moved. Private content may be missing and may stand further down, and a checkpoint
 * before the last may be left out: the format calls an export valid without them.
 */
export function lineMutations(lines: readonly ExportLine[]): fc.Arbitrary<Mutated> {
  const last = lines.findLastIndex(({ kind }) => kind === "checkpoint");
  const dispensable = (index: number) =>
    lines[index]?.kind === "artifact" || (lines[index]?.kind === "checkpoint" && index !== last);
  const withoutArtifacts = (all: readonly ExportLine[]) => all.filter(({ kind }) => kind !== "artifact");
  return fc
    .tuple(fc.constantFrom("remove", "repeat", "move"), fc.nat(lines.length - 1), fc.nat(lines.length - 1))
    .filter(([kind, from]) => kind === "repeat" || !dispensable(from))
    .map(([kind, from, to]) => {
      const line = lines[from] ?? {};
      if (kind === "remove") return lines.toSpliced(from, 1);
      if (kind === "repeat") return lines.toSpliced(to, 0, line);
      return lines.toSpliced(from, 1).toSpliced(to, 0, line);
    })
    .filter(
      (changed) =>
        changed.length > lines.length ||
        !isDeepStrictEqual(withoutArtifacts(changed), withoutArtifacts(lines)),
    );
}

/** What an export says, spaces and escapes aside; nothing when it cannot be read. */
export function meaningOf(whole: Mutated): JsonValue[] | undefined {
  const text = whole instanceof Uint8Array ? Buffer.from(whole).toString() : textOf(whole);
  try {
    return text.trimEnd().split("\n").map(parseStrict);
  } catch {
    return undefined;
  }
}

function placesIn(value: JsonValue): ((other: JsonValue) => void)[] {
  if (!isObject(value) && !Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    (other: JsonValue) => {
      Object.defineProperty(value, name, {
        value: other,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    },
    ...placesIn(inner),
  ]);
}
