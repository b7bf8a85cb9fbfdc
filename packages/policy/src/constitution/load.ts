import { errorMessage, LruCache } from "@reins/kit";
import { type Document, isMap, isNode, isScalar, LineCounter, type Node, parseDocument, visit } from "yaml";
import type { z } from "zod";
import { Policy } from "../decision/policy.ts";
import { ConstitutionFile } from "./constitution.ts";
import { plainTestFaults, testOutcomes } from "./run-tests.ts";

/** A place in a file, counted from 1. */
export interface FilePlace {
  readonly line: number;
  readonly column: number;
}

/** What is wrong with a constitution, and where. */
export interface PolicyFault {
  readonly message: string;
  readonly place: FilePlace | undefined;
}

/** A constitution that cannot be used. The one in force stays. */
export class PolicyError extends Error {
  override readonly name = "PolicyError";
  readonly code = "invalid_policy";
  readonly faults: readonly PolicyFault[];

  constructor(file: string, faults: readonly PolicyFault[]) {
    const lines = faults.map(({ message, place }) =>
      place ? `${file}:${place.line}:${place.column}: ${message}` : `${file}: ${message}`,
    );
    super(lines.join("\n"));
    this.faults = faults;
  }
}

/** A constitution as it lies on the disk: its rules, and the prose that people read. */
export interface ConstitutionText {
  /** The name of the file of rules, for error messages. */
  readonly file: string;
  readonly rules: string;
  readonly prose: Uint8Array;
}

/**
 * Reads and compiles a constitution, and runs those of its tests that give effects; throws {@link PolicyError} when
 * anything is wrong with it. A file that is to be used is loaded by {@link loadTestedPolicy}.
 */
export function loadPolicy(text: ConstitutionText): Policy {
  const policy = new Policy(readConstitution(text.rules, text.file), text);
  expectNone(text.file, plainTestFaults(policy));
  return policy;
}

/** Reads, compiles and tests a constitution; throws {@link PolicyError} when anything is wrong with it. */
export async function loadTestedPolicy(text: ConstitutionText): Promise<Policy> {
  const policy = new Policy(readConstitution(text.rules, text.file), text);
  const outcomes = await testOutcomes(policy);
  expectNone(
    text.file,
    outcomes.flatMap(({ fault }) => (fault === undefined ? [] : [{ message: fault }])),
  );
  return policy;
}

function expectNone(file: string, failed: readonly { readonly message: string }[]): void {
  if (failed.length === 0) return;
  throw new PolicyError(
    file,
    failed.map(({ message }) => ({ message, place: undefined })),
  );
}

/** The files that this package brings along for a home that has none yet. */
export type DefaultFile = "default.yaml" | "default.md" | "default-roster.jsonl" | "haak.yaml";

/** Where such a file lies. */
export function defaultFile(name: DefaultFile): URL {
  return new URL(`../../constitutions/${name}`, import.meta.url);
}

/** Constitutions by their text, which most tenants have in common; frozen, because they share it. */
const known = new LruCache<string, ConstitutionFile>({ entries: 16, size: 4_000_000 });

/** Reads `constitution.yaml`; reports faults with line and column. */
export function readConstitution(text: string, file: string): ConstitutionFile {
  const constitution = known.get(text) ?? frozen(parseConstitution(text, file));
  known.set(text, constitution, text.length);
  return constitution;
}

function frozen<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) frozen(member);
  return Object.freeze(value);
}

function parseConstitution(text: string, file: string): ConstitutionFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, strict: true });
  const placeAt = (offset: number | undefined): FilePlace | undefined => {
    if (offset === undefined) return undefined;
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const unreadable: PolicyFault[] = [...document.errors, ...document.warnings].map(({ message, pos }) => ({
    message: message.replace(/ at line \d+, column \d+:[\s\S]*$/, ""),
    place: placeAt(pos[0]),
  }));
  visit(document, {
    Pair: (_, { key }) => {
      // Objects lose a member of this name on the way, and with it what it says.
      if (isScalar(key) && key.value === "__proto__")
        unreadable.push({ message: 'no member can be called "__proto__"', place: placeAt(key.range?.[0]) });
    },
    Alias: (_, alias) => {
      if (alias.resolve(document) === undefined)
        unreadable.push({
          message: `*${alias.source} is set nowhere before it`,
          place: placeAt(alias.range?.[0]),
        });
    },
  });
  if (unreadable.length > 0) throw new PolicyError(file, unreadable);
  // Files are read seldom: to compile the schema first would take longer than it saves.
  const checked = ConstitutionFile.safeParse(plainOf(document, file) ?? {}, { jitless: true });
  if (checked.success) return checked.data;
  throw new PolicyError(file, faultsOf(checked.error.issues, document, placeAt));
}

/** A document as plain data; refuses one whose aliases stand for far more than it holds. */
function plainOf(document: Document, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new PolicyError(file, [{ message: errorMessage(error), place: undefined }]);
  }
}

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];
type PlaceAt = (offset: number | undefined) => PolicyFault["place"];

/** What a schema found wrong with a document, in words and each at its position. */
function faultsOf(issues: readonly Issue[], document: Document, placeAt: PlaceAt): PolicyFault[] {
  return issues.flatMap((issue) => faultsAt(issue, [], document, placeAt));
}

function faultsAt(issue: Issue, above: Path, document: Document, placeAt: PlaceAt): PolicyFault[] {
  const path = [...above, ...issue.path];
  if (issue.code === "invalid_union") {
    const likeliest = likeliestOf(issue.errors);
    if (likeliest) return likeliest.flatMap((inner) => faultsAt(inner, path, document, placeAt));
  }
  const node = nearest(document, path);
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({
      message: said(path, `there is no member "${key}"`),
      place: placeAt((keyIn(node, key) ?? node)?.range?.[0]),
    }));
  return [{ message: said(path, wordsOf(issue, document, path)), place: placeAt(node?.range?.[0]) }];
}

/** Of the ways to read a value, the one that was gone furthest with. */
function likeliestOf(options: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const depth = (issues: readonly Issue[]) => Math.max(0, ...issues.map(({ path }) => path.length));
  return options.reduce<readonly Issue[] | undefined>(
    (best, option) => (best && depth(best) >= depth(option) ? best : option),
    undefined,
  );
}

function wordsOf(issue: Issue, document: Document, path: Path): string {
  if (path.length > 0 && !document.hasIn(path)) return "is missing";
  if (issue.code === "invalid_value") return `must be one of ${issue.values.map(String).join(", ")}`;
  return issue.message;
}

function said(path: Path, words: string): string {
  return path.length > 0 ? `${path.map(String).join(".")}: ${words}` : words;
}

/** What is at a path, or around it. */
function nearest(document: Document, path: Path): Node | undefined {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node;
  }
  return undefined;
}

function keyIn(node: Node | undefined, name: string): Node | undefined {
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === name);
  return isNode(pair?.key) ? pair.key : undefined;
}
