import { isRecord } from "@reins/kit";
import { Id } from "./grammar.ts";
import type { MarkdownSection } from "./markdown.ts";
import { ProtocolError } from "./protocol-error.ts";

/** Which layer of an action's result is meant. */
type ResultPart = "summary" | "output";

/** Where a text or value is to be had. */
export type Reference =
  /** A section of the message that declares it. */
  | { readonly kind: "section"; readonly id: string }
  /** The result of an action of the same run. */
  | { readonly kind: "action"; readonly action: string; readonly part: ResultPart }
  /** What the user or the caller gave, by a member path such as `user.goal`. */
  | { readonly kind: "input"; readonly path: readonly string[] }
  /** A record of a run that the runtime stored. */
  | {
      readonly kind: "run";
      readonly run: string;
      readonly action?: string | undefined;
      readonly part?: ResultPart | undefined;
    }
  /** What an action stored, in this run or another one. */
  | { readonly kind: "artifact"; readonly run?: string | undefined; readonly name: string };

const INPUT_PATH = /^[A-Za-z0-9_-]{1,64}(\.[A-Za-z0-9_-]{1,64}){0,15}$/;

/** Reads a reference; throws a {@link ProtocolError} that names it when it has no known form. */
export function readReference(text: string, path = ""): Reference {
  const at = text.indexOf(":");
  const scheme = text.slice(0, Math.max(at, 0));
  const rest = text.slice(at + 1);
  const reference = Object.hasOwn(READERS, scheme) ? READERS[scheme]?.(rest) : undefined;
  if (reference) return reference;
  const forms =
    "md:<section>, action:<id>.summary, action:<id>.output, input:<path>, runtime://runs/<run>/…, artifact:<name>";
  throw new ProtocolError(
    "reference",
    `${JSON.stringify(text.slice(0, 200))} is no reference; the forms are ${forms}`,
    { path },
  );
}

/** A reference as it is written. */
export function referenceText(reference: Reference): string {
  switch (reference.kind) {
    case "section":
      return `md:${reference.id}`;
    case "action":
      return `action:${reference.action}.${reference.part}`;
    case "input":
      return `input:${reference.path.join(".")}`;
    case "run": {
      const { run, action, part } = reference;
      const path = [run, ...(action === undefined ? [] : ["actions", action]), ...(part ? [part] : [])];
      return `runtime://runs/${path.join("/")}`;
    }
    case "artifact":
      return reference.run === undefined
        ? `artifact:${reference.name}`
        : `artifact://${reference.run}/${reference.name}`;
  }
}

const READERS: Readonly<Record<string, ((rest: string) => Reference | undefined) | undefined>> = {
  md: (id) => (id === "" ? undefined : { kind: "section", id: id.normalize("NFC") }),
  action: (rest) => {
    const dot = rest.lastIndexOf(".");
    const [action, part] = [rest.slice(0, Math.max(dot, 0)), partIn(rest.slice(dot + 1))];
    return isId(action) && part ? { kind: "action", action, part } : undefined;
  },
  input: (rest) => (INPUT_PATH.test(rest) ? { kind: "input", path: rest.split(".") } : undefined),
  runtime: (rest) => {
    if (!rest.startsWith("//")) return undefined;
    const parts = rest.slice(2).split("/");
    const [run, kind, action, part, ...more] = parts[0] === "runs" ? parts.slice(1) : parts;
    if (run === undefined || !isId(run) || more.length > 0) return undefined;
    if (kind === undefined) return { kind: "run", run };
    if (kind !== "actions" || action === undefined || !isId(action)) return undefined;
    if (part === undefined) return { kind: "run", run, action };
    const known = partIn(part);
    return known ? { kind: "run", run, action, part: known } : undefined;
  },
  artifact: (rest) => {
    if (!rest.startsWith("//")) return isId(rest) ? { kind: "artifact", name: rest } : undefined;
    const [first = "", second, ...more] = rest.slice(2).split("/");
    if (more.length > 0 || !isId(first)) return undefined;
    if (second === undefined) return { kind: "artifact", name: first };
    return isId(second) ? { kind: "artifact", run: first, name: second } : undefined;
  },
};

function isId(text: string): boolean {
  return Id.safeParse(text).success;
}

function partIn(text: string): ResultPart | undefined {
  return text === "summary" || text === "output" ? text : undefined;
}

/** The action of a run that stores an artifact: artifacts have the ids of their actions, after calls with `call_`. */
export function artifactAction(name: string, actions: Pick<ReadonlySet<string>, "has">): string | undefined {
  const called = name.startsWith("call_") ? name.slice("call_".length) : name;
  return [name, called].find((id) => actions.has(id));
}

/** A value `{ "$ref": "…" }` inside the input of an action, and where it stands. */
export interface InputReference {
  readonly path: string;
  readonly reference: Reference;
}

/** The references inside a value. */
export function inputReferences(value: unknown, path: string): InputReference[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => inputReferences(item, `${path}.${index}`));
  if (!isRecord(value)) return [];
  const { $ref, ...others } = value;
  if ($ref === undefined)
    return Object.entries(value).flatMap(([name, member]) => inputReferences(member, `${path}.${name}`));
  if (typeof $ref !== "string" || Object.keys(others).length > 0)
    throw new ProtocolError("reference", "a reference is an object with the one member $ref, a text", {
      path,
    });
  return [{ path, reference: readReference($ref, path) }];
}

/** A value with its references replaced by what they lead to. */
export async function withReferences(
  value: unknown,
  resolve: (reference: Reference) => Promise<unknown>,
): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map((item) => withReferences(item, resolve)));
  if (!isRecord(value)) return value;
  if (typeof value.$ref === "string") return resolve(readReference(value.$ref));
  const members = await Promise.all(
    Object.entries(value).map(
      async ([name, member]) => [name, await withReferences(member, resolve)] as const,
    ),
  );
  return Object.fromEntries(members);
}

/** The section that a reference names; a heading that stands twice is an error once something refers to it. */
export function sectionFor(
  sections: ReadonlyMap<string, readonly MarkdownSection[]>,
  id: string,
  path: string,
): MarkdownSection {
  const [section, ...others] = sections.get(id) ?? [];
  const ref = JSON.stringify(`md:${id}`);
  if (!section) throw new ProtocolError("reference", `no heading of the message is ${ref}`, { path });
  if (others.length > 0)
    throw new ProtocolError(
      "reference",
      `${others.length + 1} headings of the message are ${ref}; keep one`,
      { path },
    );
  return section;
}
