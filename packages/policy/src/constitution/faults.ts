import { type Document, isMap, isNode, isScalar, type Node } from "yaml";
import type { z } from "zod";
import type { PolicyFault } from "../policy-error.ts";

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];
type PlaceAt = (offset: number | undefined) => PolicyFault["place"];

/** What a schema found wrong with a document, in words and each at the place where it stands. */
export function faultsOf(issues: readonly Issue[], document: Document, placeAt: PlaceAt): PolicyFault[] {
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

/** What stands at a path, or around it. */
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
