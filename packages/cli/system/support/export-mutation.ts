import fc from "fast-check";
import { nudged } from "./export-records.ts";

/** An export after one thing was done to it. */
export interface ExportMutation {
  /** What was done, for the failure message. */
  readonly name: string;
  readonly bytes: Buffer;
  /** The kind of the line that was taken out, if one was. */
  readonly deleted?: string;
}

/** Any single mutation of an export. */
export function exportMutation(lines: readonly string[]): fc.Arbitrary<ExportMutation> {
  const line = fc.nat(lines.length - 1);
  return fc.oneof(
    flippedByte(Buffer.from(lines.join(""))),
    line.map((at) => ({
      name: `line ${at + 1} deleted`,
      bytes: joined(lines.toSpliced(at, 1)),
      deleted: kindOf(lines[at]),
    })),
    line.map((at) => ({
      name: `line ${at + 1} duplicated`,
      bytes: joined(lines.toSpliced(at, 0, lines[at] ?? "")),
    })),
    swappedLines(lines),
    changedMember(lines),
  );
}

function flippedByte(bytes: Buffer): fc.Arbitrary<ExportMutation> {
  return fc.tuple(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 })).map(([at, mask]) => {
    const flipped = Buffer.from(bytes);
    flipped.writeUInt8(flipped.readUInt8(at) ^ mask, at);
    return { name: `byte ${at} xor ${mask}`, bytes: flipped };
  });
}

/** Where private content stands behind its entry means nothing, so only other lines are swapped. */
function swappedLines(lines: readonly string[]): fc.Arbitrary<ExportMutation> {
  const places = [...lines.keys()].filter((at) => kindOf(lines[at]) !== "artifact");
  return fc.subarray(places, { minLength: 2, maxLength: 2 }).map(([one = 0, two = 0]) => {
    const swapped = lines.with(one, lines[two] ?? "").with(two, lines[one] ?? "");
    return { name: `lines ${one + 1} and ${two + 1} swapped`, bytes: joined(swapped) };
  });
}

/** Changes, takes out or adds a member at any depth of any line. */
function changedMember(lines: readonly string[]): fc.Arbitrary<ExportMutation> {
  const choice = fc.record({
    at: fc.nat(lines.length - 1),
    member: fc.nat(),
    how: fc.constantFrom("nudged", "replaced", "removed", "added"),
    value: fc.jsonValue(),
  });
  return choice.map(({ at, member, how, value }) => {
    const record: unknown = JSON.parse(lines[at] ?? "");
    const places = membersOf(record);
    const [holder, name] = places[member % places.length] ?? [{}, ""];
    const present: unknown = Reflect.get(holder, name);
    if (how === "nudged") Reflect.set(holder, name, nudged(present));
    if (how === "replaced") Reflect.set(holder, name, value);
    if (how === "removed") removeFrom(holder, name);
    if (how === "added") addTo(holder, value);
    const bytes = joined(lines.with(at, `${JSON.stringify(record)}\n`));
    return { name: `line ${at + 1}: ${name} ${how}`, bytes };
  });
}

function membersOf(value: unknown): [object, string][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]): [object, string][] => [
    [value, name],
    ...membersOf(member),
  ]);
}

function removeFrom(holder: object, name: string): void {
  if (Array.isArray(holder)) holder.splice(Number(name), 1);
  else Reflect.deleteProperty(holder, name);
}

function addTo(holder: object, value: unknown): void {
  if (Array.isArray(holder)) holder.push(value);
  else Reflect.set(holder, "added", value);
}

function kindOf(line: string | undefined): string {
  const { kind }: { kind?: string } = JSON.parse(line ?? "{}");
  return kind ?? "";
}

function joined(lines: readonly string[]): Buffer {
  return Buffer.from(lines.join(""));
}
